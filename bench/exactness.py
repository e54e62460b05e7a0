"""A thousand million payments, and not a unit lost. (About ten minutes: only when asked for, `python -m bench
exactness`.)"""

from collections.abc import Iterator

from bench.figure import Figure
from centime.lab.synthetic.graphs import changed, power_law
from centime.ledger.exact import ExactLedger

PAYMENTS = 1_000_000_000
PAGES = 100_000


def exactness() -> Iterator[Figure]:
    """The web changes all the time, so that the payments are of every size; every unit is checked at the end."""
    web = power_law(PAGES, 0)
    ledger = ExactLedger()
    ledger.join(PAGES)
    turn = 0
    while ledger.payments < PAYMENTS:
        turn += 1
        web = changed(web, 0.01, turn)
        ledger.explore(web, min(10 * PAGES, PAYMENTS - ledger.payments), "balanced")
    ledger.check()
    yield Figure(
        "payments after which every unit is accounted for", float(ledger.payments), "", "at least", float(PAYMENTS)
    )
