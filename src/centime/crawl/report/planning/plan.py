"""The freshness that a budget allows: freshness and age now, over the coming days and in the long run; and the pages
that are read next.

Everything follows from the beliefs of the crawl's refresh book (`simulate/forecast.py` has the equations). Nothing is
sampled, except the threshold of very large crawls. The current budget is compared with 10 % more, and with another
budget if one is given.

The paper's rule is the index with alpha = 2 and beta = 0; the uniform rule reads every page after the same interval.
"""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.planning.believed import Believed, believed
from centime.crawl.report.planning.freshness import dispersion_of_crawl, due_moment
from centime.model.errors import BadInput, BadSetting
from centime.refresh.learning.regularity import pattern_of_crawl, pooled
from centime.simulate import forecast
from centime.simulate.forecast import Beliefs, Vector

DAY = 86_400.0
MORE = 1.1
MOST_DAYS = 36_500.0
MOST_WEIGHT = 1e6
LEAST_RATE, MOST_RATE, MOST_BANDWIDTH = 1e-6, 1e9, 1e15  # per second


def plan(opened: CrawlState, *, now: float, **wanted: Any) -> dict[str, Any]:
    """The plan of a crawl in one folder, as `plan_of` makes it."""
    return plan_of(believed(opened.folder.path, opened.shard.settings, [opened], now), now=now, **wanted)


def plan_of(
    crawl: Believed,
    *,
    now: float,
    rate: float | None = None,
    bandwidth: float | None = None,
    days: float = 7.0,
    alpha: float | None = None,
    beta: float | None = None,
    count: int = 20,
) -> dict[str, Any]:
    """The forecast under the crawl's budget and, if given, under another one in pages or bytes per second; and the
    pages that are next.
    """
    if not 0 < days <= MOST_DAYS:
        raise BadSetting(f"the days of a plan must be above 0 and at most {MOST_DAYS:g}, not {days:g}")
    if count < 0:
        raise BadSetting(f"the number of pages to show must be 0 or more, not {count}")
    if rate is not None and bandwidth is not None:
        raise BadSetting("a budget is in pages or in bytes: give one of them")
    check_budget(rate, bandwidth)
    settings = crawl.settings.refresh_settings()  # not the book's: its budget may be raised (refresh/spending.py)
    present = crawl.beliefs
    rule = present
    if settings.policy == "paper":
        rule = present.with_weights(alpha=2.0, beta=0.0)
    if alpha is not None or beta is not None:
        weights = (settings.alpha if alpha is None else alpha, settings.beta if beta is None else beta)
        if not all(0 <= one <= MOST_WEIGHT for one in weights) or not any(weights):
            raise BadSetting(
                f"alpha and beta are 0 to {MOST_WEIGHT:,.0f}, and one of them is above 0, "
                f"not {weights[0]:g} and {weights[1]:g}"
            )
        rule = present.with_weights(alpha=weights[0], beta=weights[1])
    uniform = settings.policy == "uniform" and alpha is None and beta is None
    unit = "bytes" if settings.by_bytes else "pages"
    rows = []
    if settings.budget > 0:
        limited = crawl.settings.rate is not None or crawl.settings.bandwidth is not None
        name = "present" if limited else "1 page per second"
        rows.append(_row(name, rule, settings.budget, unit, days, uniform=uniform))
        rows.append(_row("10 % more", rule, MORE * settings.budget, unit, days, uniform=uniform))
    given = rule
    budget = settings.budget
    if rate is not None or bandwidth is not None:
        unit = "pages" if rate is not None else "bytes"
        budget = rate if rate is not None else bandwidth if bandwidth is not None else 0.0
        given = rule.with_weights(cost=np.ones(len(crawl)) if rate is not None else crawl.costs)
        rows.append(_row("given", given, budget, unit, days, uniform=uniform))
        rows.append(_row("given, 10 % more", given, MORE * budget, unit, days, uniform=uniform))
    if not rows:
        raise BadInput(f"{crawl.path}: the crawl has no budget for refreshing; give one with --budget or --bandwidth")
    is_now = forecast.expected_now(present)
    return {
        "pages": len(crawl),
        "unread": crawl.unread,
        "policy": settings.policy if rule is present or uniform or settings.policy == "paper" else "optimal",
        "alpha": rule.alpha,
        "beta": rule.beta,
        "fresh_now": is_now.freshness,
        "age_now_days": is_now.age_days,
        "deaths_per_page_and_day": present.death_rate * DAY,
        "change_pattern": str(pattern_of_crawl(pooled(dispersion_of_crawl(state) for state in crawl.states))),
        "gain_of_10_percent_more": rows[-1]["fresh_in_the_long_run"] - rows[-2]["fresh_in_the_long_run"],
        "budgets": rows,
        "next": _next(crawl, given, budget, count, now, uniform=uniform),
    }


