"""The error of importance, by the lab's own experiments at 100 000 pages, held against what was promised."""

from collections.abc import Iterator

from bench.figure import Figure
from centime.lab.experiment import carry_out
from centime.lab.windows import EXACT

PAGES = 100_000
EXACT_GREEDY = "exact greedy"


def static_error() -> Iterator[Figure]:
    """A web that does not change: after ten crawls, and beside off-line iteration from the second crawl on."""
    table = carry_out("convergence", PAGES, 0).findings.table
    last = table[-1]
    yield Figure(
        f"exact ledger, greedy, {PAGES} pages, mean error after 10 N visits", last[EXACT_GREEDY], "%", "at most", 1e-6
    )
    for name in ("off-line", "OPIC greedy", "OPIC cycle", "OPIC random"):
        yield Figure(f"  {name}, at equal reads", last[name], "%")
    worst = max(row[EXACT_GREEDY] / row["off-line"] for row in table[1:])
    yield Figure("  largest error over off-line's at equal reads, 2 N to 10 N", worst, "times", "at most", 1.0)


def changing_error() -> Iterator[Figure]:
    """Webs that change: the exact ledger's error over that of the best window, at every rate up to 20 %."""
    size, policy = (carry_out(name, PAGES, 0).findings.table for name in ("window-size", "window-policy"))
    for one, other in zip(size, policy, strict=True):
        row = {**one, **other}
        rate = row.pop("change rate, percent")
        best = min((name for name in row if name not in EXACT), key=row.__getitem__)
        limit = 0.2 if rate <= 20 else None
        yield Figure(f"change rate {rate:g} %: best window ({best})", row[best], "%")
        for name in EXACT:
            yield Figure(f"  {name}", row[name], "%")
        least = min(row[name] for name in EXACT)
        yield Figure(
            "  exact ledger over the best window", least / row[best], "times", "at most" if limit else "beside", limit
        )
