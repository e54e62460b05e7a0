"""Compares one read of a page with the last one.

    equal bytes                                          SAME
    equal words, whatever their places                   MINOR: markup
    no value differs under the rules of the last read    MINOR: volatile parts
    whole places moved, beside a volatile part           MINOR: markup
    only places that a rule learned since then explains  MINOR: volatile parts
    otherwise                                            CHANGED, with the places that differ

A rule hides or explains a difference only if that is likely to be noise on this very page (`history.py`): a page that
never differed at a place where others of its host are volatile has CHANGED if it differs there.

Where places are merged, the sum shows which place alone has come, or has gone if its words are known.

The host's rules decide last (`noise.py`): they know places that always change and values that all of its pages share.
"""

from enum import IntEnum
from operator import itemgetter

import msgspec
import numpy as np

from centime.change.advice import Advice
from centime.change.groups import common_hash, groups_of, ordered_hash, sequence_of
from centime.change.history import CERTAIN, FRESH, LEAST_ODDS, TWIN_ODDS
from centime.change.mask import ends_of_lefts, masked, places_around
from centime.change.page_state import (
    MOST_VEILED,
    PageState,
    is_sum,
    merged_value,
    merged_values,
    plain_value,
    state_of,
    unpacked,
    veiled_value,
)
from centime.change.rule import ANYWHERE, MASK, SET, WATCHED, WHOLE, Rule, Table
from centime.model.words import Words
from centime.parse.words import mixed

FLICKER_ODDS = 3.0  # of a place that appears or disappears with the same words as in a twin read


class Verdict(IntEnum):
    """The result of comparing a page's content; the numbers are written to disk and must not change."""

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
        self.text = text  # the text of the words, for samples
        self.groups = groups_of(words)

    def state(self, table: Table, version: int, shift: int = -1) -> PageState:
        """The state of this read under the rules that a version has in force, as if it were the first."""
        places, values = self.groups.places, self.groups.ordered
        watched, volatile = np.zeros((2, len(places)), dtype=np.bool_)
        hidden: dict[int, int] = {}
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
                for key, value in covered.items():
                    hidden[key] = int(mixed(hidden[key], value)) if key in hidden else value
        return state_of(version, places, values, watched, volatile, hidden, shift)

    def _value(self, place: int, at: int, rules: list[Rule], kinds: set[int]) -> tuple[int, dict[int, int]]:
        """The value of a place under its rules, and the hashes of what they hide, by their keys."""
        if WHOLE in kinds:
            return 0, {place: int(self.groups.ordered[at])}
        sequence, attribute = sequence_of(self.words, place)
        masks = [rule for rule in rules if rule.kind == MASK]
        rest, covered = masked(sequence, masks, attribute)
        hidden = {rule.key: value for rule, value in zip(masks, covered, strict=True) if value}
        if SET in kinds:
            return common_hash(rest), hidden | {place: ordered_hash(rest)}
        return ordered_hash(rest), hidden

    def came(self, merged: int, shift: int, here: int, there: int) -> int:
        """The place whose appearance alone explains the difference of merged places; -1 if there is none, or
        several."""
        inside = np.flatnonzero(self.groups.places >> shift == merged)
        values = merged_values(self.groups.places[inside], self.groups.ordered[inside])
        places = self.groups.places[inside][values == plain_value(here - max(there, 0))]
        return int(places[0]) if here >= 0 and len(places) == 1 else -1

    def places_of_rules(self, table: Table) -> dict[int, int]:
        """The place of each rule that hides something, by its key; of a mask that applies anywhere, its first one."""
        found = {}
        for rule in table.rules:
            if rule.kind == WATCHED or not rule.holds(table.version):
                continue
            found[rule.key] = rule.place
            if rule.place == ANYWHERE:
                ends = ends_of_lefts(self.words, rule)
                found[rule.key] = int(self.words.places[ends[0]]) if len(ends) else -1
        return found


class Compared(msgspec.Struct, frozen=True, gc=False):
    """The result of a comparison."""

    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    state: PageState | None = None  # of this read under the rules of the last one, with the histories of its places
    stirred: tuple[int, ...] = ()  # keys of the rules whose hidden words differ from before
    surprises: tuple[int, ...] = ()  # those of them that are not expected to differ on this page
    merged: tuple[int, ...] = ()  # places of which one has differed, and it is not known which
    doubtful: bool = False  # whether a twin read would distinguish noise from a change


