"""Edge lists: text with one link per line, `from to` or `from to weight`, plain or compressed.

Pages are numbers, or names such as URLs. The first link decides for the whole file whether pages are names and whether
links have weights (`dialect.py`). Blanks, tabs or commas separate fields. Lines that start with # or % are comments;
empty lines are skipped; the first line that is neither may be a heading. Lines end in LF or CR LF; a byte order mark is
skipped.

Guaranteed: any other line is refused with its line number; the order of links within a row and repeated links are
kept. Named pages are numbered in the order of their first mention. Memory: a block of the file, and the names.

Trap: numbers in a file need not be page numbers, see `link_blocks.py`.
"""

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.graphs.dialect import dialect_of
from centime.graphs.fields import (
    COMMA,
    GOOD,
    NEWLINE,
    NOT_A_LINK,
    OUTSIDE,
    TAB,
    after_comments,
    end_of_line,
    next_name,
    next_number,
    next_weight,
    over_name_separator,
    over_separator,
)
from centime.graphs.link_blocks import Declared, Links
from centime.graphs.name_slots import Bytes
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import BLOCK, TextFile
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Offsets, Targets, Weights
from centime.model.kernel import kernel

MOST_LINKS = BLOCK // 4 + 1  # the shortest link has four bytes: a digit, a separator, a digit, an end of line
DECIMAL = re.compile(rb"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")

Odd = npt.NDArray[np.int64]


class EdgeList:
    """The links of an edge list."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Reads the first lines; `known` are the names of the first pages."""
        self.name = str(path)
        self.dialect = dialect_of(path)
        self.known = known
        self.table = None if not self.dialect.named else NameTable() if known is None else known
        self.lines = LinkLines(path, self.dialect.start, weighted=self.dialect.weighted)

    @property
    def done(self) -> float:
        """The share of the file that has been read."""
        return self.lines.text.done

    def declared(self) -> Declared:
        """The number of pages and the first number, if a comment of Centime or a list of names gives them."""
        if self.table is not None:
            return Declared(len(self.table), 0)
        pages = self.dialect.pages if self.known is None else len(self.known)
        return Declared(pages, None if pages is None else self.dialect.first)

    def names(self) -> PageNames | None:
        """The names in the order of first mention."""
        table = self.known if self.table is None else self.table
        return None if table is None else table.names()

    def blocks(self) -> Iterator[Links]:
        """The links in the order of the file."""
        if self.table is not None:
            return self.lines.named(self.table, self.dialect.separator)
        declared = self.declared()
        return self.lines.numbered(declared.first or 0, declared.pages)


