"""What is kept of a page to compare its next read with: at most 493 bytes.

    version   4 bytes   of the host's table under which it was made
    shift     1 byte    by how many bits the places of ordinary entries are shortened
    counts    2 bytes   how many of the entries are of places that the table says to watch, and how many are volatile
    hidden    16 bytes  eight hashes of 16 bits, of what rules have hidden: seven by place, one of
                        masks that apply anywhere
    entries   5 bytes   each: 20 bits of place, 20 bits of value; at most 94: watched, ordinary, volatile as a whole

A value is the hash of the words of a place under the rules in force. Places that are volatile as a whole are not
compared; some are listed, so that it is seen when they come to rest. A page with more places has them merged by the
leading bits of their hashes, and the values added up, so that nothing is left out.
"""

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.words import Column

MOST_ENTRIES = 94
MOST_APART, MOST_VOLATILE = 24, 12
HIDDEN = 7  # hashes of what rules have hidden, by place; one more is of masks that apply anywhere
_HEAD = struct.Struct("<IBBB16s")
_VALUE = (1 << 20) - 1
_NOTHING = bytes(16)


@dataclass(frozen=True, slots=True)
class PageState:
    """The values of a page's places: each number is a place shifted left by 20 bits, plus the value, in order."""

    version: int
    shift: int
    apart: Column
    entries: Column
    volatile: Column  # places whose value is 0
    hidden: bytes = _NOTHING

    def packed(self) -> bytes:
        """The state as bytes."""
        everything = np.concatenate([self.apart, self.entries, self.volatile]).astype("<u8")
        octets = everything.view(np.uint8).reshape(-1, 8)[:, :5].tobytes()
        return _HEAD.pack(self.version, self.shift, len(self.apart), len(self.volatile), self.hidden) + octets

    def same_as(self, other: "PageState") -> bool:
        """Whether no value differs."""
        return np.array_equal(self.entries, other.entries) and np.array_equal(self.apart, other.apart)

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.apart) + len(self.entries) + len(self.volatile)

    def places(self) -> set[int]:
        """The places that have entries of their own."""
        own = [self.apart, self.volatile] if self.shift else [self.apart, self.entries, self.volatile]
        return set((np.concatenate(own) >> 20).tolist())

    def differences(self, other: "PageState") -> list[tuple[int, bool, int, int]]:
        """What differs from another state of the same shift: place, whether it is exact, value here (-1: none), and
        value there.
        """
        found = []
        for exact, mine, theirs in (
            (True, _values(self.apart), _values(other.apart)),
            (self.shift == 0, _values(self.entries), _values(other.entries)),
        ):
            for place in sorted(mine.keys() | theirs.keys()):
                here, there = mine.get(place, -1), theirs.get(place, -1)
                if here != there:
                    found.append((place, exact, here, there))
        return found


def _values(entries: Column) -> dict[int, int]:
    return dict(zip((entries >> 20).tolist(), (entries & _VALUE).tolist(), strict=True))


def unpacked(octets: bytes) -> PageState:
    """The state that was packed."""
    version, shift, apart, volatile, hidden = _HEAD.unpack_from(octets)
    rows = np.frombuffer(octets, dtype=np.uint8, offset=_HEAD.size).reshape(-1, 5)
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, :5] = rows
    numbers = wide.view("<u8")[:, 0].astype(np.int64)
    end = len(numbers) - volatile
    return PageState(version, shift, numbers[:apart], numbers[apart:end], numbers[end:], hidden)


def version_of(octets: bytes) -> int:
    """The version of a packed state."""
    return int(_HEAD.unpack_from(octets)[0])


def hidden_of(octets: bytes) -> bytes:
    """The hashes of what rules have hidden, of a packed state."""
    hidden: bytes = _HEAD.unpack_from(octets)[4]
    return hidden


def with_hidden(octets: bytes, hidden: bytes) -> bytes:
    """A packed state with other hashes of what rules have hidden, if any are given."""
    return octets if not hidden or not octets else octets[:7] + hidden + octets[23:]


def state_of(
    version: int,
    places: Column,
    values: Column,
    watched: npt.NDArray[np.bool_],
    volatile: npt.NDArray[np.bool_],
    hidden: bytes,
    shift: int = -1,
) -> PageState:
    """The state with these values; `shift` as given, or as small as the places allow."""
    resting = np.sort(places[volatile])[:MOST_VOLATILE] << 20
    if len(volatile):
        places, values, watched = places[~volatile], values[~volatile], watched[~volatile]
    if int(np.count_nonzero(watched)) > MOST_APART:
        watched = watched & (np.cumsum(watched) <= MOST_APART)
    apart = np.sort(places[watched] << 20 | values[watched] & _VALUE)
    rest, of_rest = places[~watched], values[~watched] & _VALUE
    room = MOST_ENTRIES - len(apart) - len(resting)
    if shift < 0:
        shift = _least_shift(rest, room)
    if not shift:
        return PageState(version, 0, apart, np.sort(rest << 20 | of_rest), resting, hidden)
    merged, at = np.unique(rest >> shift, return_inverse=True)
    sums = np.bincount(at, weights=_spread(rest, of_rest), minlength=len(merged)).astype(np.int64)  # below 2**53
    return PageState(version, shift, apart, merged << 20 | sums & _VALUE, resting, hidden)


def _least_shift(places: Column, room: int) -> int:
    """By how many bits places are shortened so that at most `room` differ."""
    if len(places) <= room:
        return 0
    in_order = np.sort(places)
    bits = in_order[1:] ^ in_order[:-1]  # neighbours are one after a shift by the number of these bits
    return int(np.partition(bits, len(bits) - room)[len(bits) - room]).bit_length()


def _spread(places: Column, values: Column) -> Column:
    """Values that depend on their places too: two merged places that swap their words differ."""
    spread: Column = (values * (2 * (places & 0x3FF) + 1) + places) & _VALUE
    return spread
