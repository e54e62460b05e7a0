"""Replays the changes of a recorded crawl under several policies or another budget, without the network.

`recorded_changes.py` gives the history; `simulate/` has the policies and runs them. Every policy starts with the first
recorded read of each page, at no cost, and learns from there. The last `days` are measured, by default the second half
of the history.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.planning.plan import MOST_DAYS, check_budget
from centime.crawl.report.recorded_changes import found_visits, recorded_history
from centime.model.errors import BadInput, BadSetting
from centime.simulate.named import POLICIES, checked_names, policy_named
from centime.simulate.simulation import DAY, simulate

TICKS = 2000  # in the whole history, unless a tick would be longer than an hour
HOUR = 3600.0


def replay(
    opened: CrawlState,
    names: Sequence[str],
    *,
    rate: float | None = None,
    bandwidth: float | None = None,
    days: float | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The freshness that each policy would have reached under a budget in pages or bytes per second; by default the
    budget of the crawl.
    """
    chosen = checked_names(names)
    if not chosen:
        raise BadSetting(f"name at least one policy of {', '.join(POLICIES)}")
    if rate is not None and bandwidth is not None:
        raise BadSetting("a budget is in pages or in bytes: give one of them")
    check_budget(rate, bandwidth)
    if not 0 <= seed < 2**63:
        raise BadSetting(f"a seed is a number from 0 to 2^63 - 1, not {seed}")
    if days is not None and not 0 < days <= MOST_DAYS:
        raise BadSetting(f"the days to measure must be above 0 and at most {MOST_DAYS:g}, not {days:g}")
    budget_is = "given"
    if rate is None and bandwidth is None:
        unlimited = opened.settings.rate is None and opened.settings.bandwidth is None
        budget_is = "as recorded" if unlimited else "the crawl's own"
        rate, bandwidth = opened.settings.rate, None if opened.settings.rate is not None else opened.settings.bandwidth
    by_bytes = bandwidth is not None
    history = recorded_history(opened, by_bytes=by_bytes, seed=seed)
    length = history.end - history.begin
    measured = length / 2 if days is None else days * DAY
    if not 0 < measured < length:
        lasts = f"{opened.folder.path}: the history lasts {length / DAY:.3g} days"
        raise BadInput(f"{lasts}; measure fewer days than that, not {measured / DAY:.3g}")
    budget = bandwidth if bandwidth is not None else rate if rate is not None else _pace(opened, length)
    settings = replace(opened.settings.refresh_settings(), policy="optimal", budget=budget, by_bytes=by_bytes).check()
    tick = min(HOUR, length / TICKS)
    rows = []
    for name in chosen:
        found = simulate(history, policy_named(name, history, settings), budget, warm=history.end - measured, tick=tick)
        rows.append(
            {
                "policy": name,
                "freshness": float(found.freshness),
                "age_days": float(found.age_days),
                "reads": found.reads,
                "budget_spent_percent": 100 * float(found.spent),
                "about": POLICIES[name],
            }
        )
    return {
        "pages": history.pages,
        "changes": len(history.times),
        "begin": moment(history.begin),
        "end": moment(history.end),
        "measured_days": measured / DAY,
        "budget_per_day": budget * DAY,
        "budget_unit": "bytes" if by_bytes else "pages",
        "budget_is": budget_is,
        "policies": rows,
    }


def _pace(opened: CrawlState, length: float) -> float:
    """The refreshes per second that the crawl made: reads of pages that it had read before."""
    visits = found_visits(opened)
    return float((visits.pages[1:] == visits.pages[:-1]).sum() / length)
