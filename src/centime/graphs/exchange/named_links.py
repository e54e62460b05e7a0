"""The links of a file whose reader gives them one by one, in blocks.

A reader yields `Edge` values: the line, the names of source and target, the weight, and whether the edge also leads
back. An edge without a target only mentions a page. Memory: the names and one block.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

BLOCK_EDGES = 1 << 14


class Edge(NamedTuple):
    """An edge of a file."""

    line: int
    source: str
    target: str | None = None
    weight: float = 1.0
    both_ways: bool = False


Reader = Callable[[TextFile], Iterator[Edge]]


class NamedLinks:
    """The links that a reader finds in a text file, plain or compressed."""

    def __init__(self, path: Path, reader: Reader, known: NameTable | None = None) -> None:
        """Reads nothing yet; `known` are the names of the first pages."""
        self.name = str(path)
        self.text = TextFile(path)
        self.reader = reader
        self.table = NameTable() if known is None else known

    @property
    def done(self) -> float:
        """The share of the file that has been read."""
        return self.text.done

    def declared(self) -> Declared:
        """The number of pages that have been mentioned."""
        return Declared(len(self.table), 0)

    def names(self) -> PageNames:
        """The names in the order of first mention."""
        return self.table.names()

    def blocks(self) -> Iterator[Links]:
        """The links in the order of the file."""
        block: list[Edge] = []
        for edge in self.reader(self.text):
            if not edge.source or edge.target == "":
                raise BadGraph(f"{self.name}, line {edge.line}: a page has no name")
            if not 0 <= edge.weight < np.inf:
                raise BadGraph(f"{self.name}, line {edge.line}: a weight must be a finite number, zero or more")
            block.append(edge)
            if len(block) == BLOCK_EDGES:
                yield self._links(block)
                block.clear()
        yield self._links(block)

    def _links(self, block: list[Edge]) -> Links:
        ends = [(edge.source, edge.source if edge.target is None else edge.target) for edge in block]
        numbers = self.table.add([name for pair in ends for name in pair]).reshape(-1, 2)
        if len(numbers) and numbers.min() < 0:
            raise BadGraph(f"{self.name}: the file changed while it was read")
        linked = np.array([edge.target is not None for edge in block], dtype=np.bool_)
        back = np.array([edge.both_ways and edge.source != edge.target for edge in block], dtype=np.bool_)
        weights = np.array([edge.weight for edge in block])
        return Links(
            np.concatenate([numbers[linked, 0], numbers[back, 1]]),
            np.concatenate([numbers[linked, 1], numbers[back, 0]]),
            np.concatenate([weights[linked], weights[back]]),
        )


def text_lines(text: TextFile) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; BadGraph if one is not UTF-8."""
    for number, line in enumerate(text.lines(), 1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError:
            raise BadGraph(f"{text.path}, line {number}: the line is not UTF-8 text") from None


def weight_of(text: TextFile, line: int, word: str) -> float:
    """The number of a word."""
    try:
        return float(word)
    except ValueError:
        raise BadGraph(f"{text.path}, line {line}: a weight must be a number, not {word[:40]!r}") from None
