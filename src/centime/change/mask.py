"""Masks: volatile words inside a place, between words that stay.

A mask is a gap with its surroundings. Inside a block, `left` is the hash of the two words before the gap (of one, in a
value; fewer at the beginning of the block), and `right` is the word after it, or the hash of two if one occurs in the
gap too. A gap of whole blocks is bound to the two entries before and after it instead. So a counter in a sentence is
masked, and the price beside it is not.

Gaps with fewer than MERGED equal words between them are one gap: else a date beside a clock would be the surroundings
of the clock.
"""

from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from centime.change.groups import BLOCK
from centime.change.rule import ANYWHERE, MASK, Rule
from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.words import Column, Words
from centime.parse.words import ATTRIBUTE, mixed

GAP = 0x6A9  # in a sequence, in place of the words that a mask covers
MOST_GAPS = 8
MERGED = 4
LEAST_EQUAL = 0.4  # share of equal words below which masks make no sense
LONGEST_COMPARED = 3_000  # words that differ, beyond which all of a place is volatile
NARROW = (1 << 32) - 1  # of a word: enough to see whether two are the same
_OF_BLOCKS = 1 << 54  # marks the left surroundings of a gap of whole blocks
_TWO_WORDS = 1 << 55  # marks right surroundings of two words


def masked(sequence: Column, masks: list[Rule], attribute: bool) -> tuple[Column, list[int]]:
    """A sequence with GAP in place of the words that masks cover, and the hash of the words of each mask, 0 if it
    covers none."""
    if not masks:
        return sequence, []
    out = np.empty(2 * len(sequence), dtype=np.int64)
    hidden = np.zeros(len(masks), dtype=np.int64)
    surroundings = np.array([(rule.left, rule.right, rule.most) for rule in masks], dtype=np.int64)
    count = _mask(sequence, surroundings, attribute, out, hidden)
    return out[:count], hidden.tolist()


def masks_between(
    before: Column, after: Column, place: int, attribute: bool, *, apart: int = MERGED, words_right: int = 1
) -> list[Rule] | None:
    """The masks under which two sequences are alike, with the surroundings in the first; None if too little would stay.

    Gaps with fewer than `apart` equal words between them are one. The second sequence may have NARROW words.
    """
    a, b = (before & NARROW).tolist(), (after & NARROW).tolist()
    gaps = _gaps(a, b, attribute, apart)
    if gaps is None:
        return None
    found = []
    for i, j, k, m in gaps:
        blocks = BLOCK in a[i:j] or BLOCK in b[k:m] or (a[i - 1] == BLOCK and j < len(a) and a[j] == BLOCK)
        if blocks and i <= 1 and j >= len(a) - 1:
            return None
        left = int(_blocks_left(before, i)) if blocks else int(_left(before, i, attribute))
        right = int(_blocks_right(before, j)) if blocks else int(_right(before, j, words_right))
        marks = (BLOCK, GAP)
        inside = not blocks and not attribute and i >= 2 and j < len(a)
        surrounded = inside and a[i - 1] not in marks and a[i - 2] not in marks and a[j] not in marks
        found.append(Rule(ANYWHERE if surrounded else place, MASK, left, right, 2 * max(j - i, m - k) + 4))
    return found


