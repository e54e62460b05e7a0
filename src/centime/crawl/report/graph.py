"""Writes the link graph of a crawl as text: an edge list that `centime rank` reads, or the ASCII form of WebGraph.

    NAME.txt         `# centime: numbers, N pages`, then one link per line, pages by number; compressed if `.gz` or
                     `.zst` follows
    NAME.graph-txt   N, then a line for each page 0, 1, ...: the numbers of the pages that it links to, sorted, with
                     blanks between them
    FILE.names       next to either: the URL of page i in line i + 1

Guarantee: the graph has all known pages, also those without links, and the links of each page are those that the ledger
pays. So the importance that `centime rank` computes with the same damping differs from the crawl's by at most the sum
of the two certified errors. (Except with --focus, which prefers some pages: a list of links cannot express that.) Both
files appear together, when they are complete.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState, rows_of
from centime.crawl.report.visits import batches
from centime.files.replacement import replacing_files
from centime.graphs.files import format_of
from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NamedGraph, PageNames
from centime.graphs.packed import packing
from centime.graphs.sidecar import sidecar
from centime.graphs.survey import Survey
from centime.graphs.text_writer import write_edges
from centime.model.errors import BadInput
from centime.model.graph import Graph
from centime.model.kernel import Whole, kernel
from centime.model.row_batch import Pages

LONGEST_NUMBER = 11  # digits and a blank
BLANK, NEWLINE, ZERO = ord(" "), ord("\n"), ord("0")

Step = Callable[[float], None]


def crawl_graph(opened: CrawlState) -> NamedGraph:
    """The link graph of a crawl with the URLs of its pages, for off-line ranking and analysis."""
    lengths, targets = [], []
    for _, counts, links in rows_of(opened.shard):
        lengths.append(counts)
        targets.append(links)
    if not lengths:
        raise BadInput(f"{opened.folder.path}: the crawl knows no page yet, so it has no graph")
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return NamedGraph(Graph(offsets, np.concatenate(targets)), PageNames.of(list(opened.shard.pages.texts.every())))


class CrawlLinks:
    """The links of a crawl with the interface of a graph file, with pages as numbers."""

    def __init__(self, opened: CrawlState) -> None:
        self.name = str(opened.folder.path)
        self.done = 0.0
        self._opened = opened

    def declared(self) -> Declared:
        """The number of pages."""
        return Declared(self._opened.shard.pages.count, 0)

    def names(self) -> PageNames | None:
        """None: the names are in a separate file."""
        return None

    def blocks(self) -> Iterator[Links]:
        """The links, sorted by source."""
        count = max(1, self._opened.shard.pages.count)
        for pages, lengths, targets in rows_of(self._opened.shard):
            self.done = int(pages[-1] + 1) / count
            yield Links(np.repeat(pages.astype(np.int32), lengths), targets)


def write_edge_list(opened: CrawlState, path: Path, step: Step = lambda done: None) -> int:
    """Writes an edge list and its names; returns the number of links. `step` receives each further share of the
    work.
    """
    if format_of(path) != "edges":
        raise BadInput(f"{path}: the name of an edge list ends in .txt, .tsv, .csv or .edges, then perhaps .gz or .zst")
    survey = Survey(CrawlLinks(opened), step, 0.4)
    with replacing_files(path) as files:
        write_edges(survey, files.new(path), ["", *path.suffixes])
        _write_names(opened, files.new(sidecar(path)))
    step(0.2)
    return survey.links


def write_ascii_graph(opened: CrawlState, path: Path, step: Step = lambda done: None) -> int:
    """Writes an ASCII WebGraph and its names; returns the number of links. `step` receives each further share of the
    work.
    """
    links, count = 0, opened.shard.pages.count
    with replacing_files(path) as files:
        with packing(files.new(path), path.suffix) as file:
            file.write(b"%d\n" % count)
            for pages, lengths, targets in rows_of(opened.shard):
                text = np.empty(len(pages) + LONGEST_NUMBER * len(targets), dtype=np.uint8)
                file.write(text[: _write_rows(lengths, targets, text)].data)
                links += len(targets)
                step(0.8 * len(pages) / count)
        _write_names(opened, files.new(sidecar(path)))
    step(0.2)
    return links


def _write_names(opened: CrawlState, path: Path) -> None:
    texts = opened.shard.pages.texts
    with path.open("wb") as file:
        for pages in batches(texts.count):
            file.write("".join(f"{url}\n" for url in texts.get_many(pages)).encode())


@kernel
def _write_rows(lengths: Pages, targets: npt.NDArray[np.int32], text: npt.NDArray[np.uint8]) -> Whole:
    """Writes the rows as lines of numbers; returns the length of the text."""
    at = np.int64(0)
    link = np.int64(0)
    for row in range(len(lengths)):
        for place in range(lengths[row]):
            if place > 0:
                text[at] = BLANK
                at += 1
            number = np.int64(targets[link])
            link += 1
            begin = at
            while number > 0 or at == begin:
                text[at] = ZERO + number % 10
                number //= 10
                at += 1
            text[begin:at] = text[begin:at][::-1].copy()
        text[at] = NEWLINE
        at += 1
    return at
