"""WebGraph's BV format: `name.graph`, a stream of codes, and `name.properties`, which says how it was written.

The record of page x, after its out-degree D (nothing follows when D = 0):

    reference r          only with a window: the row of page x-r is copied in part; 0 for none
    block count, blocks  only if r > 0: lengths of runs of that row, taken and passed over in turn, the first may be 0 and the
                         others are written less 1; what is after the last is taken if the count is even
    interval count, then for each (left end, length)     only if links are left and there is a least interval length:
                         runs of consecutive pages; left ends by difference, the first from x with a sign
    residuals            what is left, by difference less 1, the first from x with a sign

Which code writes out-degrees, references, block counts, blocks and residuals is in `compressionflags`; intervals are always in gamma.
The records are decoded in order, so the `.offsets` file is not needed and the reference chain may be of any length.

Guaranteed: a file that is cut off, mislabelled or corrupt gives a graph that obeys the format, or `BadGraph` with the place; nothing
is read or written out of bounds, and the work is bounded by the bits read and the links written.
Memory: the graph, the file three times over (it is much smaller), and one row.

Trap: a flipped bit may give another good file; WebGraph has no checksum.
"""

import numpy as np

from centime.model.errors import BadGraph
from centime.model.graph import Graph, Offsets, Targets
from centime.model.kernel import inlined, kernel
from centime.rank.bits import GAMMA, Words, read_code, words_of
from centime.rank.properties import parse_properties

PADDING_BITS = 64

FAULTS = (
    "",
    "the out-degree is broken or larger than the graph",
    "the reference leads out of the window or before the first page",
    "the copied blocks do not fit the row they refer to",
    "the copied links are more than the out-degree",
    "the intervals do not fit the out-degree or lead out of the graph",
    "a residual leads out of the graph or is cut off",
    "a link is named twice",
    "there are more links than the properties say",
)
GOOD, BAD_DEGREE, BAD_REFERENCE, BAD_BLOCKS, BAD_COPY, BAD_INTERVALS, BAD_RESIDUAL, TWICE, TOO_MANY = range(len(FAULTS))


def read_webgraph(data: bytes, properties: str, name: str) -> Graph:
    """The graph of the bytes of a `.graph` file and the text of its properties; `name` is what errors call it."""
    told = parse_properties(properties, name)
    end = 8 * len(data)
    if told.pages > end:
        raise BadGraph(f"{name}: {told.pages} pages cannot stand in {len(data)} bytes; the file is cut off or has another's properties")
    words = words_of(data)
    offsets = np.zeros(told.pages + 1, dtype=np.int64)
    try:
        targets = np.empty(told.links, dtype=np.int32)
    except (MemoryError, ValueError):
        raise BadGraph(f"{name}: there is no memory for the {told.links} links that the properties tell of") from None
    codes = (told.out_degrees, told.references, told.block_counts, told.blocks, told.residuals)
    fault, page, bit = _decode(words, end, told.window, told.least_interval, told.parameter, codes, offsets, targets)
    place = f"{name}, byte {bit // 8}"
    if fault != GOOD:
        raise BadGraph(f"{place}, page {page}: {FAULTS[fault]}")
    if offsets[-1] != told.links:
        raise BadGraph(f"{place}: the last page ends here with {offsets[-1]} links, but the properties tell of {told.links}")
    if end - bit >= PADDING_BITS or any(data[bit // 8 + 1 :]):
        raise BadGraph(f"{place}: the last page ends here, but the file goes on to byte {len(data)}: the properties tell of too few pages")
    return Graph(offsets, targets)


@kernel
def _decode(
    words: Words, end: int, window: int, least_interval: int, parameter: int, codes: tuple[int, ...], offsets: Offsets, targets: Targets
) -> tuple[int, int, int]:
    """Fills offsets and targets; returns the fault, its page and the bit where the code at fault, or the file, ends."""
    pages = len(offsets) - 1
    out_degree_code, reference_code, block_count_code, block_code, residual_code = codes
    scratch = np.empty(64, np.int32)  # the copied links of one row, then its intervals written out
    bit = 0
    for page in range(pages):
        place = int(offsets[page])
        degree, bit = read_code(words, bit, end, out_degree_code, parameter)
        if not 0 <= degree <= pages:
            return BAD_DEGREE, page, bit
        if degree > len(targets) - place:
            return TOO_MANY, page, bit
        offsets[page + 1] = place + degree
        if degree == 0:
            continue
        if degree > len(scratch):
            scratch = np.empty(2 * degree, np.int32)

        reference = 0
        if window > 0:
            reference, bit = read_code(words, bit, end, reference_code, parameter)
            if not 0 <= reference <= min(window, page):
                return BAD_REFERENCE, page, bit
        copied = 0
        if reference > 0:
            source, source_end = int(offsets[page - reference]), int(offsets[page - reference + 1])
            blocks, bit = read_code(words, bit, end, block_count_code, parameter)
            if not 0 <= blocks <= source_end - source + 1:
                return BAD_BLOCKS, page, bit
            for block in range(blocks + 1):
                length = source_end - source
                if block < blocks:
                    length, bit = read_code(words, bit, end, block_code, parameter)
                    if length >= 0 and block > 0:
                        length += 1
                    if not 0 <= length <= source_end - source:
                        return BAD_BLOCKS, page, bit
                if block & 1 == 0:
                    if length > degree - copied:
                        return BAD_COPY, page, bit
                    for link in range(length):
                        scratch[copied + link] = targets[source + link]
                    copied += length
                source += length

        filled = copied
        if least_interval > 0 and filled < degree:
            intervals, bit = read_code(words, bit, end, GAMMA, parameter)
            if not 0 <= intervals <= degree:
                return BAD_INTERVALS, page, bit
            next_left = 0
            for interval in range(intervals):
                left, bit = read_code(words, bit, end, GAMMA, parameter)
                if left < 0:
                    return BAD_INTERVALS, page, bit
                left = page + _signed(left) if interval == 0 else next_left + left
                length, bit = read_code(words, bit, end, GAMMA, parameter)
                if length < 0 or left < 0:
                    return BAD_INTERVALS, page, bit
                length += least_interval
                if length > degree - filled or length > pages - left:
                    return BAD_INTERVALS, page, bit
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
                    return BAD_RESIDUAL, page, bit
                residual = page + _signed(gap) if residual < 0 else residual + gap + 1
                if not 0 <= residual < pages:
                    return BAD_RESIDUAL, page, bit
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
                return TWICE, page, bit
            targets[link] = target
            least = target
    return GOOD, pages, bit


@inlined
def _signed(natural: int) -> int:
    """0, 1, 2, 3, 4 ... as 0, -1, 1, -2, 2 ..."""
    return natural >> 1 if natural & 1 == 0 else -((natural + 1) >> 1)
