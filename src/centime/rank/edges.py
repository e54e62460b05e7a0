"""Edge lists: text with one link per line, `from to` or `from to weight`, plain or packed.

Pages are numbers, or names such as URLs; the first link decides which for the whole file, and likewise whether links have weights.
Fields are separated by blanks, tabs or commas. Lines that start with # or % are comments, empty lines are passed over, and the first line
that is neither may be a heading. Lines end in LF or CR LF; a byte order mark is passed over. How the dialect is told: `dialect.py`.

Guaranteed: a line that is anything else is refused by its number; the order of links within a row and repeated links are kept. Named
pages are numbered in the order of their first mention.
Memory: a block of the file, and the names. Traps: see `links.py` for how numbers become pages.
"""

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Targets, Weights
from centime.model.kernel import kernel
from centime.rank.dialect import dialect_of
from centime.rank.fields import (
    COMMA,
    GOOD,
    NOT_A_LINK,
    TAB,
    after_comments,
    end_of_line,
    next_name,
    next_number,
    next_weight,
    over_name_separator,
    over_separator,
)
from centime.rank.links import Links, Told
from centime.rank.names import KEY, Bytes, NameTable, PageNames, Slots, number_of
from centime.rank.packed import BLOCK, line_blocks

MOST_LINKS = BLOCK // 4 + 1  # the shortest link has four bytes: a number, a separator, a number, an end of line
DECIMAL = re.compile(rb"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")

Odd = npt.NDArray[np.int64]


class EdgeList:
    """The links of an edge list."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Looks at the first lines; `known` are names whose numbers are fixed."""
        self.name = str(path)
        self.path = path
        self.dialect = dialect_of(path)
        self.table = (known or NameTable()) if self.dialect.named else None

    def told(self) -> Told:
        """The number of pages, if a comment of ours tells it; named pages are numbered from 0."""
        if self.table is not None:
            return Told(len(self.table), 0)
        return Told(self.dialect.pages, None if self.dialect.pages is None else 0)

    def names(self) -> PageNames | None:
        """The names in the order of first mention."""
        return None if self.table is None else self.table.names()

    def blocks(self) -> Iterator[Links]:
        """The links, in the order of the file."""
        dialect = self.dialect
        sources, targets = np.empty((2, MOST_LINKS), dtype=np.int32)
        weights = np.empty(MOST_LINKS if dialect.weighted else 0)
        odd = np.empty((MOST_LINKS if dialect.weighted else 0, 2), dtype=np.int64)
        line, skip = 1, dialect.start
        for block in line_blocks(self.path):
            start, skip = min(skip, len(block)), max(0, skip - len(block))
            if self.table is None:
                fault, at, links = _read_numbers(block, start, LARGEST_PAGE_COUNT - 1, sources, targets, weights, odd)
            else:
                fault, at, links = self._read_names(self.table, block, start, line, sources, targets, weights, odd)
            if fault != GOOD:
                raise BadGraph(f"{self.name}, line {_line(block, at, line)}: {self._sentence(fault)}")
            if dialect.weighted:
                self._read_odd_weights(block, line, weights[:links], odd[:links])
            yield Links(sources[:links], targets[:links], weights[:links] if dialect.weighted else None)
            line += _line(block, len(block), 0)

    def _read_names(
        self, table: NameTable, block: Bytes, start: int, line: int, sources: Targets, targets: Targets, weights: Weights, odd: Odd
    ) -> tuple[int, int, int]:
        table.make_room(2 * (_line(block, len(block), 0) + 1), len(block))
        before = table.count
        separator = self.dialect.separator
        fault, at, links, table.count = _read_names(
            block, start, separator, table.slots, table.heap, table.offsets, before, KEY, sources, targets, weights, odd
        )
        wrong = table.first_not_text(before)
        if wrong is not None:
            place = block.tobytes().find(wrong)
            raise BadGraph(f"{self.name}, line {_line(block, max(place, 0), line)}: the name {wrong!r} is not UTF-8 text")
        return fault, at, links

    def _read_odd_weights(self, block: Bytes, line: int, weights: Weights, odd: Odd) -> None:
        """Reads the weights that the kernel has left: long, with an exponent, or wrong."""
        for link in np.flatnonzero(odd[:, 1]):
            text = block[odd[link, 0] : odd[link, 1]].tobytes()
            weight = float(text) if DECIMAL.fullmatch(text) else -1.0
            if not (isfinite(weight) and weight >= 0):
                shown = text[:40].decode("utf-8", "replace")
                place = f"{self.name}, line {_line(block, int(odd[link, 0]), line)}"
                raise BadGraph(f"{place}: a weight must be a finite number, zero or more, not {shown!r}")
            weights[link] = weight

    def _sentence(self, fault: int) -> str:
        if fault != NOT_A_LINK:
            return f"a page number is above {LARGEST_PAGE_COUNT - 1}"
        pages = "two page numbers" if self.table is None else "two names"
        separator = {TAB: " with a tab between", COMMA: " with a comma between"}.get(self.dialect.separator, "")
        return f"expected {pages}{separator}{', a weight' if self.dialect.weighted else ''} and nothing else"


def _line(block: Bytes, at: int, line: int) -> int:
    """The number of the line in which byte `at` stands, if the block starts with line `line`."""
    return line + int(np.count_nonzero(block[:at] == ord("\n")))


@kernel
def _read_numbers(
    text: Bytes, at: int, largest: int, sources: Targets, targets: Targets, weights: Weights, odd: Odd
) -> tuple[int, int, int]:
    """Reads the links of a block; returns the fault, its place and the number of links."""
    links = 0
    at = after_comments(text, at)
    while at < len(text):
        start = at
        source, at = next_number(text, at, largest)
        if source < 0:
            return -source, start, links
        at, separated = over_separator(text, at)
        if not separated:
            return NOT_A_LINK, start, links
        target, at = next_number(text, at, largest)
        if target < 0:
            return -target, start, links
        if len(weights) > 0:
            at, separated = over_separator(text, at)
            if not separated:
                return NOT_A_LINK, start, links
            weights[links], odd[links, 0], odd[links, 1], at = next_weight(text, at)
        at = end_of_line(text, at)
        if at < 0:
            return NOT_A_LINK, start, links
        sources[links] = source
        targets[links] = target
        links += 1
        at = after_comments(text, at)
    return GOOD, at, links


@kernel
def _read_names(
    text: Bytes,
    at: int,
    separator: int,
    slots: Slots,
    heap: Bytes,
    offsets: Odd,
    count: int,
    key: int,
    sources: Targets,
    targets: Targets,
    weights: Weights,
    odd: Odd,
) -> tuple[int, int, int, int]:
    """Reads the links of a block and writes new names down; returns the fault, its place, the number of links and that of names."""
    links = 0
    at = after_comments(text, at)
    while at < len(text):
        line = at
        for end_point in range(2):
            start, end, at = next_name(text, at, separator)
            if end <= start:
                return NOT_A_LINK, line, links, count
            page = number_of(text, start, end, slots, heap, offsets, count, key)
            count = max(count, page + 1)
            if end_point == 0:
                sources[links] = page
            else:
                targets[links] = page
            if end_point == 0 or len(weights) > 0:
                at, separated = over_name_separator(text, at, separator)
                if not separated:
                    return NOT_A_LINK, line, links, count
        if len(weights) > 0:
            weights[links], odd[links, 0], odd[links, 1], at = next_weight(text, at)
        at = end_of_line(text, at)
        if at < 0:
            return NOT_A_LINK, line, links, count
        links += 1
        at = after_comments(text, at)
    return GOOD, at, links, count
