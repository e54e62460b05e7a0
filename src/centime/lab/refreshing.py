"""Freshness by budget: rules that know all rates, in closed form, and policies that must learn them, simulated.

Known: at most 200 000 pages, lognormal rates and Pareto importance, every rate combined with every importance
(`known_web`). Learned: at most 1000 pages of the web with their importance, lognormal rates of which a part is common
to a host, and dates of change on half of the hosts. Every policy starts with one read of each page, has 100 days to
learn, and is measured over 50.

`webbox_history` is the history of changes of the simulated web, with the truth that the oracle knows. It includes what
servers claim: sites with an honest Last-Modified are `dated`; on the others (no date, the time of the request, a date
that never moves) a reader learns from the content only that a page has changed.
"""

import math
from statistics import NormalDist

import numpy as np
from matplotlib.figure import Figure

from centime.lab.error import true_importance
from centime.lab.experiment import Experiment, Findings, Row, Step
from centime.lab.picture import Look, name_lines, new_picture
from centime.lab.webbox.box import WebBox
from centime.lab.webbox.change_process import DAY, time_of
from centime.lab.webbox.layout import MODIFIED_MISSING, MODIFIED_NOW, MODIFIED_OLD, START, TRAITS, Layout, site_of
from centime.model.graph import Graph
from centime.model.kernel import kernel
from centime.refresh.settings import RefreshSettings
from centime.simulate.change_history import ChangeHistory, Numbers, Times, poisson_history
from centime.simulate.named import POLICIES, policy_named
from centime.simulate.rules import RULES, weighted_freshness
from centime.simulate.simulation import simulate

MEDIAN_RATE, SPREAD, EXPONENT = 0.0438, 2.025, 1.22  # of the known web
BUDGETS = (0.02, 0.05, 0.1, 0.3)  # reads per page and day
KNOWN_PAGES, LEARNED_PAGES, PAGES_A_HOST = 200_000, 1000, 50
LEARNED_RATE, LEARNED_SPREAD, HOST_SPREAD = 0.2, 1.3, 0.5
WARM_UP, DAYS, TICK = 100, 150, 4 * 3600.0

LOOKS = {
    "uniform": Look("#999999", "v"),
    "proportional": Look("#8c564b", "s", ":"),
    "square root": Look("#e08e00", "^"),
    "threshold": Look("#0072b2", "D"),
    "paper": Look("#e08e00", "^"),
    "nutch": Look("#cc5599", "P"),
    "storm": Look("#8c564b", "x"),
    "optimal": Look("#0072b2", "D"),
    "oracle": Look("#000000", "o", "--"),
}


def run(web: Graph, seed: int, step: Step) -> Findings:
    """Measures the freshness of every rule and policy under each budget."""
    rows: list[Row] = []
    importance, rates = known_web(min(KNOWN_PAGES, web.pages))
    for budget in BUDGETS:
        for name, rule in RULES.items():
            fresh = weighted_freshness(importance, rates, rule(importance, rates, budget * len(rates)))
            rows.append({"rates": "known", "policy": name, "budget": budget, "freshness": fresh, "age_days": None})
        step(0.5 / len(BUDGETS))
    history = learned_web(web, seed)
    for budget in BUDGETS:
        settings = RefreshSettings(budget=budget * history.pages / DAY)
        for name in POLICIES:
            policy = policy_named(name, history, settings)
            found = simulate(history, policy, settings.budget, warm=WARM_UP * DAY, tick=TICK)
            realised = {"freshness": float(found.freshness), "age_days": float(found.age_days)}
            rows.append({"rates": "learned", "policy": name, "budget": budget, **realised})
            step(0.5 / len(BUDGETS) / len(POLICIES))
    table = [
        {"rates": rates_are, "policy": name}
        | {
            f"{row['budget']:g}": round(row["freshness"], 3)
            for row in rows
            if (row["rates"], row["policy"]) == (rates_are, name)
        }
        for rates_are, names in (("known", RULES), ("learned", POLICIES))
        for name in names
    ]
    fixed = {
        "known_pages": len(rates),
        "learned_pages": history.pages,
        "warm_up_days": WARM_UP,
        "measured_days": DAYS - WARM_UP,
    }
    return Findings(rows, "importance-weighted freshness by budget (reads per page and day)", table, settings=fixed)


