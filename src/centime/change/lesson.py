"""The lesson of two reads of a page moments apart: all differences between them are volatile.

A place that only one of them has is volatile as a whole, unless its words are at another place of the other read. A
place with the same blocks in another order is a set. Otherwise the words that differ are masked (`mask.py`), or all of
the place is volatile if that would leave too little. Two reads that have little in common teach nothing.

Two reads far apart teach less: gaps in one place, of which those that differ again and again become rules
(`specimen.py`).
"""

import re
from collections.abc import Iterator

import msgspec
import numpy as np

from centime.change.groups import common_hash, sequence_of
from centime.change.mask import MERGED, NARROW, ends_of_lefts, masked, masks_between
from centime.change.reading import Page
from centime.change.rule import ANYWHERE, MASK, MOST_MASKS, SET, WATCHED, WHOLE, Rule, Table
from centime.change.specimen import MOST_WORDS, Specimen
from centime.model.words import Column

SAMPLE = 60  # characters of a sample
_TAG = re.compile(rb"<[^>]*>?|^[^<]*>")
MOST_STRANGE = 0.5  # share of words on places that only one read has


def lesson(first: Page, second: Page, table: Table) -> list[Rule]:
    """The new rules that two reads moments apart suggest, each with a sample of the text."""
    return [msgspec.structs.replace(rule, sample=_sample(rule, first, second)) for rule in _rules(first, second, table)]


def _sample(rule: Rule, *pages: Page) -> str:
    """The beginning of the text at the place of a rule."""
    for page in pages:
        at = np.flatnonzero(page.words.places == rule.place)
        if rule.place == ANYWHERE:
            at = ends_of_lefts(page.words, rule)
        if len(at) and page.text:
            begin = int(page.words.begins[at[0]])
            return " ".join(_TAG.sub(b" ", page.text[begin : begin + 4 * SAMPLE]).decode("utf-8", "ignore").split())[
                :SAMPLE
            ]
    return ""


def _rules(first: Page, second: Page, table: Table) -> list[Rule]:
    a, b = first.groups, second.groups
    here, there = a.index(), b.index()
    moved = {int(a.ordered[here[place]]) for place in here.keys() - there.keys()} & {
        int(b.ordered[there[place]]) for place in there.keys() - here.keys()
    }
    strange = [
        (place, value, int(groups.counts[index[place]]))
        for groups, index, other in ((a, here, there), (b, there, here))
        for place in index.keys() - other.keys()
        if (value := int(groups.ordered[index[place]])) not in moved
    ]
    if sum(count for _, _, count in strange) > MOST_STRANGE * (int(a.counts.sum()) + int(b.counts.sum())):
        return []
    rules = table.in_force(table.version)
    anywhere = rules.pop(ANYWHERE, [])
    found = [Rule(place, WHOLE, left=value) for place, value, _ in strange if not _has(rules.get(place, []), WHOLE)]
    for place in sorted(here.keys() & there.keys()):
        known = [rule for rule in rules.get(place, []) if rule.kind != WATCHED]
        if a.ordered[here[place]] != b.ordered[there[place]] and not _has(known, WHOLE):
            found += _of_place(first, second, place, known + anywhere)
    return list(dict.fromkeys(found))


def _of_place(first: Page, second: Page, place: int, known: list[Rule]) -> list[Rule]:
    (x, attribute), (y, _) = sequence_of(first.words, place), sequence_of(second.words, place)
    in_force = [rule for rule in known if rule.kind == MASK]
    if _alike(x, y, in_force, attribute):
        return []
    a, b = masked(x, in_force, attribute)[0], masked(y, in_force, attribute)[0]
    if common_hash(a) == common_hash(b):
        return [] if _has(known, SET) else [Rule(place, SET)]
    masks = masks_between(a, b, place, attribute)
    if masks is None or sum(rule.place == place for rule in [*known, *masks]) > MOST_MASKS:
        return [Rule(place, WHOLE)]
    for better in (masks, *_other_masks(x, y, a, b, place, attribute)):
        if better is not None and _alike(x, y, [*in_force, *better], attribute):
            return better
    return masks


def _other_masks(
    x: Column, y: Column, a: Column, b: Column, place: int, attribute: bool
) -> Iterator[list[Rule] | None]:
    """Masks to try if the plain ones do not make two reads alike: because the word after a gap occurs in it too, the
    surroundings of a gap are masked, or words in between are the same by chance.
    """
    yield masks_between(a, b, place, attribute, words_right=2)
    for apart in (MERGED, len(x)):
        yield masks_between(x, y, place, attribute, apart=apart, words_right=2)


def _alike(x: Column, y: Column, masks: list[Rule], attribute: bool) -> bool:
    return np.array_equal(masked(x, masks, attribute)[0], masked(y, masks, attribute)[0])


def specimen_of(page: Page, place: int) -> Specimen:
    """The specimen of a place; without words if there are none, or too many."""
    sequence, _ = sequence_of(page.words, place)
    useful = 2 < len(sequence) <= MOST_WORDS
    return Specimen(place, (sequence & NARROW).astype("<u4").tobytes() if useful else b"")


def gaps_from(specimen: Specimen, page: Page) -> tuple[Rule, ...]:
    """The rules that would hide the words by which a place differs from its specimen."""
    sequence, attribute = sequence_of(page.words, specimen.place)
    if len(sequence) <= 2 or not specimen.words:
        return ()
    before = np.frombuffer(specimen.words, dtype="<u4").astype(np.int64)
    masks = masks_between(sequence, before, specimen.place, attribute) or []
    return tuple(msgspec.structs.replace(rule, sample=_sample(rule, page), slow=True) for rule in masks)


def _has(rules: list[Rule], kind: int) -> bool:
    return any(rule.kind == kind for rule in rules)
