"""Reads the BV format of WebGraph: `name.graph`, a stream of records (`records.py`), and `name.properties`, which
describes its encoding.

Guaranteed: a file that is cut off, mislabelled or corrupt gives a graph that obeys the format, or `BadGraph` with the
place. Memory of `graph`: the graph, the file once (it is much smaller) and one row; of `blocks`: the file, a block and
the rows of the reference window.

Trap: a flipped bit may give another valid file, because WebGraph has no checksum.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import opened
from centime.graphs.webgraph.bits import FILE_ORDER, Words, words_from, words_of
from centime.graphs.webgraph.properties import Properties, parse_properties
from centime.graphs.webgraph.records import FAULTS, FULL, GOOD, decode_rows
from centime.model.errors import BadGraph
from centime.model.graph import Graph

PADDING_BITS = 64
BLOCK_ROWS = 1 << 16
BLOCK_LINKS = 1 << 18


class WebGraph:
    """The links of a `.graph` file with a `.properties` file."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Reads the file without decoding it; `known` are the names of the pages."""
        self.name = str(path)
        self.done = 0.0
        self.known = known
        with opened(path.with_suffix(".properties")) as file:
            properties = file.read().decode("latin-1")
        with opened(path) as file:
            self.size = path.stat().st_size
            self.words = words_from(file, self.size)
        self.properties = parse_properties(properties, self.name)
        _check_size(self.properties, self.size, self.name)

    def declared(self) -> Declared:
        """The number of pages."""
        return Declared(self.properties.pages, 0)

    def names(self) -> PageNames | None:
        """The names from the sidecar file."""
        return None if self.known is None else self.known.names()

    def graph(self) -> Graph:
        """The graph of all links, decoded directly into its arrays."""
        return _decode_all(self.words, self.size, self.properties, self.name)

    def blocks(self) -> Iterator[Links]:
        """The links, sorted by source."""
        pages, window = self.properties.pages, self.properties.window
        offsets = np.zeros(1, dtype=np.int64)
        targets = np.empty(BLOCK_LINKS, dtype=np.int32)
        page, bit, links = 0, 0, 0
        while page < pages:
            before = min(page, window, len(offsets) - 1)
            kept = offsets[len(offsets) - 1 - before :] - offsets[len(offsets) - 1 - before]
            targets[: kept[-1]] = targets[offsets[-1 - before] : offsets[-1]].copy()
            offsets = np.zeros(before + min(BLOCK_ROWS, pages - page) + 1, dtype=np.int64)
            offsets[: before + 1] = kept
            fault, after, bit = decode_rows(
                self.words, 8 * self.size, self.properties, before, page, bit, offsets, targets
            )
            if fault not in (GOOD, FULL):
                raise _broken(self.name, bit, self.size, int(after), FAULTS[fault])
            offsets = offsets[: before + after - page + 1]
            new = targets[offsets[before] : offsets[-1]]
            links += len(new)
            if links > self.properties.links:
                raise BadGraph(f"{self.name}, byte {bit // 8}, page {after}: {FAULTS[FULL]}")
            if fault == FULL and after == page:
                targets.resize(2 * len(targets), refcheck=False)
            self.done = after / pages
            sources = np.repeat(np.arange(page, after, dtype=np.int32), np.diff(offsets[before:]))
            yield Links(sources, new)
            page = after
        _check_end(self.words, self.size, self.properties, bit, links, self.name)


def read_webgraph(data: bytes, properties: str, name: str) -> Graph:
    """Decodes the bytes of a `.graph` file with the text of its properties; `name` is its name in error messages."""
    parsed = parse_properties(properties, name)
    _check_size(parsed, len(data), name)
    return _decode_all(words_of(data), len(data), parsed, name)


def _decode_all(words: Words, size: int, properties: Properties, name: str) -> Graph:
    offsets = np.zeros(properties.pages + 1, dtype=np.int64)
    try:
        targets = np.empty(properties.links, dtype=np.int32)
    except (MemoryError, ValueError):
        raise BadGraph(f"{name}: not enough memory for the {properties.links} links in the properties") from None
    fault, page, bit = decode_rows(words, 8 * size, properties, 0, 0, 0, offsets, targets)
    if fault != GOOD:
        raise _broken(name, bit, size, int(page), FAULTS[fault])
    _check_end(words, size, properties, bit, int(offsets[-1]), name)
    return Graph(offsets, targets)


def _broken(name: str, bit: int, size: int, page: int, fault: str) -> BadGraph:
    """The error of a record; a record that runs past the end of the file is cut off."""
    if bit > 8 * size:
        return BadGraph(f"{name}, byte {size}, page {page}: the file is cut off here")
    return BadGraph(f"{name}, byte {bit // 8}, page {page}: {fault}")


def _check_size(properties: Properties, size: int, name: str) -> None:
    if properties.pages > 8 * size:
        raise BadGraph(
            f"{name}: {size} bytes cannot hold {properties.pages} pages; "
            "the file is cut off, or the properties belong to another file"
        )


def _check_end(words: Words, size: int, properties: Properties, bit: int, links: int, name: str) -> None:
    place = f"{name}, byte {bit // 8}"
    if links != properties.links:
        raise BadGraph(
            f"{place}: the last page ends here with {links} links, but the properties declare {properties.links}"
        )
    rest = words[bit // 32 :].astype(FILE_ORDER).tobytes()[bit // 8 % 4 + 1 :]
    if 8 * size - bit >= PADDING_BITS or any(rest):
        raise BadGraph(
            f"{place}: the last page ends here, but the file has {size} bytes: the properties declare too few pages"
        )