def learned_web(web: Graph, seed: int) -> ChangeHistory:
    """A random history of some pages of the web, with their own importance."""
    chance = np.random.default_rng(seed)
    pages = np.sort(chance.permutation(web.pages)[:LEARNED_PAGES])
    hosts = np.arange(len(pages)) // PAGES_A_HOST
    of_host = HOST_SPREAD * chance.standard_normal(hosts[-1] + 1)
    rates = LEARNED_RATE * np.exp(LEARNED_SPREAD * chance.standard_normal(len(pages)) + of_host[hosts]) / DAY
    importance = true_importance(web)[pages]
    return poisson_history(rates, importance / importance.mean(), DAYS, hosts=hosts, dated=hosts % 2 == 0, seed=seed)


def draw(findings: Findings) -> Figure:
    """Draws freshness over the budget, for known and for learned rates."""
    figure, panels = new_picture(
        "How much of the copy is fresh, weighted by importance, under a budget of reads", panels=2
    )
    titles = {"known": "rates known, closed form", "learned": "rates to be learned, simulated"}
    for axes, (rates_are, title) in zip(panels, titles.items(), strict=True):
        lines: dict[str, list[Row]] = {}
        for row in findings.rows:
            if row["rates"] == rates_are:
                lines.setdefault(row["policy"], []).append(row)
        for name, line in lines.items():
            look = LOOKS[name]
            budgets, fresh = [row["budget"] for row in line], [row["freshness"] for row in line]
            axes.plot(
                budgets, fresh, label=name, color=look.colour, linestyle=look.dashes, marker=look.marker, markersize=5.5
            )
        axes.set(xscale="log", ylim=(0, 1), xlabel="reads per page and day", title=title)
        axes.set_xticks(BUDGETS, [f"{budget:g}" for budget in BUDGETS])
        axes.minorticks_off()
        name_lines(axes)
    panels[0].set_ylabel("share that is fresh, by importance")
    return figure


EXPERIMENTS = {"refresh": Experiment(run, draw)}


def known_web(pages: int) -> tuple[Times, Times]:
    """Importance and rates (changes per day) of a deterministic web of at most `pages` pages: lognormal rates, Pareto
    importance, every rate combined with every importance.

    The design's table of rules does not give the parameters of the two laws; these are fitted to it.
    """
    ranks = max(2, math.isqrt(pages // 4))
    steps = pages // ranks
    normal = NormalDist()
    rates = np.array([MEDIAN_RATE * math.exp(SPREAD * normal.inv_cdf((rank + 0.5) / ranks)) for rank in range(ranks)])
    kept = 1 - 1 / EXPONENT
    # the mean of each part of the law; the first part has the tail
    importance = np.diff(np.linspace(0.0, 1.0, steps + 1) ** kept / kept) * steps - 1
    return np.tile(importance / importance.mean(), ranks), np.repeat(rates, steps)


def webbox_history(box: WebBox, days: float) -> ChangeHistory:
    """The history of all pages of a box over `days` days from its start, at which each page is read once; every read
    costs 1.
    """
    end = box.start + days * DAY
    offsets = np.zeros(box.pages + 1, dtype=np.int64)
    np.cumsum(box.versions(end), out=offsets[1:])
    times = np.empty(offsets[-1])
    _write_changes(box.layout, offsets, times)
    sites = box.layout.sites
    hosts = np.searchsorted(sites[:, START], np.arange(box.pages), side="right") - 1
    dated = (sites[:, TRAITS] & (MODIFIED_MISSING | MODIFIED_NOW | MODIFIED_OLD))[hosts] == 0
    return ChangeHistory(
        offsets=offsets,
        times=times,
        hosts=hosts,
        importance=box.importance(),
        costs=np.ones(box.pages),
        rates=box.rates() / DAY,
        dated=dated,
        stood=np.where(dated, box.start - box.changed(box.start), np.nan),
        born=np.full(box.pages, box.start),
        end=end,
    )


@kernel
def _write_changes(layout: Layout, offsets: Numbers, times: Times) -> None:
    """Writes the times of all changes of every page."""
    for page in range(len(offsets) - 1):
        site = site_of(layout, page)
        for version in range(offsets[page + 1] - offsets[page]):
            times[offsets[page] + version] = time_of(layout, site, page, version + 1)
