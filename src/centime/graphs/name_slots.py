"""The hash table of page names: from the bytes of a name to its number.

A slot holds the number of a name, plus one, and its fingerprint; 0 is a free slot. A search starts at the slot of the
fingerprint (linear probing, at most two slots of three are taken) and compares names byte by byte.

The fingerprint is a polynomial of the bytes of the name, three at a time, modulo the prime 2^31 - 1, evaluated at a key
that each process draws at random. The key is secret, so no file can be constructed whose names all collide. Page
numbers follow the first mention and never depend on the key.
"""

import secrets

import numpy as np
import numpy.typing as npt

from centime.model.graph import Offsets, Targets
from centime.model.kernel import inlined, kernel

Bytes = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.int64]

PRIME = 2**31 - 1
KEY = 2**29 + secrets.randbelow(2**29)  # below 2^30, so that no product exceeds 2^63
LEAST_SLOTS = 1024
GROUP = 32
AGAIN = -1


def empty_slots(names: int) -> Slots:
    """Free slots for `names` names."""
    size = LEAST_SLOTS
    while 2 * size < 3 * names:
        size *= 2
    return np.zeros(size, dtype=np.int64)


@inlined
def _fingerprint(text: Bytes, start: int, end: int, key: int) -> int:
    """The fingerprint, below 2^31 - 1, of the bytes from `start` to `end`; the key is below 2^30."""
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
    """Whether two runs of bytes are equal."""
    step = 0
    while step < length and one[start + step] == other[other_start + step]:
        step += 1
    return step == length


@inlined
def _slot_of(text: Bytes, start: int, end: int, print_: int, slots: Slots, heap: Bytes, offsets: Offsets) -> int:
    """The slot of the name from `start` to `end` in the text, or the free slot where it belongs."""
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
    """The number of the name from `start` to `end`; a new name gets the number `count`, or -1 if `count` is `most`."""
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
    """Numbers many names (-1 for a new name beyond `most`) and returns the new count of names.

    Most of the time goes to cache misses, since names are scattered in memory. So names are processed in groups: each
    location is touched for the whole group before it is needed, and the misses overlap.
    """
    prints = np.empty(GROUP, np.int64)
    places = np.empty(GROUP, np.int64)
    touched = np.empty(GROUP, np.uint8)
    for first in range(0, len(starts), GROUP):
        group = min(GROUP, len(starts) - first)
        for member in range(group):
            start, end = starts[first + member], ends[first + member]
            # The links of a page are usually together, so a name is often equal to the name two before it.
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
        if len(heap) > 0:  # a table without names has nothing to touch
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
    """Enters distinct names into free slots."""
    for page in range(count):
        print_ = _fingerprint(heap, offsets[page], offsets[page + 1], key)
        slot = print_ & (len(slots) - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = (np.int64(print_) << 32) | (page + 1)


@kernel
def move(old: Slots, slots: Slots) -> None:
    """Moves the entries of other slots into free slots."""
    for taken in old:
        if taken != 0:
            slot = (taken >> 32) & (len(slots) - 1)
            while slots[slot] != 0:
                slot = (slot + 1) & (len(slots) - 1)
            slots[slot] = taken
