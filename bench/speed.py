"""Visits a second on one core, beside what the memory of this machine allows.

A visit of a page with k links changes k accounts at random places. The limit shown is a loop that does only that: k
random read-modify-writes of 16-byte accounts a visit, nothing else."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.figure import Figure, shortest
from centime.lab.synthetic.graphs import power_law
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.graph import Graph
from centime.model.kernel import kernel


@kernel
def touch(accounts: npt.NDArray[np.int64], targets: npt.NDArray[np.int32]) -> None:
    for link in range(len(targets)):
        accounts[np.uintp(targets[link]), 1] += 1


def limit(web: Graph) -> float:
    """Visits a second if a visit were only its random accesses."""
    accounts = np.zeros((web.pages, 2), dtype=np.int64)
    links = min(web.links, 20_000_000)
    targets = np.random.default_rng(0).permutation(web.targets[:links])
    touch(accounts, targets[:1])
    return links / web.links * web.pages / shortest(lambda: touch(accounts, targets), 3)


def visits_a_second(ledger: ExactLedger | OpicLedger, web: Graph, visits: int, repeats: int) -> float:
    return visits / shortest(lambda: ledger.explore(web, visits, "greedy"), repeats)


def speed(pages: int, promised: float) -> Iterator[Figure]:
    """The exact ledger and plain OPIC, greedy, every page known."""
    web = power_law(pages, 0)
    label = f"{pages:,} pages, {web.links / pages:.0f} links each".replace(",", " ")
    fastest = limit(web)
    exact = ExactLedger()
    exact.join(pages)
    first = pages / shortest(lambda: exact.explore(web, pages, "greedy"), 1)
    visits = max(pages // 10, 200_000)
    found = visits_a_second(exact, web, visits, 8)
    yield Figure(f"exact ledger, greedy, {label}", found, "visits/s", "at least", promised)
    yield Figure("  share of the random-access limit", found / fastest, "")
    yield Figure("  while every page is read for the first time", first, "visits/s")
    exact.check()
    opic = OpicLedger()
    opic.join(pages)
    opic.explore(web, pages, "greedy")
    yield Figure(f"OPIC, greedy, {label}", visits_a_second(opic, web, visits, 5), "visits/s")
