"""Crawls of a site whose pages need every kind of file: what is fetched, archived, ranked, limited and reported."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from warcio.archiveiterator import ArchiveIterator

from bench.faults.crawler import start
from centime import Crawl
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.bodies import body_of, captures_of
from centime.crawl.report.page import about_page
from centime.crawl.report.statistics import all_statistics
from centime.crawl.report.top import top_pages
from centime.crawl.report.visits import last_visits
from centime.store.record import Mark
from tests.crawl.shown import PNG, Site, shown

GIVEN: dict[str, Any] = {"delay": 0.0, "workers": 1, "allow_network": ["127.0.0.0/8"]}


@pytest.fixture
def site() -> Iterator[Site]:
    with shown() as served:
        yield served


def crawl(folder: Path, site: Site, **given: Any) -> dict[str, Any]:
    with Crawl(folder, f"{site.url}/", **GIVEN | given) as running:
        running.run()
    assert check_crawl(folder).problems == []
    return all_statistics(read_crawl(folder), time.time())


def archived(folder: Path) -> dict[str, list[tuple[str, bytes]]]:
    """The status and the body of every response in the archive, by URL."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    for path in sorted((folder / "bodies").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                if record.rec_type == "response":
                    url, status = record.rec_headers["WARC-Target-URI"], record.http_headers.get_statuscode()
                    found.setdefault(url, []).append((status, record.content_stream().read()))
    return found


def test_everything_that_a_browser_asks_for_is_fetched_once_and_archived(tmp_path: Path, site: Site) -> None:
    facts = crawl(tmp_path / "c", site, keep="all", requisites=True)
    robots = {f"{site.url}/robots.txt", f"{site.cdn}/robots.txt"}
    secret = {f"{site.url}/secret.html", f"{site.url}/after.html"}
    assert set(site.asked) == site.expected() | robots | secret
    assert set(Counter(site.asked).values()) == {1}
    found = archived(tmp_path / "c")
    assert set(found) == site.expected() | robots | {f"{site.url}/after.html"}
    assert found[f"{site.url}/gone.png"] == [("404", b"<p>nothing here")]
    assert found[f"{site.url}/moved.png"] == [("302", b"moved")]
    assert found[f"{site.url}/a.png"] == [("200", PNG)]
    assert found[f"{site.cdn}/robots.txt"][0][0] == "200"
    pages = 7  # start, second, page, linked, secret, after, frame; and the paper
    assert facts["requisites"]["known"] == facts["known"] - pages - 1
    assert facts["requisites"]["read"] == facts["read"] - pages - 1
    assert (facts["requisites"]["became_pages"], facts["noarchive"]) == (1, 1)
    body = body_of(tmp_path / "c", captures_of(tmp_path / "c", f"{site.url}/style.css?v=1&utm_source=x")[0])
    assert body.startswith(b"@import")


def test_without_the_option_only_pages_are_fetched_and_pdfs_if_all_is_kept(tmp_path: Path, site: Site) -> None:
    crawl(tmp_path / "c", site, keep="all")
    pages = {"/", "/second.html", "/frame.html", "/paper.pdf", "/secret.html", "/after.html", "/robots.txt"}
    assert set(site.asked) == {site.url + path for path in pages}
    site.asked.clear()
    crawl(tmp_path / "d", site)
    assert set(site.asked) == {site.url + path for path in pages - {"/paper.pdf"}}


def test_other_types_are_fetched_from_hosts_in_scope(tmp_path: Path, site: Site) -> None:
    crawl(tmp_path / "c", site, also=["ZIP,.js", "styles"])
    suffixes = {url.partition("?")[0].rpartition(".")[2] for url in site.asked}
    assert suffixes == {"html", "txt", "zip", "css", "js", "webmanifest", f"{site.url.rpartition('.')[2]}/"}
    assert not [url for url in site.asked if url.startswith(site.cdn)]
    site.asked.clear()
    crawl(tmp_path / "d", site, also=["all"])
    outside = {url for url in site.expected() if url.startswith(site.cdn)}
    assert site.expected() - outside <= set(site.asked)
    assert f"{site.url}/files.zip" in site.asked