def _gaps(a: list[int], b: list[int], attribute: bool, apart: int) -> list[list[int]] | None:
    """Where two sequences differ: begin and end in the first, begin and end in the second."""
    begin = 0
    while begin < min(len(a), len(b)) and a[begin] == b[begin]:
        begin += 1
    end = 0
    while end < min(len(a), len(b)) - begin and a[-1 - end] == b[-1 - end]:
        end += 1
    x, y = a[begin : len(a) - end], b[begin : len(b) - end]
    if len(x) + len(y) > LONGEST_COMPARED:
        return None
    equal = begin + end
    gaps: list[list[int]] = []
    for kind, i, j, k, m in SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if kind == "equal":
            equal += j - i
            continue
        i, j, k, m = i + begin, j + begin, k + begin, m + begin
        if gaps and i - gaps[-1][1] < (apart // 2 if attribute else apart) and BLOCK not in a[gaps[-1][1] : i]:
            gaps[-1][1], gaps[-1][3] = j, m
        else:
            gaps.append([i, j, k, m])
    if equal < LEAST_EQUAL * max(len(a), len(b)) or len(gaps) > MOST_GAPS * (1 + attribute):
        return None
    return gaps


def places_around(words: Words, rules: list[Rule]) -> list[int]:
    """The places on which masks that apply ANYWHERE may cover something."""
    return sorted(set(words.places[ends_of_lefts(words, *rules)].tolist()))


def ends_of_lefts(words: Words, *rules: Rule) -> Column:
    """The last words before the gaps of masks that apply ANYWHERE."""
    lefts = np.unique(np.array([rule.left for rule in rules], dtype=np.int64))
    found = np.empty(len(words), dtype=np.int64)
    return found[: _find_lefts(words.places, words.blocks, words.words, lefts, found)]


@late_kernel(0.5)
def _find_lefts(places: Column, blocks: Column, words: Column, lefts: Column, found: Column) -> Whole:
    count = np.int64(0)
    for at in range(2, len(words) + 1):
        if blocks[at - 1] != blocks[at - 2] or places[at - 1] != places[at - 2] or blocks[at - 1] & ATTRIBUTE:
            continue
        left = mixed(mixed(1, words[at - 1]), words[at - 2])
        for number in range(len(lefts)):
            if lefts[number] == left:
                found[count] = at - 1
                count += 1
                break
    return count


@bare_inlined
def _left(sequence: Column, at: Whole, attribute: bool) -> Whole:
    """The surroundings before a gap inside a block."""
    found = np.int64(1)
    for back in range(1, 2 if attribute else 3):
        if at - back < 0:
            break
        found = mixed(found, np.int64(sequence[at - back]))
        if sequence[at - back] == BLOCK:
            break
    return found


@bare_inlined
def _right(sequence: Column, at: Whole, words: Whole) -> Whole:
    """The surroundings after a gap inside a block."""
    if at >= len(sequence):
        return np.int64(BLOCK)
    if words == 1 or sequence[at] == BLOCK or at + 1 >= len(sequence):
        return np.int64(sequence[at])
    return mixed(np.int64(sequence[at]), np.int64(sequence[at + 1])) | np.int64(_TWO_WORDS)


@bare_inlined
def _blocks_left(sequence: Column, at: Whole) -> Whole:
    """The surroundings before a gap of whole blocks."""
    first, second = np.int64(0), np.int64(0)
    if at > 1:
        first = np.int64(sequence[at - 2])
    if at > 0:
        second = np.int64(sequence[at - 1])
    return mixed(mixed(2, first), second) | np.int64(_OF_BLOCKS)


@bare_inlined
def _blocks_right(sequence: Column, at: Whole) -> Whole:
    """The surroundings after a gap of whole blocks."""
    first, second = np.int64(0), np.int64(0)
    if at < len(sequence):
        first = np.int64(sequence[at])
    if at + 1 < len(sequence):
        second = np.int64(sequence[at + 1])
    return mixed(mixed(3, first), second)


@late_kernel(1.0)
def _mask(sequence: Column, masks: npt.NDArray[np.int64], attribute: bool, out: Column, hidden: Column) -> Whole:
    """Writes the masked sequence and the hashes of what each mask covers; returns the length of the sequence."""
    size = len(sequence)
    count = np.int64(0)
    at = np.int64(0)
    while at < size:
        covered, by = np.int64(-1), np.int64(0)
        if at > 0:
            left, blocks_left = _left(sequence, at, attribute), _blocks_left(sequence, at)
            for number in range(len(masks)):
                of_blocks = masks[number, 0] & _OF_BLOCKS != 0
                if masks[number, 0] != (blocks_left if of_blocks else left):
                    continue
                for end in range(at, min(size, at + masks[number, 2] + 1)):
                    if of_blocks:
                        if _blocks_right(sequence, end) == masks[number, 1]:
                            covered = np.int64(end)
                            break
                    else:
                        words = 2 if masks[number, 1] & _TWO_WORDS != 0 else 1
                        if _right(sequence, end, words) == masks[number, 1]:
                            covered = np.int64(end)
                            break
                        if sequence[end] == BLOCK:
                            break
                if covered >= 0:
                    by = np.int64(number)
                    break
        if covered >= 0:
            out[count] = GAP
            count += 1
            hidden[by] = mixed(hidden[by], GAP)
            while at < covered:
                hidden[by] = mixed(hidden[by], sequence[at])
                at += 1
        out[count] = sequence[at]
        count += 1
        at += 1
    return count
