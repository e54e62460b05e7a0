"""Section 3.1: the page that Greedy reads holds 2/n of all cash on average, the page that Random reads 1/n.

If cash arrives evenly until a page is read with the cash a, the page holds a/2 on average over time. All cash is 1, so
the mean over the n pages is 1/n = a/2. The cash of the page read is what advances the clock G, so the mean cash of the
pages read is the advance of the clock divided by the visits. It is measured over each tenth of a crawl (thin lines) and
over all visits so far, in units of 1/n.
"""

from matplotlib.figure import Figure

from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import LOOKS, draw_line, name_lines, new_picture
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import Strategy
from centime.model.graph import Graph

CRAWLS = 10
PARTS = 10  # of a crawl
STRATEGIES: dict[str, Strategy] = {"OPIC greedy": "greedy", "OPIC random": "random"}


def run(web: Graph, seed: int, step: Step) -> Findings:
    """Measures the mean cash of the pages read in each tenth of a crawl, in units of 1/n."""
    rows: list[Row] = []
    clocks: dict[str, list[float]] = {}
    for name, strategy in STRATEGIES.items():
        ledger = OpicLedger(damping=DAMPING, seed=seed)
        ledger.join(web.pages)
        clock = [0.0]
        for part in range(1, CRAWLS * PARTS + 1):
            made = web.pages * part // PARTS
            visits = made - web.pages * (part - 1) // PARTS
            ledger.explore(web, visits, strategy)
            clock.append(ledger.turnovers)
            cash = {
                "cash_in_1_over_n": (clock[-1] - clock[-2]) * web.pages / visits,
                "cash_so_far_in_1_over_n": clock[-1] * web.pages / made,
            }
            rows.append({"algorithm": name, "visits": made, "visits_in_n": part / PARTS, **cash})
            step(1 / PARTS / CRAWLS / len(STRATEGIES))
        clocks[name] = clock[::PARTS]
    table = [
        {"crawl": crawl} | {name: round(clock[crawl] - clock[crawl - 1], 3) for name, clock in clocks.items()}
        for crawl in range(1, CRAWLS + 1)
    ]
    return Findings(rows, "mean cash of the page read, in units of 1/n", table)


def draw(findings: Findings) -> Figure:
    """Draws the mean cash of the pages read over the visits."""
    curves = {name: [row for row in findings.rows if row["algorithm"] == name] for name in STRATEGIES}
    greedy, random = (curve[-1]["cash_so_far_in_1_over_n"] for curve in curves.values())
    figure, (axes,) = new_picture(
        f"Mean cash of the page read, over {CRAWLS} crawls:\n"
        f"Greedy {greedy:.2f}/n (the paper's argument gives 2/n), Random {random:.2f}/n (1/n)"
    )
    for name, curve in curves.items():
        visits = [row["visits_in_n"] for row in curve]
        axes.plot(
            visits,
            [row["cash_in_1_over_n"] for row in curve],
            color=LOOKS[name].colour,
            linewidth=0.7,
            alpha=0.6,
            label="_thin",
        )
        draw_line(axes, name, visits, [row["cash_so_far_in_1_over_n"] for row in curve])
    axes.set(
        xlim=(0, CRAWLS),
        xlabel="visits, in crawls of all n pages",
        ylabel="mean cash of the page read, in units of 1/n",
    )
    axes.set_ylim(bottom=0)
    name_lines(axes)
    return figure


EXPERIMENTS = {"greedy-cash": Experiment(run, draw)}
