"""Edge lists: text with one link per line, two page numbers `from to`.

Numbers are separated by spaces, tabs or one comma. Lines that start with # or % are comments, empty lines are passed over, and the
first line that is neither may be a heading in words. Lines end in LF or CR LF.

Guaranteed: a line that is anything else is refused by its number; the order of links within a row and repeated links are kept.

Traps: pages are numbered from 0 when some number is 0, and from 1 otherwise: the file does not say. Every number up to the largest is
a page, whether a link names it or not, so numbers far larger than the list is long are refused rather than filled with empty pages.
"""

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, graph_from_links
from centime.model.kernel import inlined, kernel

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PAGES_PER_LINK = 100
PAGES_ALWAYS_ALLOWED = 1_000_000

GOOD, NOT_A_LINK, TOO_LARGE = 0, 1, 2
SPACE, TAB, RETURN, NEWLINE, COMMA, HASH, PERCENT, ZERO, NINE = (ord(character) for character in " \t\r\n,#%09")


def parse_edges(data: bytes, name: str) -> Graph:
    """The graph of an edge list; `name` is what errors call it."""
    text = np.frombuffer(data, dtype=np.uint8)[len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0 :]
    lines = data.count(b"\n") + 1
    numbers = np.empty((2, lines), dtype=np.int32)
    fault, line, links = _parse(text, LARGEST_PAGE_COUNT - 1, numbers)
    if fault == NOT_A_LINK:
        raise BadGraph(f"{name}, line {line}: expected two page numbers, nothing else")
    if fault == TOO_LARGE:
        raise BadGraph(f"{name}, line {line}: a page number is above {LARGEST_PAGE_COUNT - 1}")
    if links == 0:
        raise BadGraph(f"{name}: there is no link in the file")
    sources, targets = numbers[:, :links]
    largest = int(max(sources.max(), targets.max()))
    first = min(1, int(min(sources.min(), targets.min())))
    if largest > max(PAGES_ALWAYS_ALLOWED, PAGES_PER_LINK * links):
        raise BadGraph(f"{name}: page number {largest} is too large for {links} links; pages must be numbered without large gaps")
    return graph_from_links(largest + 1 - first, sources - first, targets - first)


@kernel
def _parse(text: npt.NDArray[np.uint8], largest: int, numbers: npt.NDArray[np.int32]) -> tuple[int, int, int]:
    """Reads every line into `numbers`; returns the fault, its line and the number of links."""
    length = len(text)
    at, line, links = 0, 0, 0
    heading_allowed = True
    while at < length:
        line += 1
        at = _after_blanks(text, at)
        words = at < length and not ZERO <= text[at] <= NINE
        comment = words and (text[at] == HASH or text[at] == PERCENT)
        empty = at == length or text[at] == NEWLINE
        if comment or empty or (words and heading_allowed):
            while at < length and text[at] != NEWLINE:
                at += 1
            at += 1
            heading_allowed = heading_allowed and (comment or empty)
            continue
        heading_allowed = False
        for number in range(2):
            if at == length or not ZERO <= text[at] <= NINE:
                return NOT_A_LINK, line, links
            value = np.int64(0)
            while at < length and ZERO <= text[at] <= NINE:
                value = value * 10 + np.int64(text[at]) - ZERO
                if value > largest:
                    return TOO_LARGE, line, links
                at += 1
            numbers[number, links] = value
            end = at
            at = _after_blanks(text, at)
            if number == 0:
                if at < length and text[at] == COMMA:
                    at = _after_blanks(text, at + 1)
                elif at == end:
                    return NOT_A_LINK, line, links
        if at < length and text[at] != NEWLINE:
            return NOT_A_LINK, line, links
        at += 1
        links += 1
    return GOOD, line, links


@inlined
def _after_blanks(text: npt.NDArray[np.uint8], at: int) -> int:
    """The place of the next byte that is no blank."""
    while at < len(text) and (text[at] == SPACE or text[at] == TAB or text[at] == RETURN):
        at += 1
    return at
