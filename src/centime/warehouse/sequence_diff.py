"""The differences between two sequences of sentences, or of words.

First the common ends are set aside. Then items that occur once in both are matched in the longest common order
(patience sorting), and the rest between them in the same way. Where there is no common unique item between two such
items, the old items are removed and the new ones added. Time is n log n for each level, and there are at most DEEPEST
levels: crafted sequences cost no more than ordinary ones.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

DEEPEST = 20


class Step(NamedTuple):
    """A part of both sequences: equal, or the removed items and the ones added in their place."""

    equal: bool
    old: tuple[str, ...]
    new: tuple[str, ...]


Found = list[tuple[bool, list[str], list[str]]]


def steps(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """The steps from one sequence to another: their `old` parts make the one, their `new` parts the other."""
    found: Found = []
    _add(list(old), list(new), 0, found)
    return [Step(equal, tuple(ones), tuple(others)) for equal, ones, others in found]


def _add(old: list[str], new: list[str], depth: int, found: Found) -> None:
    begin = _common(old, new)
    _put(found, True, old[:begin], new[:begin])
    old, new = old[begin:], new[begin:]
    end = _common(old[::-1], new[::-1])
    tail = old[len(old) - end :]
    old, new = old[: len(old) - end], new[: len(new) - end]
    anchors = _anchors(old, new) if old and new and depth < DEEPEST else []
    at = place = 0
    for one, other in anchors:
        _add(old[at:one], new[place:other], depth + 1, found)
        _put(found, True, old[one : one + 1], new[other : other + 1])
        at, place = one + 1, other + 1
    if anchors:
        _add(old[at:], new[place:], depth + 1, found)
    else:
        _put(found, False, old, new)
    _put(found, True, tail, tail)


def _put(found: Found, equal: bool, old: list[str], new: list[str]) -> None:
    """Adds a step, merged with the one before if that is of the same kind."""
    if not old and not new:
        return
    if not found or found[-1][0] != equal:
        found.append((equal, [], []))
    found[-1][1].extend(old)
    found[-1][2].extend(new)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many items are the same from the beginning on."""
    for place, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return place
    return min(len(old), len(new))


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Places of items that occur once in both, in the longest common order."""
    ones, others = Counter(old), Counter(new)
    places = {item: place for place, item in enumerate(new) if others[item] == 1}
    pairs = [(place, places[item]) for place, item in enumerate(old) if ones[item] == 1 and item in places]
    ends: list[int] = []  # of rising sequences, by their length
    last: list[int] = []  # the pair at each of these ends
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    chosen = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]
