"""The effect of another budget: predicted freshness and age, the gain of a little more, and which hosts gain or lose.

The curve of budgets is computed once for a state of the crawl (`crawl/report/planning/budgets.py`), so a slider is
answered at once.
"""

from typing import Annotated

import msgspec

from centime.crawl.report.planning.plan import DAY, MORE, check_budget
from centime.model.errors import BadInput
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource
from centime.settings.units import bytes_per_second, per_second

MOST_HOSTS = 10


class PlanWanted(Parameters, frozen=True, kw_only=True):
    """The budget to compare with: `50000/d` or `2/s` pages, `2GB/day` of bytes; or `times` the present one."""

    budget: str = ""
    times: Annotated[float, msgspec.Meta(ge=0.03125, le=32)] = 1.0
    days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 7.0


def planning(glance: Glance, wanted: PlanWanted) -> Report:
    """The forecast under the present budget and under another one."""
    curve = glance.budgets
    present = curve.present
    other = present * wanted.times
    if wanted.budget:
        by_bytes = curve.unit == "bytes"
        other = bytes_per_second(wanted.budget) if by_bytes else per_second(wanted.budget)
        check_budget(None if by_bytes else other, other if by_bytes else None)
        if not curve.points[0].budget <= other <= curve.points[-1].budget:
            raise BadInput(
                f"the curve reaches from {curve.points[0].budget * DAY:.4g} to {curve.points[-1].budget * DAY:.4g} "
                f"{curve.unit} a day; centime plan --budget predicts others"
            )
    rows = [curve.row("present", present, wanted.days), curve.row("10 % more", MORE * present, wanted.days)]
    if other != present:
        rows += [curve.row("other", other, wanted.days), curve.row("other, 10 % more", MORE * other, wanted.days)]
    settings = glance.settings
    return {
        "pages": curve.pages,
        "sampled": curve.sampled,
        "unit": curve.unit,
        "has_budget": settings.rate is not None or settings.bandwidth is not None,
        "fresh_now": curve.fresh_now,
        "times": other / present,
        "gain_of_10_percent_more": rows[-1]["fresh_in_the_long_run"] - rows[-2]["fresh_in_the_long_run"],
        "curve": [{"per_day": point.budget * DAY, "fresh_in_the_long_run": point.freshness} for point in curve.points],
        "hosts": curve.hosts(present, other)[:MOST_HOSTS] if other != present else [],
        "rows": rows,
        "next": None,
    }


PLAN = Resource(
    name="plan",
    title="Plan",
    summary="How fresh the present budget, and another one, would keep the copy.",
    parameters=PlanWanted,
    report=planning,
    columns=(
        "budget",
        "per_day",
        "unit",
        "worth_needed",
        "fresh_in_the_coming_days",
        "age_in_the_coming_days",
        "fresh_in_the_long_run",
        "age_in_the_long_run_of_what_is_read",
        "pages_never_read",
    ),
)
