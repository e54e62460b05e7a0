"""Names and values of nodes, each kept once: equal numbers are equal contents.

The versions that are compared share one `Contents`. Looking up is exact (bytes are compared), so results never depend
on a hash. The hash only chooses the slot; it begins with a random number for each process, so that no document can be
crafted whose contents all fall into one slot.

A content is its sort (one byte), then its parts, separated by a byte that UTF-8 never has:

    d                               the document
    e name                          the label of an element; also its content if it has no attributes
    a name | name | value | ...     an element with its attributes, sorted by name
    t text, c text                  text, a comment; `t` and `c` alone are their labels
    p target, q target | data       the label of a processing instruction, and its content
    y text                          a document type declaration; `y` alone is its label

In texts, a reference to an entity is a byte that UTF-8 never has, the name and a semicolon: it is not expanded.
"""

import secrets
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_part, late_kernel
from centime.parse.words import mixed

Bytes = npt.NDArray[np.uint8]
Scratch = npt.NDArray[np.int64]
Kind = TypeVar("Kind", bound=np.generic)

SEPARATOR = 0xFF
ENTITY = 0xFE
# Places of the scratch array: how many bytes and contents there are, and where the hash begins.
WRITTEN, KNOWN, SEED = range(3)
_SCRATCH = 3
_ENTITY, _SEPARATOR = bytes([ENTITY]), bytes([SEPARATOR])
_LEAST_SLOTS = 1 << 10


class Contents:
    """All contents of one or several trees."""

    def __init__(self) -> None:
        self.bytes: Bytes = np.zeros(0, dtype=np.uint8)
        self.ends: Scratch = np.zeros(1, dtype=np.int64)
        self.slots: npt.NDArray[np.int32] = np.full(_LEAST_SLOTS, -1, dtype=np.int32)
        self.scratch: Scratch = np.zeros(_SCRATCH, dtype=np.int64)
        self.scratch[SEED] = secrets.randbits(52)

    @property
    def count(self) -> int:
        """The number of different contents."""
        return int(self.scratch[KNOWN])

    def add(self, content: bytes) -> int:
        """The number of a content."""
        self.reserve(len(content), 1)
        begin = int(self.scratch[WRITTEN])
        self.bytes[begin : begin + len(content)] = np.frombuffer(content, dtype=np.uint8)
        self.scratch[WRITTEN] += len(content)
        return int(intern(begin, self.bytes, self.ends, self.slots, self.scratch))

    def forget(self, first: int) -> None:
        """Forgets all contents but the first ones, and keeps the room for others."""
        if self.count > first:
            self.scratch[KNOWN], self.scratch[WRITTEN] = first, self.ends[first]
            self.slots.fill(-1)
            _refill(first, self.bytes, self.ends, self.slots, self.scratch)

    def reserve(self, size: int, count: int) -> None:
        """Makes room for this many bytes, and for this many contents."""
        written, known = int(self.scratch[WRITTEN]), self.count
        if len(self.bytes) < written + size:
            self.bytes = _larger(self.bytes, written + size)
        if len(self.ends) < known + count + 1:
            self.ends = _larger(self.ends, known + count + 1)
        if len(self.slots) < 2 * (known + count):
            self.slots = np.full(1 << (2 * (known + count)).bit_length(), -1, dtype=np.int32)
            _refill(known, self.bytes, self.ends, self.slots, self.scratch)

    def __getitem__(self, number: int) -> bytes:
        """The bytes of a content."""
        return self.bytes[self.ends[number] : self.ends[number + 1]].tobytes()

    def text(self, number: int) -> str:
        """The text of a text, a comment or a document type, with references as they were written."""
        return readable(self[number][1:])

    def name(self, number: int) -> str:
        """The name of an element, or the target of an instruction."""
        return self[number][1:].split(_SEPARATOR, 1)[0].decode()

    def parts(self, number: int) -> list[str]:
        """What follows the name: names and values of attributes in turn, or the data of an instruction."""
        return [readable(part) for part in self[number][1:].split(_SEPARATOR)[1:]]


def readable(content: bytes) -> str:
    """A content as text, with references to entities as they were written."""
    return content.replace(_ENTITY, b"&").decode(errors="replace")


@bare_part
def _hash(begin: Whole, end: Whole, contents: Bytes, scratch: Scratch) -> Whole:
    value = np.int64(scratch[SEED])
    for at in range(begin, end):
        value = mixed(value, contents[at])
    return value


@bare_part
def intern(begin: Whole, contents: Bytes, ends: Scratch, slots: npt.NDArray[np.int32], scratch: Scratch) -> Whole:
    """The number of the content that was written last, from `begin` on; if it was known, the new copy is removed."""
    end = scratch[WRITTEN]
    slot = _hash(begin, end, contents, scratch) & (len(slots) - 1)
    while slots[slot] >= 0:
        number = np.int64(slots[slot])
        first = ends[number]
        if ends[number + 1] - first == end - begin:
            at = begin
            while at < end and contents[at] == contents[first + at - begin]:
                at += 1
            if at == end:
                scratch[WRITTEN] = begin
                return number
        slot = (slot + 1) & (len(slots) - 1)
    number = np.int64(scratch[KNOWN])
    slots[slot] = number
    ends[number + 1] = end
    scratch[KNOWN] = number + 1
    return number


@late_kernel(0.5)
def _refill(known: Whole, contents: Bytes, ends: Scratch, slots: npt.NDArray[np.int32], scratch: Scratch) -> None:
    """Puts the known contents into an empty table."""
    for number in range(known):
        slot = _hash(ends[number], ends[number + 1], contents, scratch) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


def _larger(array: npt.NDArray[Kind], size: int) -> npt.NDArray[Kind]:
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
