from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.page import about_page
from centime.crawl.report.sorting import first_by
from centime.crawl.report.top import ORDERS, top_pages
from centime.model.errors import BadSetting
from tests.crawl.report.made import LATE, LINKS, NOW, ROOT, A, B, hand_made


def urls(report: dict[str, list[dict[str, str]]]) -> list[str]:
    return [row["url"] for row in report["top"]]


def test_the_most_important_pages_come_with_both_errors(small: CrawlReader) -> None:
    report = top_pages(small, 3)
    importance = small.shard.ledger.importance()
    assert [row["importance"] for row in report["top"]] == sorted(importance, reverse=True)[:3]
    assert urls(report) == small.shard.pages.texts.get_many(np.argsort(-importance, kind="stable")[:3])
    assert report["certified_error"] == small.statistics(0.0)["certified_error"]
    assert report["largest_error"] == report["certified_error"] * len(importance) / 2
    assert report["known"] == 1 + len(LINKS) + len(LATE)


def test_the_importance_of_sites_is_that_of_their_pages(small: CrawlReader) -> None:
    rows = top_pages(small, 10, site=True)["top"]
    pages = {row["url"]: row["importance"] for row in top_pages(small, 100)["top"]}
    for row in rows:
        assert row["importance"] == pytest.approx(
            sum(x for url, x in pages.items() if url.startswith(f"{row['host']}/"))
        )
    assert {row["host"]: row["known"] for row in rows} == {A: 7, B: 3}


def test_by_worth_the_waiting_pages_come_as_the_frontier_leases_them(small: CrawlReader) -> None:
    rows = top_pages(small, 10, "worth", now=NOW + 100)["top"]
    best = small.shard.placement.frontier.best(10, small.shard.ledger.class_shares())
    assert [row["url"] for row in rows] == small.shard.pages.texts.get_many(best)
    assert {row["url"] for row in rows} == set(LATE)
    assert {(row["level"], row["host_ready"], row["why"]) for row in rows} == {
        ("discovery", "now", "it was never read")
    }
    (site,) = top_pages(small, 10, "worth", site=True, now=NOW)["top"]
    assert (site["host"], site["waiting"]) == (B, 2)
    assert site["importance"] == pytest.approx(sum(row["importance"] for row in rows))


def test_by_change_only_pages_that_have_changed_are_shown(small: CrawlReader, later: CrawlReader) -> None:
    assert top_pages(small, 10, "change")["top"] == []
    (row,) = top_pages(later, 10, "change")["top"]
    assert (row["url"], row["changes"], row["visits"], row["changes_per_visit"]) == (ROOT, 1, 2, 0.5)
    assert row["last_changed"] == "2027-01-15T09:23:21Z"
    (site,) = top_pages(later, 10, "change", site=True)["top"]
    assert (site["host"], site["changes"], site["visits"]) == (A, 1, 9)


def test_by_errors_pages_that_could_not_be_read_are_shown_with_the_reason(small: CrawlReader) -> None:
    rows = {row["url"]: row for row in top_pages(small, 10, "errors")["top"]}
    assert {url: row["outcome"] for url, row in rows.items()} == {
        f"{A}/gone": "gone",
        f"{A}/refused": "disallowed",
        f"{A}/failing": "server error",
    }
    assert (rows[f"{A}/failing"]["detail"], rows[f"{A}/failing"]["failures"], rows[f"{A}/failing"]["status"]) == (
        "it said no",
        1,
        500,
    )
    (site,) = top_pages(small, 10, "errors", site=True)["top"]
    assert (site["host"], site["failing"], site["trouble"]) == (A, 3, "server error: it said no")


@pytest.mark.parametrize("ledger", ["opic", "interpolation"])
def test_reports_of_a_ledger_without_certified_errors_work(ledger: str, tmp_path: Path) -> None:
    with hand_made(tmp_path / "crawl", ledger=ledger, focus=["/two=4"]):
        opened = read_crawl(tmp_path / "crawl")
        report = top_pages(opened, 3)
        assert (report["certified_error"], report["largest_error"], len(report["top"])) == (None, None, 3)
        assert {row["url"] for row in top_pages(opened, 10, "worth")["top"]} == set(LATE)
        facts = about_page(opened, f"{A}/two", now=NOW)
        assert (facts["focus"], facts["links_in"], facts["largest_error"]) == ("/two=4", 3, None)
        assert check_crawl(tmp_path / "crawl").problems == []


def test_an_unknown_column_or_a_negative_count_is_refused(small: CrawlReader) -> None:
    with pytest.raises(
        BadSetting,
        match="importance, rising, interest, worth, change or errors, sites also by site-importance, not by 'age'",
    ):
        top_pages(small, 1, "age")
    with pytest.raises(BadSetting, match="not -1"):
        top_pages(small, -1)
    for order in set(ORDERS) - {"interest", "rising"}:
        assert top_pages(small, 0, order)["top"] == []


@given(st.lists(st.integers(0, 5)), st.integers(0, 10))
def test_first_by_gives_what_sorting_gives(values: list[int], count: int) -> None:
    expected = sorted(range(len(values)), key=lambda place: (-values[place], place))[:count]
    assert first_by(np.array(values, dtype=np.int64), count).tolist() == expected
