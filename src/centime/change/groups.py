"""The words of a page by place: the values of each place to compare, in one pass over the words.

For the words w1, w2 ... of one place, in the order of the page, with a mark before each block:

    ordered   hash of the sequence
    common    sum of the hashes of its blocks: the same in any order of the blocks

Neither depends on the place, so words that moved to another place as a whole are recognised there.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, late_kernel
from centime.model.words import Column, Words
from centime.parse.words import ATTRIBUTE, mixed

BLOCK = 0xB10C  # in a sequence before each block, and at its end
MOST_PLACES = 4_096  # further places count with one of these
_SLOTS = 8_192
_SUM = (1 << 53) - 1
_PLACE, _COUNT, _ORDERED, _COMMON, _OF_BLOCK, _LAST_BLOCK = range(6)


@dataclass(frozen=True, slots=True)
class Groups:
    """One entry per place of a page, in the order of their first words."""

    places: Column
    counts: Column  # words
    ordered: Column
    common: Column

    def index(self) -> dict[int, int]:
        """The position of each place."""
        return {place: at for at, place in enumerate(self.places.tolist())}


def groups_of(words: Words) -> Groups:
    """The places of a page, and the words at each."""
    room = min(len(words), MOST_PLACES)
    table = np.empty((6, room + 1), dtype=np.int64)
    slots = np.zeros(_SLOTS, dtype=np.int64)
    count = _group(words.places, words.blocks, words.words, table, slots)
    return Groups(table[_PLACE, :count], table[_COUNT, :count], table[_ORDERED, :count], table[_COMMON, :count])


def sequence_of(words: Words, place: int) -> tuple[Column, bool]:
    """The words of a place with a mark before each block and at the end, and whether they are those of an attribute."""
    at = np.flatnonzero(words.places == place)
    blocks = words.blocks[at]
    begins = np.flatnonzero(np.concatenate([[True], blocks[1:] != blocks[:-1]]))
    sequence: npt.NDArray[np.int64] = np.append(np.insert(words.words[at], begins, BLOCK), BLOCK)
    return sequence, bool(len(blocks) and blocks[0] & ATTRIBUTE)


def ordered_hash(sequence: Column) -> int:
    """The hash of a sequence, as `groups_of` computes it."""
    return int(_ordered(sequence))


def common_hash(sequence: Column) -> int:
    """The sum of the hashes of the blocks of a sequence, as `groups_of` computes it."""
    return int(_common(sequence))


@late_kernel(1.0)
def _group(places: Column, blocks: Column, words: Column, table: npt.NDArray[np.int64], slots: Column) -> Whole:
    count = np.int64(0)
    last_place, entry = np.int64(-1), np.int64(-1)
    room = table.shape[1] - 1
    for at in range(len(places)):
        place = places[at]
        if place != last_place:
            last_place = place
            slot = (place ^ (place >> 7)) % _SLOTS
            while slots[slot] != 0 and table[_PLACE, slots[slot] - 1] != place:
                slot = (slot + 1) % _SLOTS
            if slots[slot] == 0:
                if count < room:
                    slots[slot] = count + 1
                    entry = count
                    count += 1
                    table[_PLACE, entry] = place
                    table[_COUNT, entry] = table[_COMMON, entry] = table[_OF_BLOCK, entry] = 0
                    table[_ORDERED, entry] = 0
                    table[_LAST_BLOCK, entry] = -1
                else:
                    entry = room - 1
            else:
                entry = slots[slot] - 1
        block, word = blocks[at], words[at]
        if table[_LAST_BLOCK, entry] != block:
            table[_COMMON, entry] = (table[_COMMON, entry] + table[_OF_BLOCK, entry]) & _SUM
            table[_OF_BLOCK, entry] = BLOCK
            table[_LAST_BLOCK, entry] = block
            table[_ORDERED, entry] = mixed(table[_ORDERED, entry], BLOCK)
        table[_ORDERED, entry] = mixed(table[_ORDERED, entry], word)
        table[_OF_BLOCK, entry] = mixed(table[_OF_BLOCK, entry], word)
        table[_COUNT, entry] += 1
    for one in range(count):
        table[_COMMON, one] = (table[_COMMON, one] + table[_OF_BLOCK, one]) & _SUM
        table[_ORDERED, one] = mixed(table[_ORDERED, one], BLOCK)
    return count


@late_kernel(0.3)
def _ordered(sequence: Column) -> Whole:
    found = np.int64(0)
    for at in range(len(sequence)):
        found = mixed(found, sequence[at])
    return found


@late_kernel(0.3)
def _common(sequence: Column) -> Whole:
    found, of_block = np.int64(0), np.int64(0)
    for at in range(len(sequence)):
        if sequence[at] == BLOCK:
            found = (found + of_block) & _SUM
            of_block = np.int64(BLOCK)
        else:
            of_block = mixed(of_block, sequence[at])
    return found
