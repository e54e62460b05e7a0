"""Compares one read of a page with the last one.

    equal bytes                                          SAME
    equal words, whatever their places                   MINOR: markup
    no value differs under the rules of the last read    MINOR: volatile parts
    whole places moved, and nothing else                 MINOR: markup
    only places that a rule learned since then explains  MINOR: volatile parts
    otherwise                                            CHANGED, with the places that differ

The last word is the host's (`noise.py`), which knows places that never rest and values that all of its pages share.
"""

from enum import IntEnum

import msgspec
import numpy as np

from centime.change.groups import common_hash, groups_of, ordered_hash, sequence_of
from centime.change.mask import masked, places_around
from centime.change.page_state import HIDDEN, PageState, state_of, unpacked
from centime.change.rule import ANYWHERE, SET, WATCHED, WHOLE, Rule, Table
from centime.model.words import Words
from centime.parse.words import mixed


class Verdict(IntEnum):
    """What a read shows of a page's content; the numbers are written to disk and must not change."""

    UNKNOWN = 0  # there was nothing to compare with
    SAME = 1  # the bytes are those of the last read
    MARKUP = 2  # minor: only markup differs
    VOLATILE = 3  # minor: only parts differ that are known to be volatile
    CHANGED = 4

    @property
    def minor(self) -> bool:
        """Whether the bytes differ, but nothing that counts."""
        return self in (Verdict.MARKUP, Verdict.VOLATILE)


class Difference(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A place that differs: its value now (-1: it is gone), and its number of words."""

    place: int  # -1 if it is not known, because places are merged
    value: int = -1
    words: int = 0
    lone: bool = False  # only one of the reads has the place


class Page:
    """One read of a page: its words, and their values under the rules of a host."""

    def __init__(self, words: Words, text: bytes = b"") -> None:
        self.words = words
        self.text = text  # that the words are from, for samples
        self.groups = groups_of(words)

    def state(self, table: Table, version: int, shift: int = -1) -> PageState:
        """The state of this read under the rules that a version has in force."""
        places, values = self.groups.places, self.groups.ordered
        watched, volatile = np.zeros((2, len(places)), dtype=np.bool_)
        hidden = [0] * (HIDDEN + 1)
        rules = table.in_force(version)
        if rules:
            values = values.copy()
            index = self.groups.index()
            anywhere = rules.pop(ANYWHERE, [])
            around = frozenset(places_around(self.words, anywhere) if anywhere else ())
            for place in sorted((rules.keys() | around) & index.keys()):
                at = index[place]
                own = rules.get(place, [])
                kinds = {rule.kind for rule in own}
                watched[at], volatile[at] = WATCHED in kinds, WHOLE in kinds
                applied = own + anywhere if place in around else own
                if not any(rule.kind != WATCHED for rule in applied):
                    continue
                values[at], covered = self._value(place, at, applied, kinds)
                slot = HIDDEN if place in around and not kinds - {WATCHED} else place % HIDDEN
                if covered:
                    hidden[slot] = int(mixed(hidden[slot], mixed(place, covered)))
        octets = np.array(hidden, dtype=np.int64).astype(np.uint16).tobytes()
        return state_of(version, places, values, watched, volatile, octets, shift)

    def _value(self, place: int, at: int, rules: list[Rule], kinds: set[int]) -> tuple[int, int]:
        """The value of a place under its rules, and the hash of what they hide."""
        if WHOLE in kinds:
            return 0, int(self.groups.ordered[at])
        sequence, attribute = sequence_of(self.words, place)
        rest, covered = masked(sequence, rules, attribute)
        if SET in kinds:
            return common_hash(rest), covered or ordered_hash(sequence)
        return ordered_hash(rest), covered


class Compared(msgspec.Struct, frozen=True, gc=False):
    """The result of a comparison."""

    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    hidden: bytes = b""  # of this read under the rules of the last one


def compare(page: Page, before: bytes, table: Table) -> Compared:
    """Compares a read, whose bytes differ, with the packed state of the last one."""
    old = unpacked(before)
    new = page.state(table, old.version, old.shift)
    if new.same_as(old):
        return Compared(Verdict.MARKUP if new.hidden == old.hidden else Verdict.VOLATILE, (), new.hidden)
    found = new.differences(old)
    if _moved(found):
        return Compared(Verdict.MARKUP, (), new.hidden)
    index = page.groups.index() if old.shift == 0 else {}
    later = {rule.place for rule in table.rules if rule.since > old.version and rule.kind != WATCHED}
    if ANYWHERE in later:
        anywhere = [rule for rule in table.rules if rule.since > old.version and rule.place == ANYWHERE]
        later |= set(places_around(page.words, anywhere))
    differences = tuple(
        Difference(
            place if exact else -1,
            here,
            int(page.groups.counts[index[place]]) if place in index else 0,
            here < 0 or there < 0,
        )
        for place, exact, here, there in found
        if not (exact and place in later)
    )
    return Compared(Verdict.CHANGED if differences else Verdict.VOLATILE, differences, new.hidden)


def _moved(found: list[tuple[int, bool, int, int]]) -> bool:
    """Whether the words of some places stand on other places now, and nothing else differs."""
    if any(not exact or (here >= 0) == (there >= 0) for _, exact, here, there in found):
        return False
    here = sorted(here for _, _, here, _ in found if here >= 0)
    there = sorted(there for _, _, _, there in found if there >= 0)
    return here == there
