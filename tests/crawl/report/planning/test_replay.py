from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.planning.replay import replay
from centime.crawl.report.recorded_changes import found_visits, recorded_history
from centime.model.errors import BadInput, BadSetting
from centime.model.ids import PageId
from centime.simulate.named import POLICIES
from centime.store.record import Mark
from tests.crawl.changing import FOREVER, START, ChangingWorld, live
from tests.crawl.report.made import NOW
from tests.crawl.report.planning.test_plan import followed
from tests.crawl.world import World, crawl

__all__ = ["followed"]
DAY = 86_400.0


def test_all_visits_that_found_their_page_are_sorted_by_page_and_time(followed: CrawlReader) -> None:
    visits = found_visits(followed)
    pages = np.unique(visits.pages)
    assert len(pages) == 60
    for page in (0, 7, 59):
        mine = visits.pages == page
        known = list(followed.shard.pages.records.history(PageId(page)))[::-1]
        assert visits.times[mine].tolist() == [record.time for record in known if record.outcome.present]
        assert visits.changed[mine].tolist() == [
            Mark.CHANGED in record.marks for record in known if record.outcome.present
        ]


def test_a_history_has_changes_where_visits_saw_some_and_none_where_they_saw_none(followed: CrawlReader) -> None:
    visits = found_visits(followed)
    history = recorded_history(followed)
    for page in range(history.pages):
        mine = np.flatnonzero(visits.pages == np.unique(visits.pages)[page])
        changes = history.times[history.offsets[page] : history.offsets[page + 1]]
        for first, second in pairwise(mine.tolist()):
            inside = np.count_nonzero((changes > visits.times[first]) & (changes <= visits.times[second]))
            assert (inside > 0) == visits.changed[second]
    assert history.end == visits.times.max()
    assert history.importance.mean() == pytest.approx(1.0)


def test_the_history_has_the_date_of_the_first_read_if_dates_are_reliable(
    followed: CrawlReader, tmp_path: Path
) -> None:
    assert np.isnan(recorded_history(followed).stood).all()
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.05}) as opened:
        live(opened, ChangingWorld(dated=True), START + DAY / 8, step=20.0)
        history = recorded_history(opened)
        visits = found_visits(opened)
    first = np.unique(visits.pages, return_index=True)[1]
    assert np.mean(history.dated) > 0.7
    assert history.stood[history.dated] == pytest.approx((visits.times - visits.dates)[first][history.dated])
    assert np.isnan(history.stood[~history.dated]).all()


def test_the_same_seed_places_changes_alike_and_another_does_not(followed: CrawlReader) -> None:
    one, same, other = (recorded_history(followed, seed=seed).times for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


def test_several_policies_are_compared_in_one_table(followed: CrawlReader) -> None:
    found = replay(followed, ["all"], rate=100 / DAY)
    rows = {row["policy"]: row for row in found["policies"]}
    assert list(rows) == list(POLICIES)
    assert found["budget_per_day"] == pytest.approx(100)
    assert all(0 <= row["freshness"] <= 1 for row in rows.values())
    assert all(row["budget_spent_percent"] <= 102 for row in rows.values())
    assert rows["oracle"]["freshness"] >= rows["uniform"]["freshness"] - 0.02


def test_more_budget_keeps_more_fresh(followed: CrawlReader) -> None:
    fresh = [replay(followed, ["uniform"], rate=rate / DAY)["policies"][0]["freshness"] for rate in (10, 100, 1000)]
    assert fresh == sorted(fresh)


def test_a_budget_of_bytes_counts_bytes(followed: CrawlReader) -> None:
    found = replay(followed, ["uniform"], bandwidth=100_000 / DAY, days=3.0)
    assert found["budget_unit"] == "bytes"
    assert found["measured_days"] == pytest.approx(3.0)
    assert found["policies"][0]["reads"] == pytest.approx(300, abs=2)  # a page has a thousand bytes


def test_without_a_budget_the_pace_of_the_crawl_itself_is_used(followed: CrawlReader) -> None:
    found = replay(followed, ["uniform"])
    assert found["budget_is"] == "as recorded"
    assert found["budget_per_day"] == pytest.approx(60 * 4, rel=0.1)


def test_what_cannot_be_replayed_is_an_error_of_one_sentence(followed: CrawlReader, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="unknown policy 'best'; the policies are uniform, paper"):
        replay(followed, ["best"])
    with pytest.raises(BadSetting, match="name at least one policy"):
        replay(followed, [])
    with pytest.raises(BadSetting, match="give one of them"):
        replay(followed, ["paper"], rate=1.0, bandwidth=1.0)
    with pytest.raises(BadInput, match=r"the history lasts 9\.75 days; measure fewer days than that, not 20"):
        replay(followed, ["paper"], days=20.0)
    with crawl(tmp_path / "new") as opened:
        with pytest.raises(BadInput, match="has read no page yet"):
            replay(opened, ["paper"])
        leases = opened.shard.lease(NOW, 5)
        opened.shard.record(NOW + 1, [World().visit(lease, NOW) for lease in leases])
        with pytest.raises(BadInput, match="has read no page twice"):
            replay(opened, ["paper"])
