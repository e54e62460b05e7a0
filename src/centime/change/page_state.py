"""The state of a page with which its next read is compared: at most 498 bytes.

    version   4 bytes   of the host's table under which it was made
    shift     1 byte    by how many bits the places of ordinary entries are shortened
    counts    2 bytes   how many of the entries are of places that the table says to watch, and how many are veiled
    still     1 byte    comparisons since it was made in which no entry differed that is not veiled
    entries   5 bytes   each: 20 bits of place, 6 bits of history (`history.py`), 14 bits of value; at most 98:
                        watched, ordinary, veiled

A value is the hash of the words of a place under the rules in force. A veiled entry has the key of a rule instead of a
place, and as its value the hash of what the rule hides, 0 if the page does not have it now: so it is known how often a
rule hides something on this page. A page with more places has them merged by the leading bits of their hashes, and the
values added up, so that nothing is left out.

A read in which nothing else differs changes only `still` and the veiled entries: only these `hidden` bytes are written.
"""

import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from centime.change.history import BITS, FRESH, counts, pushed, rested
from centime.model.words import Column

MOST_ENTRIES = 98
MOST_APART, MOST_VEILED = 24, 32
RESTIVE = 3  # of the last five comparisons
MOST_GONE = 4  # room for veiled entries of parts that are not on the page now
VALUE_BITS = 20 - BITS
_HEAD = struct.Struct("<IBBBB")
_VEILED, _STILL = 6, 7  # where these bytes are
_VALUE = (1 << VALUE_BITS) - 1
_HISTORY = (1 << BITS) - 1


