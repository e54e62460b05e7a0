"""The curve of budgets foretells what `centime plan` does, and is quick because it interpolates."""

import msgspec
import pytest

from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.planning import budgets
from centime.crawl.report.planning.believed import believed
from centime.crawl.report.planning.budgets import BudgetCurve
from centime.crawl.report.planning.plan import DAY, plan
from tests.crawl.report.planning.test_plan import END, followed

__all__ = ["followed"]

PER_DAY = 40.0


@pytest.fixture
def curve(followed: CrawlWriter, monkeypatch: pytest.MonkeyPatch) -> BudgetCurve:
    """The curve around a budget that does not suffice for all pages."""
    limited = msgspec.structs.replace(followed.shard.settings, rate=PER_DAY / DAY)
    monkeypatch.setattr(followed.shard, "settings", limited)
    return BudgetCurve(believed(followed.folder.path, followed.shard.settings, [followed], END))


@pytest.mark.parametrize("times", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_a_point_between_those_of_the_grid_is_close_to_the_plan(
    curve: BudgetCurve, followed: CrawlWriter, times: float
) -> None:
    exact = plan(followed, now=END, rate=times * PER_DAY / DAY)["budgets"][-2]
    found = curve.row("other", times * curve.present, 7.0)
    assert found["per_day"] == pytest.approx(exact["per_day"])
    for name in ("fresh_in_the_coming_days", "fresh_in_the_long_run"):
        assert found[name] == pytest.approx(exact[name], abs=0.02)
    assert set(found) == set(exact)


def test_more_budget_is_never_less_fresh(curve: BudgetCurve) -> None:
    fresh = [point.freshness for point in curve.points]
    spent = [point.budget for point in curve.points]
    assert spent == sorted(spent)
    assert fresh == sorted(fresh)
    assert spent[0] < curve.present < spent[-1]


def test_hosts_gain_from_more_and_lose_from_less(curve: BudgetCurve) -> None:
    assert all(row["gain"] >= 0 for row in curve.hosts(curve.present, 4 * curve.present))
    assert all(row["gain"] <= 0 for row in curve.hosts(curve.present, curve.present / 4))
    total = sum(row["gain"] for row in curve.hosts(curve.present, 4 * curve.present))
    more, less = (curve.row("x", times * curve.present, 7.0)["fresh_in_the_long_run"] for times in (4.0, 1.0))
    assert total == pytest.approx(more - less)


def test_a_sample_of_many_pages_foretells_nearly_the_same(
    curve: BudgetCurve, followed: CrawlWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "MOST_PAGES", 40)
    monkeypatch.setattr(budgets._sample, "__defaults__", (40,))
    sampled = BudgetCurve(believed(followed.folder.path, followed.shard.settings, [followed], END))
    assert (sampled.sampled, sampled.pages) == (40, 60)
    one, other = (each.row("x", curve.present, 7.0)["fresh_in_the_long_run"] for each in (curve, sampled))
    assert one == pytest.approx(other, abs=0.1)
