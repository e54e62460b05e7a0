"""Writes the link graph of a crawl as text: an edge list that `centime rank` reads, or the ASCII form of WebGraph.

    NAME.txt         `# centime: numbers, N pages`, then one link per line, pages by number; compressed if `.gz` or
                     `.zst` follows
    NAME.graph-txt   N, then a line for each page 0, 1, ...: the numbers of the pages that it links to, sorted, with
                     blanks between them
    FILE.names       next to either: the URL of page i in line i + 1

Guarantee: the graph has all known pages, also those without links, and the links of each page are those that the ledger
pays. So the importance that `centime rank` computes with the same damping differs from the crawl's by at most the sum
of the two certified errors. (Except with --focus, which prefers some pages: a list of links cannot express that.) If
the crawl weighs links by kind, an edge list has their weights; the form of WebGraph has none. Both files appear
together, when they are complete.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
from centime.shard.state import ShardState
from centime.shard.weights.weighing import link_weights_of

LONGEST_NUMBER = 11  # digits and a blank
BLANK, NEWLINE, ZERO = ord(" "), ord("\n"), ord("0")

Step = Callable[[float], None]
Rows = tuple[Pages, npt.NDArray[np.int64], npt.NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class LinkedPages:
    """Pages by number and their links: those of a crawl, or of all its partitions together."""

    name: str
    count: int
    rows: Callable[[], Iterator[Rows]]  # as of `rows_of`
    urls: Callable[[], Iterator[list[str]]]
    hosts: "Callable[[], HostsOfPages] | None" = None  # if they are known without reading all URLs
    kinds: "Callable[[], Iterator[LinkFacts]] | None" = None  # of the same rows, if the crawl weighs links by kind


class HostsOfPages(NamedTuple):
    """The host of each page, by its place among the names, and the names of all hosts, with their schemes."""

    of_pages: npt.NDArray[np.int64]
    names: list[str]


class LinkFacts(NamedTuple):
    """The weights of links, and which of them ask not to be followed; None if the crawl does not keep that."""

    weights: npt.NDArray[np.float64]
    nofollow: npt.NDArray[np.bool_] | None


def linked_pages(opened: CrawlState) -> LinkedPages:
    """The pages of a crawl and their links."""
    shard = opened.shard
    return LinkedPages(
        str(opened.folder.path),
        shard.pages.count,
        lambda: rows_of(shard),
        lambda: (shard.pages.texts.get_many(pages) for pages in batches(shard.pages.count)),
        lambda: HostsOfPages(
            shard.hosts_of_pages(np.arange(shard.pages.count)).astype(np.int64), [host.name for host in shard.hosts.all]
        ),
        None if shard.link_kinds is None else lambda: (link_facts(shard, rows) for rows in rows_of(shard)),
    )


def link_facts(shard: ShardState, rows: Rows) -> LinkFacts:
    """The facts of the links of rows."""
    kinds = shard.link_kinds
    weights = link_weights_of(shard, *rows, dynamic=True)
    keeps = kinds is not None and kinds.weights.nofollow is not None
    return LinkFacts(weights, kinds.are_unfollowed(*rows) if kinds is not None and keeps else None)


def crawl_graph(linked: LinkedPages, *, weighed: bool = True) -> NamedGraph:
    """The link graph of a crawl with the URLs of its pages, for off-line ranking and analysis. Its links have the
    weights of the crawl unless `weighed` is false.
    """
    graph, nofollow = link_graph(linked, weighed=weighed)
    return NamedGraph(graph, PageNames.of([url for some in linked.urls() for url in some]), nofollow=nofollow)


def link_graph(linked: LinkedPages, *, weighed: bool = True) -> tuple[Graph, npt.NDArray[np.bool_] | None]:
    """The same without URLs, and which links ask not to be followed; None if the crawl does not keep that."""
    lengths, targets = [], []
    for _, counts, links in linked.rows():
        lengths.append(counts)
        targets.append(links)
    if not lengths:
        raise BadInput(f"{linked.name}: the crawl knows no page yet, so it has no graph")
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    if linked.kinds is None:
        return Graph(offsets, np.concatenate(targets)), None
    facts = list(linked.kinds())
    weights = np.concatenate([one.weights for one in facts]) if weighed else None
    unfollowed = [one.nofollow for one in facts if one.nofollow is not None]
    return Graph(offsets, np.concatenate(targets), weights), np.concatenate(unfollowed) if unfollowed else None


class CrawlLinks:
    """The links of a crawl with the interface of a graph file, with pages as numbers."""

    def __init__(self, linked: LinkedPages) -> None:
        self.name = linked.name
        self.done = 0.0
        self._linked = linked

    def declared(self) -> Declared:
        """The number of pages."""
        return Declared(self._linked.count, 0)

    def names(self) -> PageNames | None:
        """None: the names are in a separate file."""
        return None

    def blocks(self) -> Iterator[Links]:
        """The links, sorted by source."""
        count = max(1, self._linked.count)
        facts = None if self._linked.kinds is None else self._linked.kinds()
        for pages, lengths, targets in self._linked.rows():
            self.done = int(pages[-1] + 1) / count
            weights = None if facts is None else next(facts).weights
            yield Links(np.repeat(pages.astype(np.int32), lengths), targets, weights)


def write_edge_list(linked: LinkedPages, path: Path, step: Step = lambda done: None) -> int:
    """Writes an edge list and its names; returns the number of links. `step` receives each further share of the
    work.
    """
    if format_of(path) != "edges":
        raise BadInput(f"{path}: the name of an edge list ends in .txt, .tsv, .csv or .edges, then perhaps .gz or .zst")
    survey = Survey(CrawlLinks(linked), step, 0.4)
    with replacing_files(path) as files:
        write_edges(survey, files.new(path), ["", *path.suffixes])
        _write_names(linked, files.new(sidecar(path)))
    step(0.2)
    return survey.links


def write_ascii_graph(linked: LinkedPages, path: Path, step: Step = lambda done: None) -> int:
    """Writes an ASCII WebGraph and its names; returns the number of links. `step` receives each further share of the
    work.
    """
    links, count = 0, linked.count
    with replacing_files(path) as files:
        with packing(files.new(path), path.suffix) as file:
            file.write(b"%d\n" % count)
            for pages, lengths, targets in linked.rows():
                text = np.empty(len(pages) + LONGEST_NUMBER * len(targets), dtype=np.uint8)
                file.write(text[: _write_rows(lengths, targets, text)].data)
                links += len(targets)
                step(0.8 * len(pages) / count)
        _write_names(linked, files.new(sidecar(path)))
    step(0.2)
    return links


def _write_names(linked: LinkedPages, path: Path) -> None:
    with path.open("wb") as file:
        for urls in linked.urls():
            file.write("".join(f"{url}\n" for url in urls).encode())


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