@dataclass(frozen=True, slots=True)
class PageState:
    """The values of a page's places. Each number is a place shifted left by 20 bits, plus its history shifted left by
    14, plus the value; in the order of places.
    """

    version: int
    shift: int
    apart: Column
    entries: Column
    veiled: Column

    def packed(self) -> bytes:
        """The state as bytes."""
        veiled = self.veiled[:MOST_VEILED]
        everything = np.concatenate([self.apart, self.entries, veiled]).astype("<u8")
        octets = everything.view(np.uint8).reshape(-1, 8)[:, :5].tobytes()
        return _HEAD.pack(self.version, self.shift, len(self.apart), len(veiled), 0) + octets

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.apart) + len(self.entries) + len(self.veiled)

    def places(self) -> set[int]:
        """The places that have entries of their own."""
        own = [self.apart] if self.shift else [self.apart, self.entries]
        return set((np.concatenate(own) >> 20).tolist())

    def has(self, place: int) -> bool:
        """Whether the page has a place, or, if places are merged, one that is merged with it."""
        return bool((self.apart >> 20 == place).any() or (self.entries >> 20 == place >> self.shift).any())

    def differences(self, other: "PageState") -> list[tuple[int, bool, int, int]]:
        """The differences from another state of the same shift: place, whether it is exact, value here (-1: none), and
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

    def hides(self) -> dict[int, int]:
        """The values of the veiled entries, by the keys of their rules."""
        return _values(self.veiled)

    def values(self) -> dict[int, int]:
        """The values of the places that have entries of their own."""
        return _values(self.apart) | ({} if self.shift else _values(self.entries))

    def histories(self) -> dict[int, int]:
        """The histories of places that have entries of their own."""
        return _histories(self.apart) | ({} if self.shift else _histories(self.entries))

    def veiled_histories(self) -> dict[int, int]:
        """The histories of the veiled entries, by the keys of their rules."""
        return _histories(self.veiled)

    def restive(self) -> int:
        """How many entries that are not veiled differed in most of the last comparisons of the page."""
        histories = np.concatenate([self.apart, self.entries]) >> VALUE_BITS & _HISTORY
        return sum(differed >= RESTIVE for differed, _ in map(counts, histories.tolist()))

    def compared_with(self, old: "PageState", unstirred: frozenset[int] = frozenset()) -> "PageState":
        """This state with the histories of an older one of the same version, and the comparison of both. Veiled
        entries that are `unstirred` count as if they did not differ.
        """
        return replace(
            self,
            apart=_compared(self.apart, old.apart),
            entries=_compared(self.entries, old.entries),
            veiled=_compared(self._listed(old.hides().keys(), MOST_VEILED), old.veiled, unstirred),
        )

    def _listed(self, known: Set[int], room: int) -> Column:
        """Veiled entries, at most `room`: those of known keys first, whether the page has them now or not."""
        here = self.hides()
        keys = [*sorted(known), *sorted(here.keys() - known)][:room]
        return _fresh(
            np.array(sorted(keys), dtype=np.int64), np.array([here.get(key, 0) for key in sorted(keys)], dtype=np.int64)
        )

    def continuing(self, old: "PageState", place_of: Mapping[int, int]) -> "PageState":
        """This state with the histories of one of the same or an older version. `place_of` gives the place of each rule
        in force, by its key: a veiled entry that is new has the history of its place, or none if another rule hid words
        there.
        """
        room = min(MOST_VEILED, MOST_ENTRIES - len(self.apart) - len(self.entries))
        listed = self._listed(old.hides().keys() & place_of.keys(), room)
        starts = np.concatenate([old.apart >> 20, (old.entries >> 20) << old.shift])
        known = np.concatenate([old.apart, old.entries]) >> VALUE_BITS & _HISTORY
        ends = np.concatenate([old.apart >> 20, ((old.entries >> 20) + 1 << old.shift) - 1])
        order = np.argsort(starts, kind="stable")
        starts, ends, known = starts[order], ends[order], known[order]
        of_keys = old.veiled_histories()
        veiled_places = {place_of.get(key, -1) for key in of_keys}

        def of_places(places: Column) -> Column:
            at = np.searchsorted(starts, places, side="right") - 1
            inside = (at >= 0) & (places <= ends[at]) if len(starts) else np.zeros(len(places), dtype=np.bool_)
            found: Column = np.where(inside, known[at] if len(starts) else FRESH, FRESH)
            return found

        keys = (listed >> 20).tolist()
        own = [place_of.get(key, -1) for key in keys]
        bare = [-1 if place in veiled_places or -1 in veiled_places else place for place in own]
        at_place = of_places(np.array(bare, dtype=np.int64)).tolist()
        veiled = np.array([of_keys.get(key, one) for key, one in zip(keys, at_place, strict=True)], dtype=np.int64)
        return replace(
            self,
            apart=_with_histories(self.apart, of_places(self.apart >> 20)),
            entries=_with_histories(self.entries, of_places((self.entries >> 20) << self.shift)),
            veiled=_with_histories(listed, veiled),
        )


def _values(entries: Column) -> dict[int, int]:
    return dict(zip((entries >> 20).tolist(), (entries & _VALUE).tolist(), strict=True))


def _histories(entries: Column) -> dict[int, int]:
    return dict(zip((entries >> 20).tolist(), (entries >> VALUE_BITS & _HISTORY).tolist(), strict=True))


def _with_histories(entries: Column, histories: Column) -> Column:
    found: Column = entries & ~(_HISTORY << VALUE_BITS) | histories << VALUE_BITS
    return found


def _compared(entries: Column, old: Column, unstirred: frozenset[int] = frozenset()) -> Column:
    """Entries with the histories of old ones, and this comparison; a place that came has differed once."""
    places = entries >> 20
    at = np.minimum(np.searchsorted(old >> 20, places), max(0, len(old) - 1))
    known = (old >> 20)[at] == places if len(old) else np.zeros(len(places), dtype=np.bool_)
    before = old[at] if len(old) else np.zeros(len(places), dtype=np.int64)
    histories = np.where(known, before >> VALUE_BITS & _HISTORY, FRESH)
    differed = ~known | ((before ^ entries) & _VALUE != 0)
    if unstirred:
        differed &= ~np.isin(places, list(unstirred))
    return _with_histories(entries, pushed(histories, differed))


def unpacked(octets: bytes) -> PageState:
    """The state of packed bytes, or of the result of `with_hidden`."""
    version, shift, apart, veiled, still = _HEAD.unpack_from(octets)
    rows = np.frombuffer(octets, dtype=np.uint8, offset=_HEAD.size).reshape(-1, 5)
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, :5] = rows
    numbers = wide.view("<u8")[:, 0].astype(np.int64)
    end = len(numbers) - veiled
    if still:
        numbers[:end] = _with_histories(numbers[:end], rested(numbers[:end] >> VALUE_BITS & _HISTORY, still))
    return PageState(version, shift, numbers[:apart], numbers[apart:end], numbers[end:])


def version_of(octets: bytes) -> int:
    """The version of a packed state."""
    return int(_HEAD.unpack_from(octets)[0])


def hidden_after(octets: bytes, state: PageState | None = None) -> bytes:
    """The bytes written for a read that differs from a packed state only in veiled entries, which are those of `state`;
    without `state`, in nothing.
    """
    still = min(octets[_STILL] + 1, 255)
    if state is None:
        veiled = unpacked(octets).veiled
        veiled = _with_histories(veiled, rested(veiled >> VALUE_BITS & _HISTORY, 1))
    else:
        veiled = state.veiled
    lows = (veiled & (1 << 20) - 1).astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3]
    return bytes([still]) + lows.tobytes()


def with_hidden(octets: bytes, hidden: bytes) -> bytes:
    """A packed state with the bytes written for a later read, if there are any."""
    if not hidden or not octets:
        return octets
    found = bytearray(octets)
    found[_STILL] = hidden[0]
    veiled = found[_VEILED]
    begin = len(found) - 5 * veiled
    for number in range(veiled):
        low, at = hidden[1 + 3 * number : 4 + 3 * number], begin + 5 * number
        found[at : at + 3] = low[:2] + bytes([low[2] & 0xF | found[at + 2] & 0xF0])
    return bytes(found)


def state_of(
    version: int,
    places: Column,
    values: Column,
    watched: npt.NDArray[np.bool_],
    volatile: npt.NDArray[np.bool_],
    hidden: Mapping[int, int],
    shift: int = -1,
) -> PageState:
    """The state with these values, without a history. `hidden` are the hashes of what rules hide, by their
    keys. `shift` as given, or as small as the places allow.
    """
    keys = np.array(sorted(hidden), dtype=np.int64)
    concealed = np.array([veiled_value(hidden[key]) for key in keys.tolist()], dtype=np.int64)
    veiled = _fresh(keys, concealed)
    if len(volatile):
        places, values, watched = places[~volatile], values[~volatile], watched[~volatile]
    if int(np.count_nonzero(watched)) > MOST_APART:
        watched = watched & (np.cumsum(watched) <= MOST_APART)
    apart = np.sort(_fresh(places[watched], values[watched]))
    rest, of_rest = places[~watched], values[~watched]
    room = MOST_ENTRIES - len(apart) - min(len(veiled) + MOST_GONE, MOST_VEILED)
    if shift < 0:
        shift = _least_shift(rest, room)
    if not shift:
        return PageState(version, 0, apart, np.sort(_fresh(rest, of_rest)), veiled)
    merged, at = np.unique(rest >> shift, return_inverse=True)
    sums = np.bincount(at, weights=_spread(rest, of_rest), minlength=len(merged)).astype(np.int64)  # below 2**53
    return PageState(version, shift, apart, _fresh(merged, sums), veiled)


def veiled_value(value: int) -> int:
    """The value of a veiled entry that hides words with this hash."""
    return value & _VALUE or 1


def plain_value(value: int) -> int:
    """The value of an entry of this place alone."""
    return value & _VALUE


def merged_values(places: Column, values: Column) -> Column:
    """The amount that each of these places with these values adds to the value of the merged places to which it
    belongs."""
    found: Column = _spread(places, values) & _VALUE
    return found


def merged_value(place: int, value: int) -> int:
    """The same for one place."""
    return int(merged_values(np.array([place], dtype=np.int64), np.array([value], dtype=np.int64))[0])


def is_sum(here: int, there: int, more: int) -> bool:
    """Whether the values of merged places differ by the amount that a place adds to one of them; -1 means no place."""
    return more in (plain_value(max(here, 0) - max(there, 0)), plain_value(max(there, 0) - max(here, 0)))


def _fresh(places: Column, values: Column) -> Column:
    entries: Column = places << 20 | FRESH << VALUE_BITS | values & _VALUE
    return entries


def _least_shift(places: Column, room: int) -> int:
    """By how many bits places are shortened so that at most `room` differ."""
    if len(places) <= room:
        return 0
    in_order = np.sort(places)
    bits = in_order[1:] ^ in_order[:-1]  # neighbours are one after a shift by the number of these bits
    return int(np.partition(bits, len(bits) - room)[len(bits) - room]).bit_length()


def _spread(places: Column, values: Column) -> Column:
    """Values that depend on their places too: two merged places that swap their words differ."""
    spread: Column = (values * (2 * (places & 0x3FF) + 1) + places) & ((1 << 20) - 1)
    return spread
