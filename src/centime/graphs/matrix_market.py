"""Matrix Market files (`.mtx`, also compressed): a heading, comments, the size, then one entry per line.

Rows and columns are numbered from 1.
Entry (i, j) is a link from page i to page j; its value is the weight of the link. The reader accepts square matrices in
coordinate form with pattern, real or integer values, general or symmetric; a symmetric file has each pair of links
once. The writer (`text_writer.py`) writes general matrices.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from centime.graphs.edges import LinkLines
from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT

HEADING = re.compile(
    rb"%%MatrixMarket\s+matrix\s+coordinate\s+(pattern|real|double|integer)\s+(general|symmetric)\s*", re.IGNORECASE
)
SIZE = re.compile(rb"\s*([0-9]{1,10})\s+([0-9]{1,10})\s+([0-9]{1,18})\s*")


class MatrixMarket:
    """The links of a Matrix Market file."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Reads the heading and the size; `known` are the names of the pages."""
        self.name = str(path)
        self.known = known
        heading, size, at = _head(path)
        self.pages, self.entries = int(size[1]), int(size[3])
        self.symmetric = heading[2].lower() == b"symmetric"
        self.lines = LinkLines(path, at, weighted=heading[1].lower() != b"pattern")

    @property
    def done(self) -> float:
        """The share of the file that has been read."""
        return self.lines.text.done

    def declared(self) -> Declared:
        """The number of rows."""
        return Declared(self.pages, 1)

    def names(self) -> PageNames | None:
        """The names from the sidecar file."""
        return None if self.known is None else self.known.names()

    def blocks(self) -> Iterator[Links]:
        """The entries in the order of the file, in both directions if the matrix is symmetric."""
        entries = 0
        for block in self.lines.numbered(1, self.pages):
            entries += len(block.sources)
            yield _both_ways(block) if self.symmetric else block
        if entries != self.entries:
            raise BadGraph(f"{self.name}: the file has {entries} entries, but its size line declares {self.entries}")


def _head(path: Path) -> tuple[re.Match[bytes], re.Match[bytes], int]:
    """The parsed heading, the parsed size line, and the byte offset of the entries."""
    at, heading = 0, None
    for number, line in enumerate(TextFile(path).lines(), 1):
        at += len(line)
        if number == 1:
            heading = HEADING.fullmatch(line)
        if heading is None:
            kinds = "pattern, real or integer, general or symmetric"
            raise BadGraph(f"{path}, line 1: expected %%MatrixMarket matrix coordinate, then {kinds}")
        if line.strip() and not line.startswith(b"%"):
            size = SIZE.fullmatch(line)
            if size is None or int(size[1]) != int(size[2]) or int(size[1]) > LARGEST_PAGE_COUNT:
                most = f"of at most {LARGEST_PAGE_COUNT} rows"
                raise BadGraph(f"{path}, line {number}: expected rows, columns and entries of a square matrix {most}")
            return heading, size, at
    raise BadGraph(f"{path}: the file ends before the size of the matrix")


def _both_ways(block: Links) -> Links:
    apart = block.sources != block.targets
    sources = np.concatenate([block.sources, block.targets[apart]])
    targets = np.concatenate([block.targets, block.sources[apart]])
    weights = None if block.weights is None else np.concatenate([block.weights, block.weights[apart]])
    return Links(sources, targets, weights)
