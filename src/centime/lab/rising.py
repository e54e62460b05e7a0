"""How soon a page that becomes important is seen: the exact ledger beside the windows of OPIC.

"An advantage of the algorithm is also that it rapidly detects the new important pages" (Section 4.3); the conclusion
asks for estimates of the derivative. All ledgers have read a web many times when an ordinary page gets links from
enough random pages to belong to the first K. They read on, OPIC greedily as in the paper. Counted are the visits, in
units of the number of pages,

    listed      until the page is among the first K by estimated importance (K: LISTED of all pages, at least LEAST)
    rising      until its estimate has risen more since the change than that of any other page

looking at the moments MOMENTS, of which the last is MOST_CRAWLS. The rows are means over TRIALS pages; one that is
never seen counts as MOST_CRAWLS.

Windows are those of the experiment `window-policy`, of which the whole history ("no window") is the slowest: the past
of a page counts for the whole length of the crawl.
"""

from copy import deepcopy

import numpy as np
from matplotlib.figure import Figure

from centime.lab.error import true_importance
from centime.lab.experiment import DAMPING, Experiment, Findings, Row, Step
from centime.lab.picture import LOOKS, new_picture, say
from centime.lab.reader import Reader
from centime.lab.windows import EXACT, POLICIES, SPOKEN, WINDOWS, turnovers_of_a_month
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.graph import Graph

CRAWLS_BEFORE = 20
MOST_CRAWLS = 10
MOMENTS = (*(step / 1000 for step in range(1, 20)), *(step / 50 for step in range(1, 50 * MOST_CRAWLS + 1)))
TRIALS = 5
LISTED, LEAST = 0.001, 10
COUNTED = ("listed", "rising")


def run(web: Graph, seed: int, step: Step) -> Findings:
    """Measures when each ledger sees pages that become important."""
    month = turnovers_of_a_month(web, seed)
    readers = {
        name: Reader(OpicLedger(damping=DAMPING, window=WINDOWS[name](month), seed=seed), "greedy", web.pages)
        for name in POLICIES
    }
    readers["exact balanced"] = Reader(ExactLedger(damping=DAMPING, seed=seed), "balanced", web.pages)
    readers["exact by worth"] = Reader(ExactLedger(damping=DAMPING, seed=seed), "worth", web.pages)
    first = max(LEAST, round(LISTED * web.pages))
    for reader in readers.values():
        for _ in range(CRAWLS_BEFORE):
            reader.read(web, web.pages)
        step(0.3 / len(readers))
    rows: list[Row] = []
    for trial in range(TRIALS):
        page, later, links = _becoming_important(web, first, seed + trial + 1)
        for name, reader in readers.items():
            seen = _seen(deepcopy(reader), later, page, first)
            rows.append({"ledger": name, "trial": trial, "new_links": links, **seen})
            step(0.7 / TRIALS / len(readers))
    table = [{"ledger": SPOKEN.get(name, name)} | _means(rows, name) for name in readers]
    settings = {"first": first, "trials": TRIALS, "crawls_before": CRAWLS_BEFORE, "most_crawls": MOST_CRAWLS}
    return Findings(rows, "visits until a page is seen, in units of all pages", table, {}, settings)


def _means(rows: list[Row], name: str) -> dict[str, float]:
    mine = [row for row in rows if row["ledger"] == name]
    return {what: round(float(np.mean([row[what] for row in mine])), 3) for what in COUNTED}


def _becoming_important(web: Graph, first: int, seed: int) -> tuple[int, Graph, int]:
    """A page of a median importance, the web in which it is among the first pages, and how many links that took."""
    chance = np.random.default_rng(seed)
    importance = true_importance(web, error=1e-6)
    page = int(np.argsort(importance)[web.pages // 2 + int(chance.integers(-web.pages // 10, web.pages // 10))])
    order = chance.permutation(np.delete(np.arange(web.pages), page))
    links = first
    while True:
        later = _linked(web, order[:links], page)
        x = true_importance(later, error=1e-6)
        if int((x > x[page]).sum()) < first // 2 or links >= len(order):
            return page, later, min(links, len(order))
        links *= 2


def _linked(web: Graph, sources: np.ndarray[tuple[int], np.dtype[np.int64]], page: int) -> Graph:
    """The web with another link to a page from each source."""
    more = np.zeros(web.pages, dtype=np.int64)
    more[sources] = 1
    targets = np.insert(web.targets, web.offsets[1:][np.sort(sources)], page).astype(np.int32)
    return Graph(web.offsets + np.concatenate([[0], np.cumsum(more)]), targets)


def _seen(reader: Reader, web: Graph, page: int, first: int) -> dict[str, float]:
    before = reader.importance()
    seen = dict.fromkeys(COUNTED, float(MOST_CRAWLS))
    visits = 0
    for moment in MOMENTS:
        more = round(moment * web.pages) - visits
        if not more:
            continue  # on a small web
        reader.read(web, more)
        visits += more
        now = reader.importance()
        rise = now - before
        ranks = {"listed": int((now > now[page]).sum()) < first, "rising": bool(rise[page] == rise.max() > 0)}
        for what, is_seen in ranks.items():
            if is_seen and seen[what] == MOST_CRAWLS:
                seen[what] = visits / web.pages
        if max(seen.values()) < MOST_CRAWLS:
            break
    return seen


def draw(findings: Findings) -> Figure:
    """Draws the visits of each ledger as bars."""
    names = list(dict.fromkeys(row["ledger"] for row in findings.rows))
    means = {name: _means(list(findings.rows), name) for name in names}
    window = min((name for name in names if name not in EXACT), key=lambda name: means[name]["listed"])
    figure, (axes,) = new_picture(
        f"A page that becomes important is among the first {findings.settings['first']} after\n"
        f"{say(means['exact by worth']['listed'])} crawls by the exact ledger (by worth), "
        f"{say(means[window]['listed'])} by the best window ({SPOKEN[window]})"
    )
    for place, name in enumerate(reversed(names)):
        axes.barh(place + 0.2, means[name]["listed"], height=0.36, color=LOOKS[name].colour)
        axes.barh(place - 0.2, means[name]["rising"], height=0.36, color=LOOKS[name].colour, alpha=0.5)
    axes.set_yticks(range(len(names)), [SPOKEN.get(name, name) for name in reversed(names)])
    axes.set(xlabel="visits in units of all pages; above: until it is listed, below: until it rises most")
    return figure


EXPERIMENTS = {"rising": Experiment(run, draw)}
