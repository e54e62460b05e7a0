"""Pages that only a sitemap names are found, whoever names the sitemap and whatever it looks like."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.check.check import check_crawl
from tests.crawl.served import Routes, crawled, html, text
from tests.fetch.hostile import answer

XML = "application/xml"


def urlset(*urls: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


def index(*urls: str) -> str:
    return "<sitemapindex>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls) + "</sitemapindex>"


def site(url: str) -> Routes:
    return {
        "/robots.txt": text(f"Sitemap: {url}/all.xml\nUser-agent: *\nDisallow: /private\n", "text/plain"),
        "/": html("/linked"),
        "/linked": html(),
        "/all.xml": text(urlset(f"{url}/only-listed", f"{url}/private", "http://elsewhere.example/"), XML),
        "/only-listed": html("/deeper"),
        "/deeper": html(),
    }


def test_a_sitemap_that_robots_txt_names_is_followed(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "c", site, "/")
    assert crawl.paths == {"/", "/linked", "/all.xml", "/only-listed", "/deeper"}
    assert crawl.page("/all.xml")["marks"] == ["sitemap"]
    assert crawl.statistics()["sitemaps"] == 1
    assert check_crawl(tmp_path / "c").problems == []


def test_it_is_not_followed_if_nobody_wants_that(tmp_path: Path) -> None:
    assert crawled(tmp_path / "c", site, "/", given={"sitemaps": False}).paths == {"/", "/linked"}


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"scope": "page"}, {"/"}),
        ({"max-depth": 0}, {"/"}),
        ({"max-depth": 1}, {"/", "/linked", "/all.xml", "/only-listed"}),
        ({"include": ["/only"]}, {"/", "/all.xml", "/only-listed"}),
        ({"exclude": ["/all"]}, {"/", "/linked"}),
    ],
)
def test_scope_and_depth_hold_for_sitemaps_and_their_entries(
    tmp_path: Path, given: dict[str, Any], paths: set[str]
) -> None:
    assert crawled(tmp_path / "c", site, "/", given=given).paths == paths


def test_a_sitemap_on_another_host_is_not_fetched(tmp_path: Path) -> None:
    routes: Routes = {"/robots.txt": text("Sitemap: http://127.0.0.2:1/all.xml", "text/plain"), "/": html()}
    assert crawled(tmp_path / "c", routes, "/").statistics()["known"] == 1


def test_robots_txt_names_sitemaps_also_where_it_disallows_the_page(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "c", site, "/private")
    assert "/only-listed" in crawl.paths
    assert "/private" not in crawl.paths


def test_a_sitemap_that_is_a_seed_and_the_parts_of_an_index_are_sitemaps_whatever_they_look_like(
    tmp_path: Path,
) -> None:
    def routes(url: str) -> Routes:
        return {
            "/list": text(index(*(f"{url}/part{end}" for end in ("?1", ".php", ".gz", ".pdf"))), "text/html"),
            "/part?1": text(f"{url}/1\n\n# and some words\n{url}/2\n", "text/html; charset=utf-8"),
            "/part.php": answer(urlset(f"{url}/3").encode(), Content_Type="image/png"),
            "/part.gz": answer(gzip.compress(f"{url}/4".encode())),
            "/part.pdf": text(urlset(f"{url}/5"), "application/pdf"),
        }

    crawl = crawled(tmp_path / "c", routes, "sitemap:SERVER/list")
    assert {f"/{number}" for number in range(1, 6)} <= crawl.paths
    assert crawl.statistics()["sitemaps"] == 5
    assert crawl.statistics()["broken_sitemaps"] == []


def test_a_page_that_was_read_before_it_was_called_a_sitemap_is_read_as_one(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        lines = answer(f"{url}/1".encode(), Content_Type="text/plain", ETag='"1"')
        return {"/": html("/urls.txt"), "/urls.txt": lines}

    crawl = crawled(tmp_path / "c", routes, "/", later=("sitemap:SERVER/urls.txt",))
    assert [path for path in crawl.asked if path != "/robots.txt"] == ["/", "/urls.txt", "/urls.txt", "/1"]
    assert b"If-None-Match" not in b"".join(crawl.heads)
    assert check_crawl(tmp_path / "c").problems == []


def test_a_redirect_from_a_sitemap_leads_to_a_sitemap(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        return {
            "/old": answer(status="301 Moved Permanently", Location="/new"),
            "/new": text(f"{url}/1", "text/plain"),
        }

    assert "/1" in crawled(tmp_path / "c", routes, "sitemap:SERVER/old").paths


def test_a_broken_sitemap_gives_its_whole_entries_and_says_what_is_wrong(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        broken = f"<urlset><url><loc>{url}/1</loc></url><url><loc>{url}/2</loc><lastmod>2020-"
        return {"/": html("/all.xml"), "/all.xml": text(broken, XML)}

    crawl = crawled(tmp_path / "c", routes, "/")
    assert {"/1", "/2"} <= crawl.paths
    page = crawl.page("/all.xml")
    assert page["marks"] == ["sitemap", "broken"]
    assert page["visits"][0]["detail"].startswith("The XML is broken in line 1: Premature end")
    assert [one["url"] for one in crawl.statistics()["broken_sitemaps"]] == [f"{crawl.url}/all.xml"]


def test_what_is_called_a_sitemap_and_is_a_page_is_a_page_with_a_trouble(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "c", {"/x": html("/1")}, "sitemap:SERVER/x")
    assert crawl.paths == {"/x", "/1"}
    assert crawl.page("/x")["visits"][0]["detail"] == (
        "It is called a sitemap and is none. A sitemap begins with urlset or sitemapindex, not with a."
    )


def test_a_feed_with_permanent_links_only_leads_to_its_items(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        items = f"<item><guid>{url}/1</guid></item><item><guid isPermaLink='false'>x</guid></item>"
        return {"/feed": text(f"<rss><channel>{items}</channel></rss>", "application/rss+xml")}

    assert crawled(tmp_path / "c", routes, "/feed").paths == {"/feed", "/1"}
