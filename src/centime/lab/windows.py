"""Figures 4, 5 and 6: a web that changes while it is crawled, and how much of the past OPIC should remember.

In the time of N visits, a share of the pages (the change rate) have their in-degree halved or doubled
(`synthetic/changing_web.py`), in 20 steps so that the change is spread over the crawl. All ledgers read the same web:
first forty times while it does not change, to fill the windows, then ten times while it changes. At the end of each of
the last three crawls the estimates are compared with the true importance at that moment; the mean of the three errors
is the steady error.

OPIC reads greedily, as in the paper. A month is the time of N visits. Windows measure time by the clock G, in turnovers
of all cash; a first run measures how many turnovers make a month, about 2 (Section 3.1).

The exact ledger has no window: it knows the last links of each page. "exact balanced" reads half of the time in a
cycle, because greedy alone never returns to a page that owes nothing. "exact by worth" is settled and reads the page of
the largest worth (`reader`).

On a small web, some steps change no page, but no change is lost: the number of pages changed so far is rounded, not the
number of one step.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial

from matplotlib.figure import Figure

from centime.lab.error import mean_error, true_importance
from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import draw_line, name_lines, new_picture, plain_ticks, say
from centime.lab.reader import Reader
from centime.lab.synthetic.graphs import changed
from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import FixedWindow, ImprovedFixedWindow, Interpolation, VariableWindow, Window
from centime.ledger.opic import OpicLedger
from centime.model.graph import Graph

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5)
CRAWLS_BEFORE = 40
CRAWLS = 10
MEASURED = 3
STEPS = 20  # of change in each crawl

WINDOWS: dict[str, Callable[[float], Window | None]] = {
    "OPIC greedy": lambda month: None,
    "Fixed": lambda month: FixedWindow(8 * month),
    "Improved Fixed": lambda month: ImprovedFixedWindow(4 * month, minimum=3),
    "Variable 4": lambda month: VariableWindow(4),
    "Variable 8": lambda month: VariableWindow(8),
    "Variable 16": lambda month: VariableWindow(16),
    "Interpolation": lambda month: Interpolation(4 * month),
}
SIZES = ("Variable 4", "Variable 8", "Variable 16", "Interpolation")
POLICIES = ("OPIC greedy", "Fixed", "Improved Fixed", "Variable 8", "Interpolation")
EXACT = ("exact balanced", "exact by worth")
SPOKEN = {
    "OPIC greedy": "no window",
    "Fixed": "Fixed, 8 months",
    "Improved Fixed": "Improved Fixed, 4 months",
    "Variable 4": "Variable, 4 measures",
    "Variable 8": "Variable, 8 measures",
    "Variable 16": "Variable, 16 measures",
    "Interpolation": "Interpolation, 4 months",
}


def run(web: Graph, seed: int, step: Step, windows: tuple[str, ...]) -> Findings:
    """Measures the steady error of every ledger at every change rate."""
    month = turnovers_of_a_month(web, seed)
    readers = {
        name: Reader(OpicLedger(damping=DAMPING, window=WINDOWS[name](month), seed=seed), "greedy", web.pages)
        for name in windows
    }
    readers["exact balanced"] = Reader(ExactLedger(damping=DAMPING, seed=seed), "balanced", web.pages)
    readers["exact by worth"] = Reader(ExactLedger(damping=DAMPING, seed=seed), "worth", web.pages)
    for reader in readers.values():
        for _ in range(CRAWLS_BEFORE):
            reader.read(web, web.pages)
        step(0.1 / len(readers))
    measures = {name: _measures(reader) for name, reader in readers.items()}
    rows: list[Row] = []
    table: list[Row] = []
    for rate in RATES:
        errors = _steady_errors(
            _changing(web, rate, seed), deepcopy(readers), lambda share: step(0.9 * share / len(RATES))
        )
        for name, error in errors.items():
            rows.append(
                {
                    "ledger": name,
                    "change_rate_percent": 100 * rate,
                    "error_percent": error,
                    "measures_per_page": measures[name],
                }
            )
        table.append(
            {"change rate, percent": 100 * rate} | {name: float(f"{error:.3g}") for name, error in errors.items()}
        )
    facts = {f"measures per page, {SPOKEN[name]}": measures[name] for name in windows}
    settings = {
        "month_in_turnovers": round(month, 2),
        "crawls_before": CRAWLS_BEFORE,
        "crawls": CRAWLS,
        "steps_of_change_per_crawl": STEPS,
    }
    return Findings(rows, "steady error, percent", table, facts, settings)


def turnovers_of_a_month(web: Graph, seed: int) -> float:
    """The turnovers in the time of N visits, once Greedy is in its steady state."""
    ledger = OpicLedger(damping=DAMPING, seed=seed)
    ledger.join(web.pages)
    ledger.explore(web, CRAWLS * web.pages, "greedy")
    before = ledger.turnovers
    ledger.explore(web, CRAWLS * web.pages, "greedy")
    return (ledger.turnovers - before) / CRAWLS


def _measures(reader: Reader) -> float | None:
    return round(reader.ledger.measures_per_page(), 2) if isinstance(reader.ledger, OpicLedger) else None


def _steady_errors(webs: Iterator[Graph], readers: Mapping[str, Reader], step: Step) -> dict[str, float]:
    """The mean error over the last crawls of readers that all read the same changing web."""
    errors = dict.fromkeys(readers, 0.0)
    importance = None
    for number, web in enumerate(webs, start=1):
        for reader in readers.values():
            reader.read(web, web.pages * number // STEPS - web.pages * (number - 1) // STEPS)
        if number % STEPS == 0 and number > STEPS * (CRAWLS - MEASURED):
            importance = true_importance(web, start=importance, error=1e-9)
            for name, reader in readers.items():
                reader.settle(1e-9)
                errors[name] += mean_error(reader.importance(), importance) / MEASURED
        step(1 / STEPS / CRAWLS)
    return errors


def _changing(web: Graph, rate: float, seed: int) -> Iterator[Graph]:
    """The web after each step of change, for all crawls."""
    pages = rate * web.pages / STEPS
    for number in range(STEPS * CRAWLS):
        chosen = round(pages * (number + 1)) - round(pages * number)
        if chosen:
            web = changed(web, chosen / web.pages, seed + number + 1)
        yield web


def draw(findings: Findings) -> Figure:
    """Draws the steady error over the change rate, a line for each ledger."""
    names = list(dict.fromkeys(row["ledger"] for row in findings.rows))
    middle = findings.table[RATES.index(0.1)]
    window = min((name for name in names if name not in EXACT), key=middle.__getitem__)
    figure, (axes,) = new_picture(
        f"Error on a web where a tenth of the pages changes in each crawl:\n"
        f"exact ledger {say(middle['exact balanced'])} %, by worth {say(middle['exact by worth'])} %, "
        f"best window ({SPOKEN[window]}) {say(middle[window])} %"
    )
    for name in names:
        rows = [row for row in findings.rows if row["ledger"] == name]
        draw_line(
            axes,
            name,
            [row["change_rate_percent"] for row in rows],
            [row["error_percent"] for row in rows],
            SPOKEN.get(name, name),
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="change rate: pages whose in-degree is halved or doubled in N visits, percent",
        ylabel="steady mean relative error, percent",
    )
    axes.set_xticks([100 * rate for rate in RATES])
    axes.minorticks_off()
    plain_ticks(axes.xaxis)
    plain_ticks(axes.yaxis)
    name_lines(axes)
    return figure


EXPERIMENTS = {
    "window-size": Experiment(partial(run, windows=SIZES), draw),
    "window-policy": Experiment(partial(run, windows=POLICIES), draw),
}
