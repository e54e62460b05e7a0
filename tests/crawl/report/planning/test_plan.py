import math
from pathlib import Path

import numpy as np
import pytest

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.planning.plan import DAY, plan
from centime.model.errors import BadInput, BadSetting
from tests.crawl.report.made import NOW
from tests.crawl.world import World, crawl


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> CrawlWriter:
    """A crawl of sixty pages that was continuous for a while: pages change in every third round."""
    folder = tmp_path_factory.mktemp("plan") / "crawl"
    world = World(pages=60)
    with crawl(folder, **{"refresh-after": 1000.0, "delay": 0.0}) as opened:
        for round_number in range(40):
            now = NOW + 6 * 3600.0 * round_number
            world.version = 1 + round_number // 3
            for _ in range(20):
                leases = opened.shard.lease(now, 50)
                opened.shard.record(now + 1, [world.visit(lease, now) for lease in leases])
        opened.shard.journal.sync()
        opened.close()
    return opened


END = NOW + 40 * 6 * 3600.0


def test_more_budget_keeps_more_fresh(followed: CrawlWriter) -> None:
    found = [plan(followed, now=END, rate=rate / DAY)["budgets"][-2] for rate in (1.0, 10.0, 100.0, 1000.0)]
    for name in ("fresh_in_the_coming_days", "fresh_in_the_long_run"):
        values = [row[name] for row in found]
        assert values == sorted(values)
        assert 0.0 <= values[0] < values[-1] <= 1.0
    assert found[-1]["age_in_the_coming_days"] < found[0]["age_in_the_coming_days"]
    assert found[0]["pages_never_read"] >= found[-1]["pages_never_read"]


def test_the_present_budget_is_compared_with_another_and_ten_per_cent_more(followed: CrawlWriter) -> None:
    found = plan(followed, now=END, rate=20 / DAY)
    assert [row["budget"] for row in found["budgets"]] == [
        "1 page per second",
        "10 % more",
        "given",
        "given, 10 % more",
    ]
    assert [row["unit"] for row in found["budgets"]] == ["pages"] * 4
    rows = found["budgets"]
    assert rows[1]["per_day"] == pytest.approx(1.1 * rows[0]["per_day"])
    assert found["gain_of_10_percent_more"] == rows[-1]["fresh_in_the_long_run"] - rows[-2]["fresh_in_the_long_run"] > 0
    assert found["pages"] == 60
    assert 0 < found["fresh_now"] < 1
    assert found["change_pattern"] == "even", "all pages change in every third round"


def test_a_budget_of_bytes_is_one_of_pages_times_their_size(followed: CrawlWriter) -> None:
    pages = plan(followed, now=END, rate=200 / DAY)["budgets"][-2]
    octets = plan(followed, now=END, bandwidth=200_000 / DAY)["budgets"][
        -2
    ]  # every page of the world has a thousand bytes
    assert octets["unit"] == "bytes"
    assert octets["fresh_in_the_long_run"] == pytest.approx(pages["fresh_in_the_long_run"], abs=1e-6)


def test_the_next_pages_have_a_reason(followed: CrawlWriter) -> None:
    rows = plan(followed, now=END, rate=20 / DAY, count=7)["next"]
    assert [row["rank"] for row in rows] == list(range(1, 8))
    assert len({row["url"] for row in rows}) == 7
    for row in rows:
        assert row["url"].startswith("http://h")
        assert row["why"].startswith("it changes about every ")
        assert row["worth"] > 0
    due = [row["worth"] for row in rows if row["due"] == "now"]
    assert due == sorted(due, reverse=True)


def test_other_weights_make_another_plan(followed: CrawlWriter) -> None:
    fresh = plan(followed, now=END, rate=5 / DAY)["budgets"][-2]
    young = plan(followed, now=END, rate=5 / DAY, alpha=1.0, beta=0.0)["budgets"][-2]
    assert fresh["fresh_in_the_long_run"] >= young["fresh_in_the_long_run"] - 1e-9
    assert young["pages_never_read"] == 0


def test_the_book_and_the_plan_agree_on_what_a_read_is_worth(followed: CrawlWriter) -> None:
    rows = plan(followed, now=END, rate=20 / DAY, count=60)["next"]
    shard = followed.shard
    texts = shard.pages.texts.get_many(np.arange(shard.pages.count))
    pages = np.array([texts.index(row["url"]) for row in rows])
    worths = shard.refreshing.book.worth(pages, END, shard.ledger.importance(pages))
    assert [row["worth"] for row in rows] == pytest.approx(worths.tolist(), rel=1e-4)


def test_what_cannot_be_planned_is_an_error_of_one_sentence(followed: CrawlWriter, tmp_path: Path) -> None:
    with (
        open_writer(tmp_path / "new", ["http://h.example/"], {}) as opened,
        pytest.raises(BadInput, match="has read no page yet"),
    ):
        plan(opened, now=NOW)
    for given, sentence in (
        ({"days": 0.0}, "must be above 0 and at most 36500"),
        ({"count": -1}, "must be 0 or more, not -1"),
        ({"rate": 1.0, "bandwidth": 1.0}, "give one of them"),
        ({"days": math.nan}, "must be above 0 and at most 36500"),
        ({"days": 1e300}, "at most 36500, not 1e\\+300"),
        ({"rate": 0.0}, "a budget in pages is 1e-06 to"),
        ({"rate": math.inf}, "a budget in pages is 1e-06 to"),
        ({"rate": 1e300}, "to 1e\\+09 per second, not 1e\\+300"),
        ({"bandwidth": 1e16}, "a budget in bytes is 1 to 1e\\+15 per second"),
        ({"bandwidth": math.nan}, "a budget in bytes is 1 to 1e\\+15 per second"),
        ({"alpha": math.nan}, "alpha and beta are 0 to 1,000,000"),
        ({"beta": math.inf}, "alpha and beta are 0 to 1,000,000"),
        ({"beta": -1.0}, "alpha and beta are 0 to 1,000,000"),
        ({"alpha": 0.0, "beta": 0.0}, "one of them is above 0"),
    ):
        with pytest.raises(BadSetting, match=sentence):
            plan(followed, now=END, **given)


def test_a_crawl_without_a_budget_is_planned_at_one_page_per_second(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        opened.shard.record(NOW + 1, [World().visit(lease, NOW) for lease in opened.shard.lease(NOW, 1)])
        rows = plan(opened, now=NOW + 2)["budgets"]
    assert [row["budget"] for row in rows] == ["1 page per second", "10 % more"]
    assert rows[0]["per_day"] == DAY