def check_budget(rate: float | None, bandwidth: float | None) -> None:
    """Refuses a budget outside the bounds of a crawl's settings."""
    if rate is not None and not LEAST_RATE <= rate <= MOST_RATE:
        raise BadSetting(f"a budget in pages is {LEAST_RATE:g} to {MOST_RATE:g} per second, not {rate:g}")
    if bandwidth is not None and not 1 <= bandwidth <= MOST_BANDWIDTH:
        raise BadSetting(f"a budget in bytes is 1 to {MOST_BANDWIDTH:g} per second, not {bandwidth:g}")


def intervals_under(beliefs: Beliefs, budget: float, *, uniform: bool) -> tuple[float, Vector]:
    """The threshold and the intervals that a budget allows."""
    if uniform:
        interval = max(beliefs.least_interval, float(beliefs.cost.sum()) / budget)
        return interval, np.full(len(beliefs), interval)
    worth = forecast.threshold_for(beliefs, budget)
    return worth, forecast.intervals_at(beliefs, worth)


def _row(name: str, beliefs: Beliefs, budget: float, unit: str, days: float, *, uniform: bool) -> dict[str, Any]:
    worth, intervals = intervals_under(beliefs, budget, uniform=uniform)
    coming = forecast.expected_coming(beliefs, intervals, days * DAY)
    steady = forecast.expected_steady(beliefs, intervals)
    return {
        "budget": name,
        "per_day": budget * DAY,
        "unit": unit,
        "worth_needed": worth,
        "fresh_in_the_coming_days": coming.freshness,
        "age_in_the_coming_days": coming.age_days,
        "fresh_in_the_long_run": steady.freshness,
        "age_in_the_long_run_of_what_is_read": steady.age_days,
        "pages_never_read": int(np.isinf(intervals).sum()),
    }


def _next(
    crawl: Believed, beliefs: Beliefs, budget: float, count: int, now: float, *, uniform: bool
) -> list[dict[str, Any]]:
    """The pages that are due, the largest worth first; then those that will be due, the soonest first."""
    if budget <= 0:
        return []
    _, intervals = intervals_under(beliefs, budget, uniform=uniform)
    wait = intervals - beliefs.age
    worth = forecast.worth_of(beliefs)
    order = np.lexsort((-worth, np.maximum(wait, 0.0)))[:count]
    fresh = np.exp(-beliefs.shape * np.log1p(beliefs.age / beliefs.scale))
    rows = []
    importance = crawl.each(order, lambda state, pages: state.shard.ledger.importance(pages).tolist())
    urls = crawl.each(order, lambda state, pages: state.shard.pages.texts.get_many(pages))
    has_values = any(state.shard.interest is not None for state in crawl.states)
    for rank, (place, x, url) in enumerate(zip(order.tolist(), importance, urls, strict=True), 1):
        rate, age = float(beliefs.shape[place] / beliefs.scale[place]), float(beliefs.age[place])
        rows.append(
            {
                "rank": rank,
                "due": "now" if wait[place] <= 0 else due_moment(now + float(wait[place])),
                "worth": float(worth[place]),
                "importance": x,
                **({"value": float(beliefs.importance[place])} if has_values else {}),
                "changes_per_day": rate * DAY,
                "age_days": age / DAY,
                "probably_fresh": float(fresh[place]),
                "why": f"it changes about every {_length(1 / rate)} and was read {_length(age)} ago",
                "url": url,
            }
        )
    return rows


def _length(seconds: float) -> str:
    """A length of time in words, with two digits."""
    for name, unit in (("years", 365.25 * DAY), ("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * unit:
            return f"{float(f'{seconds / unit:.2g}'):g} {name}"
    return f"{float(f'{seconds:.2g}'):g} seconds"
