"""The records of a WebGraph in BV format: the links of each page in order, coded relative to the page number and to
earlier rows.

The record of page x, after its out-degree D (nothing follows if D = 0):

    reference r          only with a window: the row of page x-r is copied in part; 0 for none
    block count, blocks  only if r > 0: lengths of runs of that row, copied and skipped in turn. The first may be 0, the
                         others are written minus 1; the rest after the last run is copied if the count is even
    interval count, then for each (left end, length)     only if links remain and there is a least interval length:
                         runs of consecutive pages; left ends as differences, the first relative to x with a sign
    residuals            the remaining links as differences minus 1, the first relative to x with a sign

`compressionflags` names the codes of out-degrees, references, block counts, blocks and residuals; intervals are always
in gamma. The records are decoded in order, so the `.offsets` file is not needed and a reference chain may have any
length.

Guaranteed: a stream that is cut off, mislabelled or corrupt gives rows that obey the format, or a fault with its place.
Nothing is read or written out of bounds. The work is bounded by the bits read and the links written.
"""

import numpy as np

from centime.graphs.webgraph.bits import Words, read_code, read_gamma
from centime.graphs.webgraph.properties import Properties
from centime.model.graph import Offsets, Targets
from centime.model.kernel import inlined, kernel

FAULTS = (
    "",
    "the out-degree is malformed or larger than the graph",
    "the reference leads out of the window or before the first page",
    "the copied blocks do not fit the row they refer to",
    "the copied links are more than the out-degree",
    "the intervals do not fit the out-degree or lead out of the graph",
    "a residual leads out of the graph or is cut off",
    "a link occurs twice",
    "there are more links than the properties declare",
)
GOOD, BAD_DEGREE, BAD_REFERENCE, BAD_BLOCKS, BAD_COPY, BAD_INTERVALS, BAD_RESIDUAL, TWICE, FULL = range(len(FAULTS))


def decode_rows(
    words: Words, end: int, properties: Properties, before: int, page: int, bit: int, offsets: Offsets, targets: Targets
) -> tuple[int, int, int]:
    """Decodes the records of `page` and the pages after it, from `bit` on, into the rows from position `before` on.

    The rows before `before` are those of the pages before `page`. Returns GOOD or a fault, the page after the last good
    one, and the bit where the rows or the faulty code end. FULL means that `targets` cannot hold the row of that page;
    the bit is then the start of its record.
    """
    codes = (
        properties.out_degrees,
        properties.references,
        properties.block_counts,
        properties.blocks,
        properties.residuals,
    )
    shape = (properties.pages, properties.window, properties.least_interval, properties.parameter)
    fault, row, bit = _decode(words, end, shape, codes, before, page - before, bit, offsets, targets)
    return int(fault), int(row) + page - before, int(bit)


@kernel
def _decode(
    words: Words,
    end: int,
    shape: tuple[int, ...],
    codes: tuple[int, ...],
    before: int,
    shift: int,
    bit: int,
    offsets: Offsets,
    targets: Targets,
) -> tuple[int, int, int]:
    """The kernel of `decode_rows`; row i belongs to page i + shift."""
    pages, window, least_interval, parameter = shape
    out_degree_code, reference_code, block_count_code, block_code, residual_code = codes
    scratch = np.empty(64, np.int32)  # the copied links of one row, then its intervals written out
    for row in range(before, len(offsets) - 1):
        page = row + shift
        place = int(offsets[row])
        record = bit
        degree, bit = read_code(words, bit, end, out_degree_code, parameter)
        if not 0 <= degree <= pages:
            return BAD_DEGREE, row, bit
        if degree > len(targets) - place:
            return FULL, row, record
        offsets[row + 1] = place + degree
        if degree == 0:
            continue
        if degree > len(scratch):
            scratch = np.empty(2 * degree, np.int32)

        reference = 0
        if window > 0:
            reference, bit = read_code(words, bit, end, reference_code, parameter)
            if not 0 <= reference <= min(window, page):
                return BAD_REFERENCE, row, bit
        copied = 0
        if reference > 0:
            source, source_end = int(offsets[row - reference]), int(offsets[row - reference + 1])
            blocks, bit = read_code(words, bit, end, block_count_code, parameter)
            if not 0 <= blocks <= source_end - source + 1:
                return BAD_BLOCKS, row, bit
            for block in range(blocks + 1):
                length = source_end - source
                if block < blocks:
                    length, bit = read_code(words, bit, end, block_code, parameter)
                    if length >= 0 and block > 0:
                        length += 1
                    if not 0 <= length <= source_end - source:
                        return BAD_BLOCKS, row, bit
                if block & 1 == 0:
                    if length > degree - copied:
                        return BAD_COPY, row, bit
                    for link in range(length):
                        scratch[copied + link] = targets[source + link]
                    copied += length
                source += length

        filled = copied
        if least_interval > 0 and filled < degree:
            intervals, bit = read_gamma(words, bit, end)
            if not 0 <= intervals <= degree:
                return BAD_INTERVALS, row, bit
            next_left = 0
            for interval in range(intervals):
                left, bit = read_gamma(words, bit, end)
                if left < 0:
                    return BAD_INTERVALS, row, bit
                left = page + _signed(left) if interval == 0 else next_left + left
                length, bit = read_gamma(words, bit, end)
                if length < 0 or left < 0:
                    return BAD_INTERVALS, row, bit
                length += least_interval
                if length > degree - filled or length > pages - left:
                    return BAD_INTERVALS, row, bit
                for link in range(length):
                    scratch[filled + link] = left + link
                filled += length
                next_left = left + length + 1

        copy, run, residuals = 0, copied, degree - filled
        residual = -1
        fresh = residuals > 0
        least = -1
        for link in range(place, place + degree):
            if fresh:
                gap, bit = read_code(words, bit, end, residual_code, parameter)
                if gap < 0:
                    return BAD_RESIDUAL, row, bit
                residual = page + _signed(gap) if residual < 0 else residual + gap + 1
                if not 0 <= residual < pages:
                    return BAD_RESIDUAL, row, bit
                fresh = False
            target = residual if residuals > 0 else pages
            taken = 0
            if copy < copied and scratch[copy] < target:
                target = int(scratch[copy])
                taken = 1
            if run < filled and scratch[run] < target:
                target = int(scratch[run])
                taken = 2
            if taken == 0:
                residuals -= 1
                fresh = residuals > 0
            elif taken == 1:
                copy += 1
            else:
                run += 1
            if target <= least:
                return TWICE, row, bit
            targets[link] = target
            least = target
    return GOOD, len(offsets) - 1, bit


@inlined
def _signed(natural: int) -> int:
    """0, 1, 2, 3, 4 ... as 0, -1, 1, -2, 2 ..."""
    return natural >> 1 if natural & 1 == 0 else -((natural + 1) >> 1)
