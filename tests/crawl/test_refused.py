"""No link is left out in silence: what a crawl refuses is counted, listed with the reason, and let in by other options;
suspicious URLs are refused only if they are a trap. Against servers on this machine.
"""

import http.server
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from centime import Crawl, open_crawl
from centime.crawl.check.check import check_crawl
from centime.crawl.report.opening import look_at
from centime.crawl.report.statistics import all_statistics

Pages = Callable[[str], bytes | None]


class Site:
    """A server of pages made by a function of their path; counts what was fetched."""

    def __init__(self, pages: Pages) -> None:
        self.fetched: Counter[str] = Counter()
        fetched = self.fetched

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = pages(self.path)
                fetched[self.path] += 1
                self.send_response(404 if body is None else 200)
                self.send_header("content-type", "application/pdf" if self.path.endswith(".pdf") else "text/html")
                self.send_header("content-length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *said: object) -> None:
                """Prints nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def below(self, beginning: str) -> int:
        """How many different paths with this beginning were fetched."""
        return sum(path.startswith(beginning) for path in self.fetched)


@contextmanager
def serving(pages: Pages) -> Iterator[Site]:
    site = Site(pages)
    with site.server:
        threading.Thread(target=site.server.serve_forever, daemon=True).start()
        yield site
        site.server.shutdown()


class Crawled:
    """A crawl that ran to its end, and how it ended."""

    def __init__(self, folder: Path, *seeds: str, pages: int | None = None, **settings: Any) -> None:
        self.folder = folder
        with Crawl(folder, seeds, allow_network=["127.0.0.0/8"], delay=0, workers=1, **settings) as crawl:
            self.ended = crawl.run(pages=pages)
        self.reader = open_crawl(folder)
        self.facts = self.reader.statistics()

    def rows(self, *reasons: str, match: str = "") -> list[dict[str, Any]]:
        """Refused URLs."""
        rows: list[dict[str, Any]] = self.reader.refused(1_000, reasons=reasons, match=match)["urls"]
        return rows


def links(*hrefs: str) -> bytes:
    return "".join(f'<p><a href="{href}">{href}</a></p>' for href in hrefs).encode()


def words_of(path: str) -> bytes:
    """A text that differs from path to path."""
    return f"<p>{' '.join(Random(path).choices(WORDS, k=40))}</p>".encode()


WORDS = re.findall(
    r"\w+", "the sea ship sailor wind storm sang went came under over old new grey green light dark home far"
)
PARAMETERS = "&amp;".join(f"p{number}=1" for number in range(14))
DEEP = "/deep/" + "/".join(f"x{number}" for number in range(25))
LONG = "/long/" + "y" * 300


def strange(path: str) -> bytes | None:
    """A site with real pages at suspicious URLs, links that are refused, and three traps."""
    navigation = links("/", "https://other.example/", "/paper.pdf")
    if path == "/robots.txt":
        return b"User-agent: *\nDisallow: /private/"
    if path == "/":
        real = (*(f"/en/en/en/p{number}" for number in range(40)), f"/search?{PARAMETERS}", DEEP, LONG)
        refused = (
            "/private/1",
            "/film.mp4",
            "gopher://old.example/",
            "ftp://old.example/pub/",
            "/" + "z" * 3_000,
            "/skip/this",
        )
        traps = ("/loop/a/a/a/", "/same/a/a/a/", "/session-0a1b2c3d4e5f6a7b/start")
        return navigation + links(*real, *refused, *traps) + b'<a rel="nofollow" href="/unfollowed">x</a>'
    if path.startswith("/loop/"):
        return navigation + f"<h1>{path}</h1>".encode() + links("a/", "b/")
    if path.startswith("/same/"):
        return navigation + b"<h1>Always the same</h1>" + links("a/", "/same/b/b/b/" + path[-8:])
    if path.startswith("/session-"):
        number = int(path[9:25], 16) + 1
        return navigation + b"<h1>Welcome</h1>" + links(f"/session-{number:016x}/start")
    if path.endswith(".pdf"):
        return b"%PDF-1.4"
    return navigation + words_of(path)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawled, Site]]:
    with serving(strange) as site:
        yield Crawled(tmp_path_factory.mktemp("refused") / "c", f"{site.url}/", exclude="/skip/"), site


def test_the_end_of_a_crawl_says_how_many_links_were_refused(crawl: tuple[Crawled, Site]) -> None:
    ran, _ = crawl
    said = re.fullmatch(
        r"everything known was read; (\d+) URLs that pages link to were refused: (.*); `centime refused (.*)` lists "
        "them",
        ran.ended,
    )
    assert said
    assert said[3] == str(ran.folder)
    counts = {reason: int(count) for count, reason in (part.split() for part in said[2].split(", "))}
    assert sum(counts.values()) == int(said[1])
    assert counts | {"trap": 0} == {
        "scope": 1,
        "suffix": 2,
        "nofollow": 1,
        "robots": 1,
        "exclude": 1,
        "longest-url": 1,
        "not-http": 2,
        "trap": 0,
    }
    assert all_statistics(look_at(ran.folder), 0.0)["refused"] == counts
    assert ran.reader.refused()["refused"] == counts


def test_every_refused_url_is_listed_with_its_reason_and_the_option_that_lets_it_in(
    crawl: tuple[Crawled, Site],
) -> None:
    ran, site = crawl
    rows = {row["url"]: row for row in ran.rows()}
    for url, reason, option in [
        ("https://other.example/", "scope", "--scope"),
        (f"{site.url}/paper.pdf", "suffix", "--also pdf"),
        (f"{site.url}/film.mp4", "suffix", "--also mp4"),
        (f"{site.url}/skip/this", "exclude", "--exclude"),
        (f"{site.url}/unfollowed", "nofollow", "--follow-nofollow"),
        (f"{site.url}/private/1", "robots", "no option"),
        (f"{site.url}/{'z' * 3_000}", "longest-url", "--longest-url"),
        ("gopher://old.example/", "not-http", "no option"),
        ("ftp://old.example/pub/", "not-http", "no option"),
    ]:
        assert rows[url]["reason"] == reason
        assert rows[url]["option"].startswith(option)
        assert reason == "robots" or rows[url]["linked_from"] == f"{site.url}/"
    html = sum(count for path, count in site.fetched.items() if path != "/robots.txt")
    assert rows["https://other.example/"]["links"] == html == ran.facts["refused_links"]["scope"]
    assert [row["url"] for row in ran.rows("suffix", match="mp4$")] == [f"{site.url}/film.mp4"]
    assert ran.reader.page(f"{site.url}/en/en/en/p7")["links_refused"] == {"scope": 1, "suffix": 1}
    first = ran.reader.page(f"{site.url}/")
    assert first["links_refused"]["suffix"] == 2
    assert f"{site.url}/film.mp4" in [row["url"] for row in first["refused_links"]]


def test_real_pages_with_suspicious_urls_are_all_read(crawl: tuple[Crawled, Site]) -> None:
    _, site = crawl
    assert site.below("/en/en/en/") == 40
    assert (site.below("/search"), site.below("/deep"), site.below("/long")) == (1, 1, 1)


def test_a_trap_is_left_after_a_few_visits_and_the_evidence_is_named(crawl: tuple[Crawled, Site]) -> None:
    ran, site = crawl
    for trap, evidence in [
        ("/loop/", "had a known text or none"),
        ("/same/", "had a known text or none"),
        ("/session-", "had a known text or none"),
    ]:
        assert 1 < site.below(trap) <= 16
        (row, *_) = ran.rows("trap", match=trap)
        assert evidence in row["why"]
        assert row["option"] == "--traps off"


def sessions(path: str) -> bytes | None:
    """A session that never ends: every page links to another session and to a new page, and rotates what it says."""
    number = int("".join(filter(str.isdigit, path)) or "0")
    news = links(f"/news/{number + 1}")
    if path == "/" or path.startswith("/session-"):
        quote = ("Look before you leap", "All that glitters is not gold", "Still waters run deep")[number % 3]
        clock = f"<p>It is {number % 24}:{number % 60}. You are visitor {number * 7}.</p><p>{quote}</p>"
        return clock.encode() + links(f"/session-{number + 1:016d}/start") + news
    return b"<p>No news today</p>" + links(f"/session-{number + 1:016d}/start")


def test_an_endless_session_ends_although_its_pages_also_link_to_other_new_pages(tmp_path: Path) -> None:
    with serving(sessions) as site:
        ran = Crawled(tmp_path / "c", f"{site.url}/", pages=300)
        assert site.below("/session-") <= 24
    assert ran.ended.startswith("everything known was read")
    assert "had a known text or none" in ran.rows("trap")[0]["why"]


@pytest.mark.parametrize("shape", [f"/list?{'&'.join(f'p{number}=1' for number in range(14))}&page=", "/a/a/a/a/b"])
def test_a_series_of_pages_each_of_which_links_to_the_next_one_alone_is_read_to_its_end(
    tmp_path: Path, shape: str
) -> None:
    count = 60

    def series(path: str) -> bytes | None:
        if path == "/robots.txt":
            return None
        number = 0 if path == "/" else int(path.removeprefix(shape))
        following = links(shape.replace("&", "&amp;") + str(number + 1)) if number < count else b""
        return f"<title>The story</title><p>Part {number}</p>".encode() + words_of(path) + following

    with serving(series) as site:
        ran = Crawled(tmp_path / "c", f"{site.url}/")
        assert site.below(shape) == count
    assert ran.ended == "everything known was read"


def test_the_counts_and_the_list_are_checked_and_survive(crawl: tuple[Crawled, Site]) -> None:
    ran, _ = crawl
    assert not check_crawl(ran.folder).problems


def test_other_options_let_in_what_was_refused_without_fetching_a_page_again(tmp_path: Path) -> None:
    def simple(path: str) -> bytes | None:
        return links("/paper.pdf", "/b.mp3", f"{other.url}/x", "/a/a/a") if path == "/" else words_of(path)

    with serving(words_of) as other, serving(simple) as site:
        first = Crawled(tmp_path / "c", f"{site.url}/", traps="shape")
        assert first.facts["refused"] == first.facts["refused_links"] == {"scope": 1, "suffix": 2, "trap": 1}
        second = Crawled(tmp_path / "c", also="pdf", scope="any", traps="off")
        assert second.facts["refused"] == second.facts["refused_links"] == {"suffix": 1}
        assert (site.fetched["/"], site.fetched["/paper.pdf"], site.fetched["/a/a/a"]) == (1, 1, 1)
        assert other.fetched["/x"] == 1
        assert second.reader.page(f"{site.url}/")["links_out"] == 3, "the links are links now"
    assert not check_crawl(tmp_path / "c").problems


def test_a_forum_is_read_whole_and_endless_queries_end(tmp_path: Path) -> None:
    def forum(path: str) -> bytes | None:
        if "=" not in path:
            return links("/forum?start=0", "/shop?sid=1") if path == "/" else None
        number = int(path.partition("=")[2])
        if path.startswith("/shop"):
            return b"<h1>Shop</h1>" + links(*(f"/shop?sid={number * 5 + item}" for item in range(5)))
        if path.startswith("/forum"):
            return links(*(f"/topic?t={number + item}" for item in range(20)), f"/forum?start={(number + 20) % 200}")
        return words_of(path) + links("/forum?start=0", f"/topic?t={(number + 1) % 200}")

    with serving(forum) as site:
        ran = Crawled(tmp_path / "c", f"{site.url}/", queries_per_path=50)
        assert (site.below("/topic"), site.below("/forum"), site.below("/shop")) == (200, 10, 50)
        assert ran.facts["refused"].keys() == {"trap"}
    assert "many queries of its path" in ran.rows()[0]["why"]