def compare(
    page: Page,
    before: bytes,
    advice: Advice,
    twin: Page | None = None,
) -> Compared:
    """Compares a read, whose bytes differ, with the packed state of the last one.

    `twin` is the same page, read again.
    """
    table, old = advice.table, unpacked(before)
    new = page.state(table, old.version, old.shift)
    again = twin.state(table, old.version, old.shift).hides() if twin is not None else {}
    here, there, histories = new.hides(), old.hides(), old.veiled_histories()
    stirred, odds, steady = [], {}, set()
    slow = {rule.key for rule in table.rules if rule.slow}
    for key in sorted(there if len(there) >= MOST_VEILED else here.keys() | there.keys()):
        if here.get(key, 0) == there.get(key, 0):
            continue
        stirred.append(key)
        odds[key] = advice.odds(key, histories.get(key, FRESH))
        if twin is None or key in slow:
            continue
        if here.get(key, 0) == again.get(key, 0):
            steady.add(key)
            odds[key] = advice.odds(key, histories.get(key, FRESH), steady=True)
        else:
            odds[key] = CERTAIN
    again_so = {
        rule.key
        for rule in table.rules
        if {here.get(rule.key, 0), there.get(rule.key, 0)} == {0, veiled_value(rule.left)} and advice.flickers(rule)
    }
    surprises = tuple(key for key in stirred if odds[key] * (FLICKER_ODDS if key in again_so else 1) < LEAST_ODDS)
    found = new.differences(old)
    # Words at another place: other markup around them, which does not count. But the signatures differ, so if
    # nothing else explains that, they stand among other words now, and a reader sees it.
    moved = bool(stirred or len(there) >= MOST_VEILED) and _moved(found)
    differences, doubtful, vague = ((), False, False) if moved else _unexplained(page, found, old, advice, twin)
    verdict = Verdict.CHANGED
    if not differences and not surprises:
        hidden = stirred or len(there) >= MOST_VEILED  # there may be more than are listed
        verdict = Verdict.VOLATILE if hidden or (found and not moved) else Verdict.MARKUP
    return Compared(
        verdict,
        differences,
        new.compared_with(old, frozenset(steady.intersection(surprises))),
        tuple(stirred),
        surprises,
        _places_in(page, old, found) if vague else (),
        doubtful or any(one < TWIN_ODDS for one in odds.values()),
    )


def _unexplained(
    page: Page,
    found: list[tuple[int, bool, int, int]],
    old: PageState,
    advice: Advice,
    twin: Page | None,
) -> tuple[tuple[Difference, ...], bool, bool]:
    """The differences that no rule explains which was learned since the last read, whether some of the others are
    explained in doubt, and whether some of them are of merged places.
    """
    index = page.groups.index() if old.shift == 0 else {}
    later: dict[int, list[Rule]] = {}
    for rule in advice.table.rules:
        if rule.since > old.version and rule.kind != WATCHED and not rule.slow and rule.holds(advice.table.version):
            for place in places_around(page.words, [rule]) if rule.place == ANYWHERE else (rule.place,):
                later.setdefault(place, []).append(rule)
    histories = old.histories()
    differences, doubtful, vague = [], False, False
    for place, exact, here, there in found:
        rules = later.get(place, []) if exact else _of_merged(later, place, old.shift, here, there)
        if rules:
            history = histories.get(place, FRESH) if exact else FRESH
            steady = twin is not None and _same_words(page, twin, place if exact else rules[0].place)
            odds, rule = max(
                ((advice.odds(rule.key, history, steady=steady), rule) for rule in rules), key=itemgetter(0)
            )
            again_so = advice.flickers(rule) and (not exact or _came_or_went(rule, here, there))
            if odds * (FLICKER_ODDS if again_so else 1) >= LEAST_ODDS:
                doubtful = doubtful or odds < TWIN_ODDS
                continue
        vague = vague or not exact
        if not exact and (came := page.came(place, old.shift, here, there)) >= 0:
            differences.append(_arrival(page, came))
            continue
        words = int(page.groups.counts[index[place]]) if place in index else 0
        differences.append(Difference(place if exact else -1, here, words, here < 0 or there < 0))
    return tuple(differences), doubtful, vague


def _arrival(page: Page, place: int) -> Difference:
    """The difference of a page with a new place."""
    at = page.groups.index()[place]
    return Difference(place, plain_value(int(page.groups.ordered[at])), int(page.groups.counts[at]), lone=True)


def _came_or_went(rule: Rule, here: int, there: int) -> bool:
    """Whether a place appeared or disappeared with the same words as in a twin read."""
    return min(here, there) < 0 and max(here, there) == plain_value(rule.left)


def _of_merged(later: dict[int, list[Rule]], merged: int, shift: int, here: int, there: int) -> list[Rule]:
    """The rules of a place whose appearance or disappearance alone explains the difference of merged places."""
    return [
        rule
        for place, rules in later.items()
        if place >> shift == merged
        for rule in rules
        if rule.flickers and is_sum(here, there, merged_value(place, rule.left))
    ]


def _places_in(page: Page, old: PageState, found: list[tuple[int, bool, int, int]]) -> tuple[int, ...]:
    """The places of a page that are merged where it differs."""
    merged = [place for place, exact, _, _ in found if not exact]
    places = page.groups.places
    return tuple(places[np.isin(places >> old.shift, merged)].tolist())


def _same_words(first: Page, second: Page, place: int) -> bool:
    here, there = first.groups.index().get(place), second.groups.index().get(place)
    if here is None or there is None:
        return here is there
    return bool(first.groups.ordered[here] == second.groups.ordered[there])


def _moved(found: list[tuple[int, bool, int, int]]) -> bool:
    """Whether the words of some places are at other places now, and nothing else differs."""
    if any(not exact or (here >= 0) == (there >= 0) for _, exact, here, there in found):
        return False
    here = sorted(here for _, _, here, _ in found if here >= 0)
    there = sorted(there for _, _, _, there in found if there >= 0)
    return here == there
