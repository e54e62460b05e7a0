"""Encodes the records of a WebGraph: the codes, and for each row the reference that gives the shortest record.

The format is that of `records.py` with the defaults of WebGraph: out-degrees, block counts, blocks and intervals in
gamma, references in unary, residuals in zeta_3; intervals of at least four pages; references at most seven rows back,
in chains of at most three.

The encoder tries every reference that the window allows and takes the shortest record, so no record is longer than
without a reference.
"""

import numpy as np

from centime.graphs.webgraph.bits import Words
from centime.model.graph import Offsets, Targets
from centime.model.kernel import Whole, inlined, kernel

WINDOW = 7
LEAST_INTERVAL = 4
DEEPEST = 3
K = 3
WORDS_PER_ROW, WORDS_PER_LINK = 8, 4  # more than the longest record without a reference needs


@inlined
def _width(number: Whole) -> int:
    """One less than the number of binary digits of a number above 0."""
    width = 0
    while number > 1:
        number >>= 1
        width += 1
    return width


@kernel
def _put(words: Words, bit: Whole, value: Whole, width: Whole) -> Whole:
    """Writes `width` bits, at most 64; returns the bit after them."""
    while width > 0:
        room = 32 - (bit & 31)
        part = min(room, width)
        chunk = (value >> (width - part)) & ((1 << part) - 1)
        words[bit >> 5] |= np.uint32(chunk << (room - part))
        bit += part
        width -= part
    return bit


@kernel
def _gamma(words: Words, bit: Whole, value: Whole) -> Whole:
    """Writes a gamma code, or only counts its bits if `words` is empty; returns the bit after it."""
    width = _width(value + 1)
    if len(words) == 0:
        return bit + 2 * width + 1
    return _put(words, bit + width, value + 1, width + 1)


@kernel
def _zeta(words: Words, bit: Whole, value: Whole) -> Whole:
    """Writes a zeta code, or only counts its bits if `words` is empty; returns the bit after it."""
    step = _width(value + 1) // K
    low = 1 << (step * K)
    width = step * K + K - 1
    short = (2 << width) - ((low << K) - low)
    rest = value + 1 - low
    if rest >= short:
        rest += short
        width += 1
    if len(words) == 0:
        return bit + step + 1 + width
    return _put(words, _put(words, bit, np.int64(1), step + 1), rest, width)


@inlined
def _natural(number: Whole) -> Whole:
    """0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ..."""
    return 2 * number if number >= 0 else -2 * number - 1


@kernel
def _write_record(
    words: Words,
    bit: Whole,
    page: Whole,
    row: Targets,
    reference: Whole,
    referred: Targets,
    blocks: Offsets,
    extra: Offsets,
) -> Whole:
    """Writes the record of a non-empty row with a given reference, or only counts its bits if `words` is empty.

    `blocks` and `extra` are scratch arrays. Returns the bit after the record.
    """
    bit = _gamma(words, bit, len(row))
    if len(words) > 0:
        _put(words, bit, np.int64(1), reference + 1)
    bit += reference + 1
    taken, block_count, run, extras = True, 0, 0, 0
    place = 0
    for target in referred:
        while place < len(row) and row[place] < target:
            extra[extras] = row[place]
            extras += 1
            place += 1
        same = place < len(row) and row[place] == target
        place += 1 if same else 0
        if same == taken:
            run += 1
        else:
            blocks[block_count] = run
            block_count += 1
            run = 1
            taken = same
    while place < len(row):
        extra[extras] = row[place]
        extras += 1
        place += 1
    if reference > 0:
        bit = _gamma(words, bit, block_count)
        for block in range(block_count):
            bit = _gamma(words, bit, blocks[block] - (1 if block > 0 else 0))
    if extras == 0:
        return bit

    intervals = 0
    for writing in range(2):
        if writing == 1:
            bit = _gamma(words, bit, intervals)
        place, after, found = 0, 0, 0
        while place < extras:
            length = 1
            while place + length < extras and extra[place + length] == extra[place] + length:
                length += 1
            if length >= LEAST_INTERVAL:
                if writing == 1:
                    left = extra[place]
                    bit = _gamma(words, bit, _natural(left - page) if found == 0 else left - after - 1)
                    bit = _gamma(words, bit, length - LEAST_INTERVAL)
                    after = left + length
                found += 1
            place += length
        intervals = found

    place, last = 0, np.int64(-1)
    while place < extras:
        length = 1
        while place + length < extras and extra[place + length] == extra[place] + length:
            length += 1
        if length < LEAST_INTERVAL:
            for step in range(length):
                target = extra[place + step]
                bit = _zeta(words, bit, _natural(target - page) if last < 0 else target - last - 1)
                last = target
        place += length
    return bit


@kernel
def encode_rows(
    offsets: Offsets, targets: Targets, before: int, shift: int, depths: Offsets, words: Words, bit: Whole
) -> Whole:
    """Writes the records of the rows from `before` on; returns the bit after them.

    Row i belongs to page i + shift and is sorted without repeats; the rows before `before` have been written. `depths`
    is the length of the reference chain of each row, given before `before` and filled in after it. The words from `bit`
    on must be zero and long enough.
    """
    rows = len(offsets) - 1
    longest = 1
    for row in range(rows):
        longest = max(longest, offsets[row + 1] - offsets[row])
    blocks = np.empty(longest + 1, np.int64)
    extra = np.empty(longest, np.int64)
    count_only = words[:0]
    nothing = targets[:0]
    start = np.int64(0)  # for a plain 0, numba would compile the callees once more, for that constant
    for row in range(before, rows):
        links = targets[offsets[row] : offsets[row + 1]]
        depths[row] = 0
        if len(links) == 0:
            bit = _gamma(words, bit, len(links))
            continue
        best: Whole = start
        shortest: Whole = start
        for reference in range(min(WINDOW, row) + 1):
            referred = targets[offsets[row - reference] : offsets[row - reference + 1]] if reference > 0 else nothing
            if reference == 0 or (len(referred) > 0 and depths[row - reference] < DEEPEST):
                length = _write_record(count_only, start, row + shift, links, reference, referred, blocks, extra)
                if reference == 0 or length < shortest:
                    best, shortest = reference, length
        referred = targets[offsets[row - best] : offsets[row - best + 1]] if best > 0 else nothing
        depths[row] = depths[row - best] + 1 if best > 0 else 0
        bit = _write_record(words, bit, row + shift, links, best, referred, blocks, extra)
    return bit