@pytest.mark.parametrize("ledger", ["exact", "opic"])
def test_requisites_change_no_ranking_and_the_error_stays_certified(tmp_path: Path, site: Site, ledger: str) -> None:
    def ranked(folder: Path, **given: Any) -> tuple[dict[str, float], list[str]]:
        crawl(folder, site, ledger=ledger, **given)
        opened = read_crawl(folder)
        shard = opened.shard
        if ledger == "exact":
            shard.ledger.settle(error=1e-9, payments=10**6)
            assert (shard.ledger.error() or 1.0) <= 1e-9
        values = dict(zip(shard.pages.texts.every(), shard.ledger.importance().tolist(), strict=True))
        return values, [row["url"] for row in top_pages(opened, 1000)["top"]]

    plain, order = ranked(tmp_path / "c", exclude=["/page.html"])
    shown, with_requisites = ranked(tmp_path / "d", exclude=["/page.html"], requisites=True, keep="xml")
    assert len(shown) > 3 * len(plain)
    assert with_requisites == order if ledger == "exact" else set(with_requisites) == set(order)
    if ledger == "exact":
        ratios = [shown[url] / plain[url] for url in plain]
        assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-6)
        assert sum(shown.values()) == pytest.approx(len(shown))


def test_limits_hold_and_what_they_keep_out_is_counted(tmp_path: Path, site: Site) -> None:
    facts = crawl(tmp_path / "c", site, requisites=True, requisites_per_page=5)
    assert facts["requisites"]["over_limit_of_page"] > 20
    site.asked.clear()
    facts = crawl(tmp_path / "d", site, requisites=True, requisites_per_host=4)
    assert facts["requisites"]["over_limit_of_host"] > 20
    assert facts["requisites"]["known"] <= 8
    site.asked.clear()
    crawl(tmp_path / "e", site, requisites=True, requisite_depth=2)
    assert f"{site.url}/deep/1.css" in site.asked
    assert f"{site.url}/deep/2.css" not in site.asked
    crawl(tmp_path / "f", site, keep="all", requisites=True, most_requisite_bytes=1024)
    shard = read_crawl(tmp_path / "f").shard
    cut = np.flatnonzero(last_visits(shard.pages, "marks")["marks"] & Mark.TRUNCATED)
    assert shard.pages.texts.get_many(cut) == [f"{site.url}/film.mp4"]
    assert len(archived(tmp_path / "f")[f"{site.url}/film.mp4"][0][1]) == 1024


def test_excluded_and_banned_requisites_are_not_fetched(tmp_path: Path, site: Site) -> None:
    crawl(tmp_path / "c", site, requisites=True, exclude=["[.]png"], ban=[site.cdn])
    assert not [url for url in site.asked if ".png" in url or url.startswith(site.cdn)]


def test_a_page_that_asks_not_to_be_archived_can_be_kept_nevertheless(tmp_path: Path, site: Site) -> None:
    facts = crawl(tmp_path / "c", site, keep="all", ignore_noarchive=True)
    assert f"{site.url}/secret.html" in archived(tmp_path / "c")
    assert facts["noarchive"] == 0


def test_a_page_says_what_it_needs_and_a_requisite_what_needs_it(tmp_path: Path, site: Site) -> None:
    crawl(tmp_path / "c", site, requisites=True)
    opened = read_crawl(tmp_path / "c")
    page = about_page(opened, f"{site.url}/second.html", now=time.time())
    assert page["requisites"] == [{"url": f"{site.url}/second.png"}]
    deep = about_page(opened, f"{site.url}/deep/1.css", now=time.time())
    assert deep["requisite_of"] == f"{site.url}/style.css?v=1&utm_source=x"
    assert (deep["nesting"], deep["links_in"], deep["links_out"]) == (2, 0, 0)


def test_requisites_are_refreshed_with_the_pages(tmp_path: Path, site: Site) -> None:
    crawl(tmp_path / "c", site, requisites=True)
    site.asked.clear()
    expected = site.expected() - {f"{site.url}/gone.png", f"{site.url}/paper.pdf"}
    with Crawl(tmp_path / "c", **GIVEN, refresh_after=0.01) as running:
        running.run(until=lambda crawl: expected <= set(site.asked), seconds=60)
    assert expected <= set(site.asked)
    assert check_crawl(tmp_path / "c").problems == []


@pytest.mark.long
def test_a_killed_crawl_continues_with_its_requisites(tmp_path: Path, site: Site) -> None:
    folder = tmp_path / "c"
    given = [f"{site.url}/", "--requisites", "--keep", "all", "--delay", "0.02", "--workers", "1"]
    given += ["--allow-network", "127.0.0.0/8"]
    for asked in (12, 30):
        crawler = start(folder, given)
        until = time.monotonic() + 60
        while len(site.asked) < asked and not crawler.ended() and time.monotonic() < until:
            time.sleep(0.005)
        crawler.kill_all()
    assert start(folder, given).wait()[0] == 0
    assert check_crawl(folder).problems == []
    assert site.expected() <= set(archived(folder))
    opened = read_crawl(folder)
    assert len(opened.shard.requisites.every()) == opened.shard.pages.count - 8
