"""Bytes a page: the ledgers' own arrays, without the rows."""

from collections.abc import Iterator

from bench.figure import Figure
from centime.lab.synthetic.graphs import power_law
from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import Interpolation
from centime.ledger.opic import OpicLedger

PAGES = 1_000_000


def memory() -> Iterator[Figure]:
    """After a greedy exploration, so that the queue is there."""
    web = power_law(PAGES, 0)
    exact = ExactLedger()
    exact.join(PAGES)
    exact.explore(web, PAGES // 10, "greedy")
    yield Figure("exact ledger with its queue", exact.nbytes / PAGES, "bytes/page", "at most", 24.0)
    interpolation = OpicLedger(window=Interpolation(8.0))
    interpolation.join(PAGES)
    interpolation.explore(web, PAGES // 10, "cycle")
    yield Figure("Interpolation", interpolation.nbytes / PAGES, "bytes/page", "at most", 16.0)
