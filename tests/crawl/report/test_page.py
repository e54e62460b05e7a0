from typing import Any

import numpy as np
import pytest

from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.page import about_page, find_page
from centime.model.errors import BadInput, UnknownPage
from tests.crawl.report.made import LATE, NOW, ROOT, A, B


def about(opened: CrawlReader, url: str) -> dict[str, Any]:
    return about_page(opened, url, now=NOW + 100)


def test_what_a_page_receives_adds_up_to_its_importance_and_every_payer_is_named(small: CrawlReader) -> None:
    facts = about(small, ROOT)
    ledger = small.shard.ledger
    assert {row["url"]: row["its_links"] for row in facts["paid_by"]} == {f"{A}/one": 2, f"{A}/two": 3}
    assert facts["links_in"] == 2
    assert facts["received_along_links"] + facts["received_from_virtual_page"] == pytest.approx(facts["importance"])
    assert facts["received_along_links"] == pytest.approx(sum(row["contribution"] for row in facts["paid_by"]))
    page, _ = find_page(small, ROOT)
    given, along_links = float(ledger.class_shares()[0]), float(ledger.inflow(np.array([page]))[0])
    assert facts["received_from_virtual_page"] == pytest.approx(
        facts["importance"] * given / (given + along_links), rel=1e-6
    )
    assert [row["contribution"] for row in facts["paid_by"]] == sorted(
        (row["contribution"] for row in facts["paid_by"]), reverse=True
    )
    assert facts["rank"] == 1 + sum(x > facts["importance"] for x in ledger.importance())


def test_what_a_page_pays_goes_along_its_links(small: CrawlReader) -> None:
    facts = about(small, f"{A}/two")
    assert facts["links_out"] == 3
    assert {row["url"] for row in facts["links_to"]} == {ROOT, *LATE}
    assert facts["pays_each_link"] == pytest.approx(0.85 * facts["importance"] / 3)
    assert about(small, f"{A}/gone")["pays"].startswith("only the virtual page")


def test_each_visit_has_its_outcome(later: CrawlReader) -> None:
    facts = about(later, ROOT)
    assert [(row["time"], row["outcome"], row["changed"], row["status"]) for row in facts["visits"]] == [
        ("2027-01-15T09:23:21Z", "read", "yes", 200),
        ("2027-01-15T08:00:00Z", "read", "no", 200),
    ]
    assert (facts["visits"][0]["wire_bytes"], facts["visits"][0]["latency_milliseconds"]) == (1000, 250)
    assert (facts["visited"], facts["changed"], facts["content_since"]) == (2, 1, "2027-01-15T09:23:21Z")


def test_a_redirect_and_a_page_never_read_have_a_kind_too(small: CrawlReader) -> None:
    kinds = {path: about(small, f"{A}/{path}")["kind"] for path in ("one", "gone", "failing", "old")}
    assert kinds == {"one": "html", "gone": "dead", "failing": "error", "old": "redirect"}
    assert about(small, LATE[0])["kind"] == "unread"


def test_the_report_has_the_validators(small: CrawlReader) -> None:
    facts = about(small, f"{A}/one")
    assert (facts["etag"], facts["last_modified"], facts["content_type"]) == (
        '"1"',
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "text/html",
    )


@pytest.mark.parametrize(
    ("url", "next_", "why"),
    [
        (ROOT, "not planned", "it was read, and the crawl does not refresh"),
        (f"{A}/gone", "not planned", "it is gone"),
        (f"{A}/refused", "not planned", "robots.txt disallows it"),
        (f"{A}/old", "not planned", f"it redirects to {A}/two"),
        (f"{A}/failing", "2027-01-15T08:01:02Z", "it failed 1 time in a row"),
        (f"{B}/leased", "being fetched", "a fetcher has a lease"),
        (LATE[0], "when its turn comes", "it was never read"),
    ],
)
def test_when_and_why_a_page_is_next(url: str, next_: str, why: str, small: CrawlReader) -> None:
    facts = about(small, url)
    assert facts["next"] == next_
    assert facts["why"].startswith(why)


def test_the_report_of_a_waiting_page_has_the_number_of_pages_ahead(small: CrawlReader) -> None:
    best = small.shard.pages.texts.get_many(small.shard.placement.frontier.best(2, small.shard.ledger.class_shares()))
    facts = [about(small, url) for url in best]
    assert facts[0]["pages_ahead"] == 0
    assert facts[1]["pages_ahead"] == (facts[1]["importance"] < facts[0]["importance"])
    assert facts[0]["level"] == "discovery"


def test_with_refresh_after_the_report_has_the_next_time(later: CrawlReader) -> None:
    assert about(later, ROOT)["next"] == "2027-01-15T09:40:01Z"


def test_a_page_is_found_under_every_form_of_its_url(small: CrawlReader) -> None:
    assert find_page(small, "HTTP://A.example:80/./one#top") == find_page(small, f"{A}/one")


def test_the_error_of_an_unknown_page_names_similar_pages(small: CrawlReader) -> None:
    with pytest.raises(UnknownPage, match=r"http://a\.example/ones is not known .* 7, such as http://a\.example/one"):
        find_page(small, f"{A}/ones")
    with pytest.raises(UnknownPage, match=r"neither is any page of https://c\.example"):
        find_page(small, "https://c.example/x")
    with pytest.raises(BadInput, match="not the URL of a page"):
        find_page(small, "mailto:a@example.org")
