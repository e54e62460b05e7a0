"""A web discovered from three pages: how good importance is while most of the web is still unread, and how much it
helps to find important pages.

Four crawlers read the same web, each page once, and differ in which of the known, unread pages they read next:

- best first: those of largest importance in an exact ledger, settled before every choice;
- OPIC greedy: those with the most cash;
- breadth first: those found first;
- random order: any of them.

Measured during the crawl:

- the distance to the importance in the whole web, sum |x_i/n - X_i/N|, from 0 to 2, with n known pages of N, and
  x_i = 0 for pages not found yet. It depends on the unknown part of the web, which no bound can cover;
- for best first, the certified error that the ledger reports, and its true error against power iteration on the graph
  known at that time, in the same measure. The experiment stops if the bound is ever below the true error;
- the share of the important pages (the top tenth of the whole web) that were read, and the share that were found.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from centime.lab.error import Vector, top_pages, true_importance
from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import draw_line, name_lines, new_picture, whole_decades
from centime.lab.synthetic.discovery import Book, Choose, Discovery, Pages
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.errors import LedgerImbalance
from centime.model.graph import Graph

SEEDS = 3
THRESHOLD = 0.03  # a page that owes more than this multiple of the mean importance pays before the next choice
BATCHES = 200  # a batch is one 200th of the known pages
MOMENTS = (0.002, 0.005, 0.01, 0.02, 0.03, *(0.05 * k for k in range(1, 20)), 0.99)  # shares of the web read
SHOWN = (0.05, 0.1, 0.25, 0.5)


def _best_first(chance: np.random.Generator) -> tuple[Book, Choose]:
    ledger = ExactLedger(damping=DAMPING)

    def choose(unread: Pages, count: int) -> Pages:
        ledger.settle(threshold=THRESHOLD)
        return _largest(unread, ledger.importance(unread), count)

    return ledger, choose


def _opic_greedy(chance: np.random.Generator) -> tuple[Book, Choose]:
    ledger = OpicLedger(damping=DAMPING)
    return ledger, lambda unread, count: _largest(unread, ledger.cash(unread), count)


def _breadth_first(chance: np.random.Generator) -> tuple[Book, Choose]:
    return ExactLedger(damping=DAMPING), lambda unread, count: unread[:count]


def _random_order(chance: np.random.Generator) -> tuple[Book, Choose]:
    return ExactLedger(damping=DAMPING), lambda unread, count: chance.choice(unread, count, replace=False)


CRAWLERS: dict[str, Callable[[np.random.Generator], tuple[Book, Choose]]] = {
    "best first": _best_first,
    "OPIC greedy": _opic_greedy,
    "breadth first": _breadth_first,
    "random order": _random_order,
}


def run(web: Graph, seed: int, step: Step) -> Findings:
    """Measures each crawler at each moment."""
    importance = true_importance(web)
    top = top_pages(importance)
    seeds = np.random.default_rng(seed).choice(np.flatnonzero(web.out_degree > 0), SEEDS, replace=False)
    rows: list[Row] = []
    for name, crawler in CRAWLERS.items():
        ledger, choose = crawler(np.random.default_rng(seed))
        for known in _moments(Discovery(web, ledger, seeds), choose):
            rows.append({"crawler": name, **_measure(known, importance, top, certify=name == "best first")})
            step(1 / len(MOMENTS) / len(CRAWLERS))
    best = [row for row in rows if row["crawler"] == "best first"]
    return Findings(
        rows,
        "important pages read, in percent, when this share of the web is read",
        [
            {"crawler": name, **{f"{share:.0%}": _important_read(rows, name, share) for share in SHOWN}}
            for name in CRAWLERS
        ],
        facts={
            "pages_reached": best[-1]["pages_known"],
            "smallest_certified_over_true_error": min(
                (row["certified_error"] / row["true_error"] for row in best if row["true_error"] > 0), default=None
            ),
        },
        settings={"seeds": SEEDS, "settled_to": THRESHOLD},
    )


def _moments(known: Discovery, choose: Choose) -> Iterator[Discovery]:
    """The discovery at each moment, as far as pages can be reached."""
    for share in MOMENTS:
        goal = round(share * known.web.pages)
        while known.read < goal and len(known.unread):
            known.read_next(min(max(1, known.known // BATCHES), goal - known.read), choose)
        if known.read < goal:
            return
        yield known


def _measure(known: Discovery, importance: Vector, top: Pages, certify: bool) -> Row:
    ledger = known.ledger
    if isinstance(ledger, ExactLedger):
        ledger.settle(threshold=THRESHOLD)
    estimate = ledger.importance()
    share = np.zeros(known.web.pages)
    share[known.found[: known.known]] = estimate / known.known
    number = known.number[top]
    found = number >= 0
    row: dict[str, float | None] = {
        "pages_read": known.read,
        "read_percent": 100 * known.read / known.web.pages,
        "pages_known": known.known,
        "important_read_percent": 100 * float(np.mean(found & ~np.isin(number, known.unread))),
        "important_found_percent": 100 * float(found.mean()),
        "distance_to_whole_web": float(np.abs(share - importance / known.web.pages).sum()),
        "true_error": None,
        "certified_error": None,
    }
    if certify and isinstance(ledger, ExactLedger):
        true, bound = (
            float(np.abs(estimate - true_importance(known.known_graph(), start=estimate)).mean()),
            ledger.error(),
        )
        if bound < true:
            raise LedgerImbalance(
                f"after {known.read} pages the certified error {bound} is below the true error {true}"
            )
        row |= {"true_error": true, "certified_error": bound}
    return row


def _largest(pages: Pages, values: Vector, count: int) -> Pages:
    return pages[np.argpartition(-values, count - 1)[:count]]


def _important_read(rows: Sequence[Row], name: str, share: float) -> float | None:
    percents = [
        row["important_read_percent"] for row, moment in zip(_of(rows, name), MOMENTS, strict=False) if moment >= share
    ]
    return round(percents[0], 1) if percents else None


def _of(rows: Sequence[Row], crawler: str) -> list[Row]:
    return [row for row in rows if row["crawler"] == crawler]


def draw(findings: Findings) -> Figure:
    """Draws over the pages read: the error on the known graph, the distance to the whole web, and the important pages
    read.
    """
    tenth = [f"{row['crawler']} {row['10%']} %" for row in findings.table if row["10%"] is not None]
    figure, panels = new_picture(f"Important pages read when a tenth of the web is read:\n{', '.join(tenth)}", panels=3)
    known, whole, important = panels
    best = _of(findings.rows, "best first")
    pages = [row["read_percent"] for row in best]
    for column, name, dashes in (("certified_error", "certified", ":"), ("true_error", "true", "-")):
        draw_line(known, "best first", pages, [row[column] for row in best], name, dashes)
    for name in CRAWLERS:
        rows = _of(findings.rows, name)
        pages = [row["read_percent"] for row in rows]
        draw_line(whole, name, pages, [row["distance_to_whole_web"] for row in rows])
        draw_line(important, name, pages, [row["important_read_percent"] for row in rows])
    whole_decades(known, [row[column] for row in best for column in ("certified_error", "true_error")])
    known.set_ylabel("error for the links known (best first), mean over pages")
    whole_decades(whole, [row["distance_to_whole_web"] for row in findings.rows])
    whole.set_ylabel("distance to the importance of the whole web (0 to 2)")
    important.set(ylim=(0, 100), ylabel="important pages read, percent of all important pages")
    for axes in panels:
        axes.set(xlim=(0, 100), xlabel="pages read, percent of the web")
        name_lines(axes)
    return figure


EXPERIMENTS = {"growth": Experiment(run, draw)}
