"""Figures 2 and 3: how fast the algorithms converge on a web that does not change, over the first ten crawls.

All pages are known at the start and none has been read. After every N visits the estimate of each algorithm is compared
with the true importance (`error`). One off-line iteration reads every page once, so it counts as N visits.

"last crawl" is OPIC with the history of the last crawl only: what each page received during it. The cash that was
distributed at the start is then forgotten. For Cycle this is an iteration of the matrix, as the paper says, with the
newest values at once.

"exact settled" is the exact ledger read in a cycle, which pays all debts along the rows it knows before each
measurement. That reads no page, so it costs no visit. Once every page has been read, only rounding errors are left.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from matplotlib.figure import Figure

from centime.lab.error import Among, Vector, mean_error, true_importance
from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import draw_line, name_lines, new_picture, say
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import Strategy
from centime.model.graph import Graph
from centime.rank.power import power_steps

CRAWLS = 10


def _opic(web: Graph, seed: int, strategy: Strategy, last_crawl: bool = False) -> Iterator[Vector]:
    ledger = OpicLedger(damping=DAMPING, seed=seed)
    ledger.join(web.pages)
    before = ledger.importance()  # H + C, in units of the mean cash
    for _ in range(CRAWLS):
        ledger.explore(web, web.pages, strategy)
        received = ledger.importance() * (ledger.turnovers + 1 - ledger.purse)
        yield (received - before) / (received - before).mean() if last_crawl else ledger.importance()
        before = received


def _exact(web: Graph, seed: int, strategy: Strategy, settled: bool = False) -> Iterator[Vector]:
    ledger = ExactLedger(damping=DAMPING, seed=seed)
    ledger.join(web.pages)
    for _ in range(CRAWLS):
        ledger.explore(web, web.pages, strategy)
        if settled:
            ledger.settle(error=1e-14)
        yield ledger.importance()


def _off_line(web: Graph, seed: int) -> Iterator[Vector]:
    return (step.scores for step in islice(power_steps(web, DAMPING), CRAWLS))


ALGORITHMS: dict[str, Callable[[Graph, int], Iterator[Vector]]] = {
    "OPIC random": partial(_opic, strategy="random"),
    "OPIC greedy": partial(_opic, strategy="greedy"),
    "OPIC cycle": partial(_opic, strategy="cycle"),
    "OPIC greedy, last crawl": partial(_opic, strategy="greedy", last_crawl=True),
    "OPIC cycle, last crawl": partial(_opic, strategy="cycle", last_crawl=True),
    "off-line": _off_line,
    "exact greedy": partial(_exact, strategy="greedy"),
    "exact cycle": partial(_exact, strategy="cycle"),
    "exact settled": partial(_exact, strategy="cycle", settled=True),
}


def run(web: Graph, seed: int, step: Step, among: Among) -> Findings:
    """Measures the error of each algorithm after each crawl."""
    importance = true_importance(web)
    rows: list[Row] = []
    table: list[dict[str, float]] = [{"visits in N": crawl + 1} for crawl in range(CRAWLS)]
    for algorithm, estimates in ALGORITHMS.items():
        for crawl, estimate in enumerate(estimates(web, seed)):
            error = mean_error(estimate, importance, among)
            rows.append(
                {
                    "algorithm": algorithm,
                    "visits": (crawl + 1) * web.pages,
                    "visits_in_n": crawl + 1,
                    "error_percent": error,
                }
            )
            table[crawl][algorithm] = float(f"{error:.3g}")
            step(1 / CRAWLS / len(ALGORITHMS))
    return Findings(
        rows,
        "mean relative error, percent",
        table,
        settings={"error_among": "all pages" if among == "all" else "the top tenth"},
    )


def draw(findings: Findings) -> Figure:
    """Draws the error over the visits, a line for each algorithm."""
    curves = {name: [row for row in findings.rows if row["algorithm"] == name] for name in ALGORITHMS}
    last = findings.table[-1]
    figure, (axes,) = new_picture(
        f"Error of importance, {findings.settings['error_among']}, after {CRAWLS} N visits:\n"
        f"exact ledger {say(last['exact greedy'])} %, off-line {say(last['off-line'])} %, "
        f"OPIC greedy {say(last['OPIC greedy'])} %"
    )
    for name, curve in curves.items():
        draw_line(axes, name, [row["visits_in_n"] for row in curve], [row["error_percent"] for row in curve])
    axes.set(
        yscale="log",
        xticks=range(1, CRAWLS + 1),
        xlabel="visits, in crawls of all N pages",
        ylabel="mean relative error, percent",
    )
    name_lines(axes)
    return figure


EXPERIMENTS = {
    "convergence": Experiment(partial(run, among="all"), draw),
    "convergence-top": Experiment(partial(run, among="top"), draw),
}
