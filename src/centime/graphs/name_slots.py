"""The hash table behind names of pages: where a name stands in the heap, found by its bytes.

A slot holds the number of a name, plus one, and its fingerprint; 0 is a free slot. A name is looked for from the slot
of its fingerprint onward (linear probing, at most two slots of three are taken) and compared byte by byte.

The fingerprint is a polynomial of the name's bytes, three at a time, in a key drawn once per process, modulo the prime
2^31 - 1. The key is secret, so nobody can write a file whose names all meet in one slot; page numbers follow first
mention and never depend on it.
"""

import secrets

import numpy as np
import numpy.typing as npt

from centime.model.graph import Offsets, Targets
from centime.model.kernel import inlined, kernel

Bytes = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.int64]

PRIME = 2**31 - 1
KEY = 2**29 + secrets.randbelow(2**29)  # below 2^30, so that no product passes 2^63
LEAST_SLOTS = 1024
GROUP = 32
AGAIN = -1


def empty_slots(names: int) -> Slots:
    """Free slots for so many names."""
    size = LEAST_SLOTS
    while 2 * size < 3 * names:
        size *= 2
    return np.zeros(size, dtype=np.int64)


@inlined
def _fingerprint(text: Bytes, start: int, end: int, key: int) -> int:
    """A number below 2^31 - 1 that the bytes from `start` to `end` decide; the key is below 2^30."""
    value = np.int64(end - start)
    at = start
    while at + 3 <= end:
        value = value * key + ((np.int64(text[at]) << 16) | (np.int64(text[at + 1]) << 8) | np.int64(text[at + 2]))
        value = (value & PRIME) + (value >> 31)
        at += 3
    while at < end:
        value = value * key + np.int64(text[at])
        value = (value & PRIME) + (value >> 31)
        at += 1
    return int(value % PRIME)


@inlined
def _same(one: Bytes, start: int, other: Bytes, other_start: int, length: int) -> bool:
    """Whether two runs of bytes are the same."""
    step = 0
    while step < length and one[start + step] == other[other_start + step]:
        step += 1
    return step == length


@inlined
def _slot_of(text: Bytes, start: int, end: int, print_: int, slots: Slots, heap: Bytes, offsets: Offsets) -> int:
    """The slot of the name that stands from `start` to `end` in the text, or the free slot where it belongs."""
    last = len(slots) - 1
    slot = print_ & last
    while slots[slot] != 0:
        page = (slots[slot] & 0xFFFFFFFF) - 1
        length = offsets[page + 1] - offsets[page]
        if slots[slot] >> 32 == print_ and length == end - start and _same(text, start, heap, offsets[page], length):
            return slot
        slot = (slot + 1) & last
    return slot


@inlined
def _number_of(
    text: Bytes, start: int, end: int, print_: int, slots: Slots, heap: Bytes, offsets: Offsets, count: int, most: int
) -> int:
    """The number of the name from `start` to `end`; a new one becomes number `count`, unless that is `most`: then it
    is -1.
    """
    slot = _slot_of(text, start, end, print_, slots, heap, offsets)
    if slots[slot] == 0:
        if count == most:
            return -1
        slots[slot] = (np.int64(print_) << 32) | (count + 1)
        place = offsets[count]
        for step in range(end - start):
            heap[place + step] = text[start + step]
        offsets[count + 1] = place + end - start
    return int((slots[slot] & 0xFFFFFFFF) - 1)


@kernel
def look(text: Bytes, slots: Slots, heap: Bytes, offsets: Offsets, key: int) -> int:
    """The number of a name, or -1."""
    slot = _slot_of(text, 0, len(text), _fingerprint(text, 0, len(text), key), slots, heap, offsets)
    return int((slots[slot] & 0xFFFFFFFF) - 1)


@kernel
def number_all(
    text: Bytes,
    starts: Offsets,
    ends: Offsets,
    slots: Slots,
    heap: Bytes,
    offsets: Offsets,
    count: int,
    most: int,
    key: int,
    numbers: Targets,
) -> int:
    """Gives each of many names its number, -1 if it is new and there must be no new ones; returns how many names there
    are.

    What memory holds of the names is scattered, and waiting for it is most of the work. So the names are taken in
    groups, and each place is touched for the whole group before it is needed: the waits overlap.
    """
    prints = np.empty(GROUP, np.int64)
    places = np.empty(GROUP, np.int64)
    touched = np.empty(GROUP, np.uint8)
    for first in range(0, len(starts), GROUP):
        group = min(GROUP, len(starts) - first)
        for member in range(group):
            start, end = starts[first + member], ends[first + member]
            # The links of a page mostly stand together: every second name is the one before the last.
            before = max(first + member - 2, 0)
            length = ends[before] - starts[before]
            if first + member >= 2 and length == end - start and _same(text, start, text, starts[before], length):
                prints[member] = AGAIN
            else:
                prints[member] = _fingerprint(text, start, end, key)
        for member in range(group):
            places[member] = slots[prints[member] & (len(slots) - 1)] & 0xFFFFFFFF
        for member in range(group):
            places[member] = offsets[places[member]]
        for member in range(group):
            touched[member] = heap[max(places[member] - 1, 0)]
        for member in range(group):
            if prints[member] == AGAIN:
                numbers[first + member] = numbers[first + member - 2]
                continue
            start, end = starts[first + member], ends[first + member]
            page = _number_of(text, start, end, prints[member], slots, heap, offsets, count, most)
            count = max(count, page + 1)
            numbers[first + member] = page
    return count


@kernel
def enter_all(heap: Bytes, offsets: Offsets, count: int, slots: Slots, key: int) -> None:
    """Fills free slots with names that differ."""
    for page in range(count):
        print_ = _fingerprint(heap, offsets[page], offsets[page + 1], key)
        slot = print_ & (len(slots) - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = (np.int64(print_) << 32) | (page + 1)


@kernel
def move(old: Slots, slots: Slots) -> None:
    """Fills free slots with what other slots hold."""
    for taken in old:
        if taken != 0:
            slot = (taken >> 32) & (len(slots) - 1)
            while slots[slot] != 0:
                slot = (slot + 1) & (len(slots) - 1)
            slots[slot] = taken
