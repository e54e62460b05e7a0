"""Section 3.1: the page that Greedy reads holds 2/n of all the cash on average, the one that Random reads 1/n.

If cash comes in evenly until a page is read with the cash a, the page holds a/2 in the mean over time. All cash is 1, so the mean over
the n pages is 1/n = a/2. What a page is read with is what moves the clock G, so the mean cash of the pages read is what the
clock has moved, over the visits. It is taken over each tenth of a crawl and shown in units of 1/n.
"""

from matplotlib.figure import Figure

from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import draw_line, name_lines, new_picture
from centime.ledger.opic import OpicLedger
from centime.ledger.order import Strategy
from centime.model.graph import Graph

CRAWLS = 10
PARTS = 10  # of a crawl
ORDERS: dict[str, Strategy] = {"OPIC greedy": "greedy", "OPIC random": "random"}


def run(web: Graph, seed: int, step: Step) -> Findings:
    """The mean cash of the pages read in each tenth of a crawl, in units of 1/n."""
    rows: list[Row] = []
    means = {}
    for name, order in ORDERS.items():
        ledger = OpicLedger(damping=DAMPING, seed=seed)
        ledger.join(web.pages)
        cash = []
        for part in range(1, CRAWLS * PARTS + 1):
            visits = web.pages * part // PARTS - web.pages * (part - 1) // PARTS
            before = ledger.turnovers
            ledger.explore(web, visits, order)
            cash.append((ledger.turnovers - before) * web.pages / visits)
            rows.append({"algorithm": name, "visits": web.pages * part // PARTS, "visits_in_n": part / PARTS, "cash_in_1_over_n": cash[-1]})
            step(1 / PARTS / CRAWLS / len(ORDERS))
        means[name] = [sum(cash[PARTS * crawl : PARTS * (crawl + 1)]) / PARTS for crawl in range(CRAWLS)]
    table = [{"crawl": crawl + 1} | {name: round(means[name][crawl], 4) for name in ORDERS} for crawl in range(CRAWLS)]
    return Findings(rows, "mean cash of the page read, in units of 1/n", table)


def draw(findings: Findings) -> Figure:
    """The mean cash of the pages read over the visits."""
    last = findings.table[-1]
    figure, (axes,) = new_picture(
        f"Cash of the page read, in the last of {CRAWLS} crawls:\n"
        f"Greedy {last['OPIC greedy']:.2f}/n (the paper's argument gives 2/n), Random {last['OPIC random']:.2f}/n"
    )
    for height in (1, 2):
        axes.axhline(height, color="#bbbbbb", linewidth=1, zorder=0)
    for name in ORDERS:
        rows = [row for row in findings.rows if row["algorithm"] == name]
        draw_line(axes, name, [row["visits_in_n"] for row in rows], [row["cash_in_1_over_n"] for row in rows])
    axes.set(xlim=(0, CRAWLS), xlabel="visits, in crawls of all n pages", ylabel="mean cash of the page read, in units of 1/n")
    axes.set_ylim(bottom=0)
    name_lines(axes)
    return figure


EXPERIMENTS = {"greedy-cash": Experiment(run, draw)}