class LinkLines:
    """The lines of a text file from byte offset `start`, each a link."""

    def __init__(self, path: Path, start: int, *, weighted: bool) -> None:
        """Reads nothing yet."""
        self.name = str(path)
        self.text = TextFile(path)
        self.start = start
        self.weighted = weighted
        self.line = 1

    def numbered(self, first: int = 0, pages: int | None = None) -> Iterator[Links]:
        """The links between numbers; they must be in the range from `first` of `pages` pages, if that is known."""
        room = Room(self.weighted)
        largest = LARGEST_PAGE_COUNT - 1 if pages is None else min(first + pages, LARGEST_PAGE_COUNT) - 1
        for block, start in self._blocks():
            fault, at, links = _read_numbers(block, start, first, largest, *room.arrays)
            if fault == OUTSIDE:
                allowed = f"among the {pages} pages from {first} on that the file declares"
                allowed = f"from 0 to {largest}" if pages is None else allowed
                raise BadGraph(f"{self._place(block, at)}: a page number is not {allowed}")
            yield self._links(fault, block, at, room, links, "two page numbers")

    def named(self, table: NameTable, separator: int) -> Iterator[Links]:
        """The links between names; adds new names to the table."""
        room = Room(self.weighted)
        between = {TAB: " with a tab between", COMMA: " with a comma between"}.get(separator, "")
        starts, ends = np.empty((2, 2 * MOST_LINKS), dtype=np.int64)
        for block, start in self._blocks():
            before = table.count
            fault, at, links = _read_names(block, start, separator, starts, ends, room.weights, room.odd)
            numbers = table.number(block, starts[: 2 * links], ends[: 2 * links])
            room.sources[:links], room.targets[:links] = numbers[0::2], numbers[1::2]
            wrong = table.first_not_text(before)
            if wrong is not None:
                place = self._place(block, max(0, block.tobytes().find(wrong)))
                raise BadGraph(f"{place}: the name {wrong!r} is not UTF-8 text")
            if links and numbers.min() < 0:
                raise BadGraph(f"{self.name}: the file changed while it was read")
            yield self._links(fault, block, at, room, links, f"two names{between}")

    def _blocks(self) -> Iterator[tuple[Bytes, int]]:
        self.line, skip = 1, self.start
        for block in self.text.blocks():
            yield block, min(skip, len(block))
            skip = max(0, skip - len(block))
            self.line += _newlines(block)

    def _links(self, fault: int, block: Bytes, at: int, room: "Room", links: int, expected: str) -> Links:
        if fault != GOOD:
            more = ", a weight" if self.weighted else ""
            raise BadGraph(f"{self._place(block, at)}: expected {expected}{more} and nothing else")
        for link in np.flatnonzero(room.odd[:links, 1]) if self.weighted else ():
            start, end = room.odd[link]
            word = block[start:end].tobytes()
            weight = float(word) if DECIMAL.fullmatch(word) else -1.0
            if not (isfinite(weight) and weight >= 0):
                shown = word[:40].decode("utf-8", "replace")
                raise BadGraph(
                    f"{self._place(block, start)}: a weight must be a finite number, zero or more, not {shown!r}"
                )
            room.weights[link] = weight
        return Links(room.sources[:links], room.targets[:links], room.weights[:links] if self.weighted else None)

    def _place(self, block: Bytes, at: int) -> str:
        return f"{self.name}, line {self.line + _newlines(block[:at])}"


class Room:
    """Arrays for the links of one block; `odd` has start and end of each weight that the caller must parse."""

    def __init__(self, weighted: bool) -> None:
        self.sources, self.targets = np.empty((2, MOST_LINKS), dtype=np.int32)
        self.weights = np.empty(MOST_LINKS if weighted else 0)
        self.odd = np.empty((MOST_LINKS if weighted else 0, 2), dtype=np.int64)
        self.arrays = (self.sources, self.targets, self.weights, self.odd)


def _newlines(block: Bytes) -> int:
    return int(np.count_nonzero(block == NEWLINE))


@kernel
def _read_numbers(
    text: Bytes, at: int, least: int, largest: int, sources: Targets, targets: Targets, weights: Weights, odd: Odd
) -> tuple[int, int, int]:
    """Parses the links of a block; returns the fault, its place and the number of links."""
    links = 0
    at = after_comments(text, at)
    while at < len(text):
        start = at
        source, at = next_number(text, at, least, largest)
        if source < 0:
            return -source, start, links
        at, separated = over_separator(text, at)
        if not separated:
            return NOT_A_LINK, start, links
        target, at = next_number(text, at, least, largest)
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
    text: Bytes, at: int, separator: int, starts: Offsets, ends: Offsets, weights: Weights, odd: Odd
) -> tuple[int, int, int]:
    """Finds the two names and the weight of each link; returns the fault, its place and the number of links."""
    links = 0
    at = after_comments(text, at)
    while at < len(text):
        line = at
        for end_point in range(2 * links, 2 * links + 2):
            starts[end_point], ends[end_point], at = next_name(text, at, separator)
            if ends[end_point] <= starts[end_point]:
                return NOT_A_LINK, line, links
            if end_point == 2 * links or len(weights) > 0:
                at, separated = over_name_separator(text, at, separator)
                if not separated:
                    return NOT_A_LINK, line, links
        if len(weights) > 0:
            weights[links], odd[links, 0], odd[links, 1], at = next_weight(text, at)
        at = end_of_line(text, at)
        if at < 0:
            return NOT_A_LINK, line, links
        links += 1
        at = after_comments(text, at)
    return GOOD, at, links
