"""A cold settle of a real graph to a certified error, beside scipy's power iteration to the same true error."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from bench.figure import Figure, shortest
from centime.lab.synthetic.graphs import graph_named
from centime.ledger.exact import ExactLedger
from centime.model.graph import Graph
from centime.rank.power import power_iteration

ERROR = 1e-6
DAMPING = 0.85


def scipy_scores(matrix: csr_array, out_degree: np.ndarray, iterations: int) -> np.ndarray:
    """Power iteration as everybody writes it."""
    pages = len(out_degree)
    scores = np.ones(pages)
    for _ in range(iterations):
        scores = DAMPING * (matrix @ (scores / out_degree))
        scores += (pages - scores.sum()) / pages
    return scores


def settle_cold(web: Graph) -> ExactLedger:
    """A ledger that has just read every page once, settled: all the work from nothing known to the certified error."""
    ledger = ExactLedger()
    ledger.join(web.pages)
    ledger.explore(web, web.pages, "cycle")
    ledger.settle(error=ERROR)
    return ledger


def settling(path: Path | None) -> Iterator[Figure]:
    """The real graph of a path, or one like it where there is none."""
    web = graph_named(str(path) if path else "weblike", 300_000, 0)
    exact = power_iteration(web, error=1e-13).scores
    ledger = settle_cold(web)
    true = float(np.abs(ledger.importance() - exact).sum() / web.pages)
    turned = web.transpose()
    matrix = csr_array((np.ones(web.links), turned.targets, turned.offsets), shape=(web.pages, web.pages))
    out_degree = np.maximum(1, web.out_degree)
    iterations = 1
    while np.abs(scipy_scores(matrix, out_degree, iterations) - exact).sum() / web.pages > true:
        iterations += 1
    ours, theirs = float("inf"), float("inf")
    for _ in range(5):
        ours = min(ours, shortest(lambda: settle_cold(web), 1))
        theirs = min(theirs, shortest(lambda: scipy_scores(matrix, out_degree, iterations), 1))
    name = path.stem if path else "a generated web"
    yield Figure(f"cold settle of {name} ({web.pages:,} pages) to a certified {ERROR}".replace(",", " "), ours, "s")
    yield Figure("  certified error (L1 over pages)", ledger.error(), "", "at most", ERROR)
    yield Figure("  true error", true, "", "at most", ledger.error())
    yield Figure(f"  scipy, {iterations} iterations to the same true error", theirs, "s")
    yield Figure("  time over scipy's", ours / theirs, "times", "at most", 2.0)
