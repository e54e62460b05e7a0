"""Farms planted in real graphs: how many `promotion` finds, and how many of its findings are planted, beside two
baselines.

    python -m bench.promotion --graph cnr-2000.graph --graph hollins.dat

Eight shapes, and four for which no limit was chosen (`analyse/planting.py`), one farm for every 8 000 pages and no
fewer than eight, three seeds. Besides the graphs that are given, a generated web is used. The baselines rank targets,
and are given what a search does not have: the number of farms. They report as many pages as there are planted targets.

- spam mass: the share of a page's score that does not come from trusted pages, as in TrustRank: the hundredth of the
  pages that lead to most others (PageRank against the links), of pages with a score of ten times the mean;
- odd supporters: how much of a page's score comes from pages with the least score, as in SpamRank, where an honest
  page has supporters of all scores.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from bench.figure import Figure
from bench.report import Benchmarks, report
from centime.analyse.planting import HELD_OUT, SHAPES, Community, Planted, judge, plant
from centime.analyse.promotion import LEAST_GIVEN, promotions
from centime.analyse.transition import Pages, Vector, transition
from centime.graphs.files import read_graph
from centime.lab.synthetic.graphs import weblike
from centime.model.graph import Graph
from centime.rank.pagerank import pagerank

SEEDS = range(10, 13)
PAGES_PER_FARM = 8_000
LEAST_FARMS = 8
PROMISED = 0.9
TRUSTED = 100
GENERATED_PAGES = 100_000


def trusted_share(graph: Graph, scores: Vector) -> Vector:
    """1 - trust / score of each page: its spam mass."""
    leading = pagerank(graph.transpose(), error=1e-6).scores
    seeds = np.argsort(-leading, kind="stable")[: max(graph.pages // TRUSTED, 10)]
    start = np.zeros(graph.pages)
    start[seeds] = 1.0
    trust = pagerank(graph, error=1e-6, personalisation=start).scores
    return np.asarray(1.0 - trust / trust.sum() * scores.sum() / np.maximum(scores, 1e-12))


def poor_share(graph: Graph, scores: Vector) -> Vector:
    """The share of what links bring to each page that comes from pages with less than the median score."""
    sources = np.repeat(np.arange(graph.pages), graph.out_degree)
    paid = (scores / np.maximum(graph.out_degree, 1))[sources]
    poor = np.where(scores[sources] <= np.median(scores), paid, 0.0)
    given, all_given = (np.bincount(graph.targets, each, minlength=graph.pages) for each in (poor, paid))
    return np.asarray(given / np.maximum(all_given, 1e-12))


def suspects(graph: Graph, scores: Vector, oddness: Vector, count: int) -> list[Community]:
    """The oddest pages with at least the score of a promoted one, each with the pages that link to it."""
    candidates = np.flatnonzero(scores >= LEAST_GIVEN * scores.mean())
    turned = graph.transpose()
    chosen: Pages = candidates[np.argsort(-oddness[candidates], kind="stable")][:count]
    return [Community(np.array([page]), np.unique(turned.row(page)).astype(np.int64)) for page in chosen.tolist()]


def compare(graph: Graph, shapes: tuple[str, ...]) -> Iterator[Figure]:
    """Precision and recall over all seeds."""
    farms = max(graph.pages // PAGES_PER_FARM, LEAST_FARMS)
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    planted_farms = 0
    for seed in SEEDS:
        larger, planted = plant(graph, farms, seed, shapes)
        scores = pagerank(larger, normalisation="plain", error=1e-8).scores
        planted_farms += len(planted)
        for method, communities in _methods(larger, scores, planted).items():
            finding = judge(planted, communities)
            right[method] += finding.right
            found[method] += finding.found
            if method == "promotion":
                missed.update(finding.missed)
    for method in found:
        precision, recall = right[method] / max(found[method], 1), right[method] / planted_farms
        limit = PROMISED if method == "promotion" else None
        yield Figure(f"{method}, {planted_farms} farms: precision", precision, "", "at least", limit)
        yield Figure(f"{method}, {planted_farms} farms: recall", recall, "", "at least", limit)
    for shape, count in sorted(missed.items()):
        yield Figure(f"  not found by promotion: {shape}", float(count), "farms")


def _methods(graph: Graph, scores: Vector, planted: list[Planted]) -> dict[str, list[Community]]:
    count = sum(len(each.targets) for each in planted)
    return {
        "promotion": list(promotions(transition(graph), scores, 0.85)),
        "spam mass": suspects(graph, scores, trusted_share(graph, scores), count),
        "odd supporters": suspects(graph, scores, poor_share(graph, scores), count),
    }


def _measure(file: Path | None, shapes: tuple[str, ...]) -> Iterator[Figure]:
    return compare(weblike(GENERATED_PAGES, 0) if file is None else read_graph(file), shapes)


def _benchmarks(files: list[Path]) -> Benchmarks:
    return {
        f"{'generated web' if file is None else file.name}, {name}": partial(_measure, file, shapes)
        for file in (*files, None)
        for name, shapes in {"eight shapes": SHAPES, **{shape: (shape,) for shape in HELD_OUT}}.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.promotion", description=__doc__)
    parser.add_argument("--graph", type=Path, action="append", default=[], help="a real link graph; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    made = _benchmarks(chosen.graph)
    return report(made, list(made), as_json=chosen.json)


if __name__ == "__main__":
    raise SystemExit(main())
