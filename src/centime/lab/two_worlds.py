"""Two worlds: how much earlier a crawl with `--want xml` finds XML pages, on webs where 2 % of the pages are XML.

Four crawlers read the same web from the same pages, each page once:

- interest: the shard of the crawler with `want=xml`, so HTML pages are ordered by the pages that they lead to;
- importance: the same shard without it;
- breadth first: pages found first;
- random order: any known page.

XML pages are pages without links, as most are, in one of these shapes:

- clustered: most pages that some listings link to are XML; nothing else is. The URLs say nothing;
- spread: any pages, wherever they are. The URLs say nothing, so the place of the next one cannot be predicted;
- spread, named: the same, but nine in ten XML pages have URLs that end with .xml, as have as many others.

Each shape is drawn RUNS times with other XML pages and other first pages. Measured:

- the share of the XML pages that can be reached which were read, and the pages read until half of them were;
- for `interest`, the certified error of the interest that the shard keeps, and its true error against the off-line
  interest of the links known at that time. The experiment stops if the bound is ever below the true error.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.graph import crawl_graph, linked_pages
from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import draw_line, name_lines, new_picture
from centime.lab.synthetic.weblike import host_starts
from centime.model.address import fingerprint
from centime.model.errors import InterestBroken
from centime.model.graph import Graph
from centime.model.outcome import Outcome, PageKind
from centime.rank.interest import interest as offline_interest
from centime.shard.message import Visit, pack
from centime.shard.shard import Shard

RUNS = 3
SHARE = 0.02  # of the pages are XML
CLUSTERED = 0.8  # of the pages without links that a listing of XML links to
NAMED = 0.9  # of the XML pages, in the third shape
SEEDS = 3
BATCH = 16
MOMENTS = (0.01, 0.02, *(k / 20 for k in range(1, 20)), 0.99)  # shares of the pages that can be reached
SHOWN = (0.05, 0.1, 0.25, 0.5)
SHAPES = ("clustered", "spread", "spread, named")
CRAWLERS = ("interest", "importance", "breadth first", "random order")

Pages = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Web(NamedTuple):
    """A web of which some pages are XML, and the first pages that a crawl knows."""

    graph: Graph
    is_xml: Flags
    urls: list[str]
    seeds: Pages


def web_of(graph: Graph, shape: str, seed: int, run: int) -> Web:
    """The web of a shape; `seed` is that of the graph, so that hosts are those of a weblike one."""
    chance = np.random.default_rng([seed, run])
    leaves = graph.out_degree == 0
    wanted = max(1, round(SHARE * graph.pages))
    is_xml = np.zeros(graph.pages, dtype=np.bool_)
    if shape == "clustered":
        for page in chance.permutation(np.flatnonzero(graph.out_degree > 0)).tolist():
            under = graph.targets[graph.offsets[page] : graph.offsets[page + 1]]
            under = under[leaves[under]]
            if is_xml.sum() >= wanted:
                break
            if len(under) >= 5:
                is_xml[under[chance.random(len(under)) < CLUSTERED]] = True
    else:
        is_xml[chance.choice(np.flatnonzero(leaves), min(wanted, int(leaves.sum())), replace=False)] = True
    named = np.zeros(graph.pages, dtype=np.bool_)
    if shape == "spread, named":
        named = is_xml & (chance.random(graph.pages) < NAMED)
        named |= ~is_xml & (chance.random(graph.pages) < named.sum() / graph.pages)
    starts = host_starts(graph.pages, np.random.default_rng(seed))
    hosts = np.searchsorted(starts, np.arange(graph.pages), side="right") - 1
    urls = [
        f"http://h{host}.example/p{page}{'.xml' if name else ''}"
        for page, (host, name) in enumerate(zip(hosts.tolist(), named.tolist(), strict=True))
    ]
    return Web(graph, is_xml, urls, chance.choice(np.flatnonzero(graph.out_degree > 0), SEEDS, replace=False))


class Errors(NamedTuple):
    """The error of interest when a share of the web was read: the sum of all errors divided by the number of pages."""

    certified: float
    true: float


def order_of(web: Web, crawler: str, seed: int, errors: dict[float, Errors] | None = None) -> Pages:
    """The pages in the order in which a crawler reads them; `errors` receives those of its interest."""
    if crawler == "interest":
        return np.fromiter(_by_shard(web, errors, want="xml"), dtype=np.int64)
    if crawler == "importance":
        return np.fromiter(_by_shard(web), dtype=np.int64)
    chance = np.random.default_rng(seed) if crawler == "random order" else None
    return np.fromiter(_by_list(web, chance), dtype=np.int64)


def _by_list(web: Web, chance: np.random.Generator | None) -> Iterator[int]:
    """Reads the page found first, or by chance any known page."""
    known = web.seeds.tolist()
    is_known = np.zeros(web.graph.pages, dtype=np.bool_)
    is_known[known] = True
    first = 0
    while first < len(known):
        if chance is not None:
            place = int(chance.integers(first, len(known)))
            known[first], known[place] = known[place], known[first]
        page = known[first]
        first += 1
        yield page
        targets = _links(web, page)
        known += targets[~is_known[targets]].tolist()
        is_known[targets] = True


def _by_shard(web: Web, errors: dict[float, Errors] | None = None, **settings: str) -> Iterator[int]:
    """Reads the pages that the shard of the crawler leases."""
    read = 0
    prints = np.array([fingerprint(url) for url in web.urls], dtype=np.uint64)
    number = {url: page for page, url in enumerate(web.urls)}
    sent = np.zeros(web.graph.pages, dtype=np.bool_)
    seeds = [web.urls[page] for page in web.seeds.tolist()]
    with tempfile.TemporaryDirectory() as folder:
        given = {"scope": "any", "delay": 0.0, **settings}
        with open_writer(Path(folder) / "crawl", seeds, given) as opened:
            shard: Shard = opened.shard
            now = 1.0
            while leases := shard.lease(now, BATCH):
                now += 1.0
                visits = []
                for lease in leases:
                    page = number[lease.url]
                    yield page
                    targets = _links(web, page)
                    fresh = targets[~sent[targets]]
                    sent[targets] = True
                    visits.append(
                        Visit(
                            page=lease.page,
                            outcome=Outcome.READ,
                            kind=PageKind.XML if web.is_xml[page] else PageKind.HTML,
                            status=200,
                            asked_at=now,
                            seconds=0.01,
                            wire_bytes=1000,
                            signature=page + 1,
                            links=prints[targets].tobytes(),
                            fresh=prints[fresh].tobytes(),
                            texts="\n".join(web.urls[target] for target in fresh.tolist()).encode(),
                            shapes=b"",
                        )
                    )
                shard.record(now, [pack(visit) for visit in visits])
                read += len(visits)
                for share in SHOWN:
                    if errors is not None and share not in errors and read >= share * web.graph.pages:
                        found = _errors(opened)
                        errors |= {} if found is None else {share: found}


def _errors(opened: CrawlState) -> Errors | None:
    """The errors of interest now; None if no XML page is known yet."""
    interest, rows = opened.shard.interest, opened.shard.pages.rows
    certified = None if interest is None else interest.error(rows)
    if interest is None or certified is None:
        return None
    exact = offline_interest(
        crawl_graph(linked_pages(opened)).graph, interest.are_wanted().astype(np.float64), damping=DAMPING
    )
    true = float(np.abs(interest.scores() - exact.scores).mean())
    if true > certified + exact.certified_error:
        raise InterestBroken(f"the certified error of interest {certified} is below the true error {true}")
    return Errors(certified, true)


def _links(web: Web, page: int) -> Pages:
    return web.graph.targets[web.graph.offsets[page] : web.graph.offsets[page + 1]].astype(np.int64)


def run(graph: Graph, seed: int, step: Step) -> Findings:
    """Measures each crawler on each shape."""
    rows: list[Row] = []
    for shape in SHAPES:
        for number in range(RUNS):
            web = web_of(graph, shape, seed, number)
            for crawler in CRAWLERS:
                errors: dict[float, Errors] = {}
                order = order_of(web, crawler, seed, errors)
                named = {"shape": shape, "run": number, "crawler": crawler}
                rows += [{**named, **row} for row in _measure(web, order, errors)]
                step(1 / len(SHAPES) / RUNS / len(CRAWLERS))
    table = [_line(rows, shape, crawler) for shape in SHAPES for crawler in CRAWLERS]
    return Findings(
        rows,
        "XML pages read, in percent, when this share of the web is read; and the share at which half of them is",
        table,
        facts={
            f"{shape.replace(', ', '_')}_half_of_xml_earlier_than_by_importance": _earlier(table, shape)
            for shape in SHAPES
        }
        | {f"{kind}_error_of_interest_when_half_is_read": _error(rows, f"{kind}_error") for kind in Errors._fields},
        settings={"runs": RUNS, "xml_percent": 100 * SHARE, "seeds": SEEDS},
    )


def _measure(web: Web, order: Pages, errors: Mapping[float, Errors]) -> Iterator[Row]:
    """The pages that a crawl has read at each moment."""
    xml = np.cumsum(web.is_xml[order])
    reached = max(1, int(xml[-1]))
    half = 100 * (int(np.searchsorted(xml, reached / 2)) + 1) / len(order)
    for share in MOMENTS:
        read = max(1, round(share * len(order)))
        yield {
            "read_percent": 100 * share,
            "pages_read": read,
            "xml_reached": reached,
            "xml_read_percent": 100 * int(xml[read - 1]) / reached,
            "half_of_xml_at_percent": half,
            **{f"{kind}_error": getattr(errors.get(share), kind, None) for kind in Errors._fields},
        }


def _of(rows: Sequence[Row], shape: str, crawler: str) -> list[Row]:
    return [row for row in rows if row["shape"] == shape and row["crawler"] == crawler]


def _mean(rows: Sequence[Row], share: float, column: str) -> float:
    return float(np.mean([row[column] for row in rows if row["read_percent"] == 100 * share]))


def _line(rows: Sequence[Row], shape: str, crawler: str) -> Row:
    found = _of(rows, shape, crawler)
    shown = {f"{share:.0%}": round(_mean(found, share, "xml_read_percent"), 1) for share in SHOWN}
    half = [row["half_of_xml_at_percent"] for row in found if row["read_percent"] == 100 * MOMENTS[0]]
    return {
        "shape": shape,
        "crawler": crawler,
        **shown,
        "half at": round(float(np.mean(half)), 1),
        "half at, all runs": f"{min(half):.1f} to {max(half):.1f}",
    }


def _error(rows: Sequence[Row], column: str) -> float | None:
    """The mean error of interest when half of the web is read."""
    found = [row[column] for row in rows if row["read_percent"] == 100 * SHOWN[-1] and row[column] is not None]
    return float(f"{np.mean(found):.2g}") if found else None


def _earlier(table: Sequence[Row], shape: str) -> float:
    """By which factor fewer pages are read until half of the XML pages are."""
    half = {row["crawler"]: row["half at"] for row in table if row["shape"] == shape}
    return round(float(half["importance"]) / float(half["interest"]), 2)


def draw(findings: Findings) -> Figure:
    """Draws the share of XML pages read over the pages read, for each shape."""
    said = ", ".join(f"{shape} {_earlier(findings.table, shape)}" for shape in SHAPES)
    figure, panels = new_picture(
        f"Half of the XML pages, times earlier than by importance:\n{said}", panels=len(SHAPES)
    )
    for axes, shape in zip(panels, SHAPES, strict=True):
        for crawler in CRAWLERS:
            found = _of(findings.rows, shape, crawler)
            draw_line(
                axes,
                crawler,
                [100 * share for share in MOMENTS],
                [_mean(found, share, "xml_read_percent") for share in MOMENTS],
            )
        axes.set(xlim=(0, 100), ylim=(0, 100), xlabel="pages read, percent of the web")
        axes.set_ylabel(f"{shape}: XML pages read, percent")
        name_lines(axes)
    return figure


EXPERIMENTS = {"two-worlds": Experiment(run, draw)}
