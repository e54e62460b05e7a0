"""Redirects: a chain has an end, and a page that wants its cookie back is read."""

from pathlib import Path

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.worker.chain import FRUITLESS, MOST_HOPS
from tests.crawl.served import Crawled, Routes, crawled, html
from tests.fetch.hostile import Choice, answer


def moved(to: str, cookie: str = "") -> bytes:
    return answer(b"", "302 Found", Location=to, **({"Set_Cookie": cookie} if cookie else {}))


def with_cookie(cookie: str, page: bytes, otherwise: bytes) -> Choice:
    """The page for who sends these cookies, another answer for the others."""
    wanted = set(cookie.split("; "))

    def chosen(head: bytes) -> bytes:
        lines = [line for line in head.decode("latin-1").lower().split("\r\n") if line.startswith("cookie: ")]
        sent = {part for line in lines for part in line.removeprefix("cookie: ").split("; ")}
        return page if wanted <= sent else otherwise

    return Choice(chosen)


def asked(crawl: Crawled) -> list[str]:
    return [path for path in crawl.asked if path != "/robots.txt"]


def test_an_endless_chain_of_redirects_ends_after_twenty(tmp_path: Path) -> None:
    routes: Routes = {f"/{number}": moved(f"/{number + 1}") for number in range(50)}
    crawl = crawled(tmp_path / "c", routes, "/0")
    assert asked(crawl) == [f"/{number}" for number in range(MOST_HOPS + 1)]
    assert crawl.page(f"/{MOST_HOPS}")["visits"][0]["detail"].startswith("20 redirects in a row led here")
    assert crawl.statistics()["refused"] == crawl.statistics()["refused_links"] == {"redirects": 1}
    assert crawl.page(f"/{MOST_HOPS}")["refused_links"][0]["url"] == f"{crawl.url}/{MOST_HOPS + 1}"
    assert check_crawl(tmp_path / "c").problems == []


def test_a_page_between_two_chains_starts_the_count_again(tmp_path: Path) -> None:
    routes: Routes = {f"/{number}": moved(f"/{number + 1}") for number in range(30)}
    crawl = crawled(tmp_path / "c", routes | {"/15": html("/16"), "/30": html()}, "/0")
    assert "/30" in crawl.paths


@pytest.mark.parametrize(("depth", "last"), [(0, "/2"), (1, "/3")])
def test_the_target_of_a_redirect_is_as_deep_as_the_page(tmp_path: Path, depth: int, last: str) -> None:
    routes: Routes = {"/0": moved("/1"), "/1": moved("/2"), "/2": html("/3"), "/3": html("/4"), "/4": html()}
    crawl = crawled(tmp_path / "c", routes, "/0", given={"max-depth": depth})
    assert asked(crawl)[-1] == last


def test_a_page_that_sets_a_cookie_and_redirects_to_itself_is_read(tmp_path: Path) -> None:
    routes: Routes = {
        "/": with_cookie("seen=1", html("/next"), moved("/", "seen=1; Path=/")),
        "/next": html(),
    }
    crawl = crawled(tmp_path / "c", routes, "/", given={"keep": "all"})
    assert asked(crawl) == ["/", "/", "/next"]
    page = crawl.page("/")
    assert (page["kind"], page["links_out"], page["visited"]) == ("html", 1, 1)
    assert b"cookie" not in crawl.heads[-1].lower(), "the cookie is of the chain alone"
    index = "".join(file.read_text() for file in (tmp_path / "c" / "bodies").glob("*.cdxj"))
    assert [index.count(f'"status": "{status}"') for status in (302, 200)] == [1, 2]
    assert check_crawl(tmp_path / "c").problems == []


def test_a_page_that_wants_its_cookie_back_from_another_page_is_read(tmp_path: Path) -> None:
    routes: Routes = {
        "/": html("/a", "/b"),
        "/a": with_cookie("new=1; seen=1", html("/c"), moved("/check?to=/a", "new=1; Path=/")),
        "/b": with_cookie("seen=1", html("/d"), moved("/check?to=/b")),  # sets its cookie in the second answer only
        "/check?to=/a": moved("/a", "seen=1; Path=/"),
        "/check?to=/b": moved("/b", "seen=1; Path=/"),
        "/c": html(),
        "/d": html(),
    }
    for cookies in (False, True):
        crawl = crawled(tmp_path / str(cookies), routes, "/", given={"cookies": cookies})
        assert {"/c", "/d"} <= crawl.paths
        assert [crawl.page(path)["kind"] for path in ("/a", "/b")] == ["html", "html"]


def elsewhere(url: str) -> str:
    """The same server under another name."""
    return url.replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("query", ["", "?to=a"])
def test_a_page_that_wants_its_cookie_back_over_another_host_is_read(tmp_path: Path, query: str) -> None:
    def routes(url: str) -> Routes:
        return {
            "/a": with_cookie("seen=1", html("/b"), moved(f"{elsewhere(url)}/sign-on{query}", "seen=1; Path=/")),
            f"/sign-on{query}": moved(f"{url}/a", "known=1; Path=/"),
            "/b": with_cookie("seen=1", html("/c"), moved(f"{elsewhere(url)}/sign-on{query}")),
            "/c": html(),
        }

    crawl = crawled(tmp_path / "c", routes, "/a", given={"scope": "any"})
    assert asked(crawl) == ["/a", f"/sign-on{query}", "/a", "/b", "/c"], "the other host is asked once"
    assert crawl.page("/a")["kind"] == "html"
    for head in crawl.heads:
        there = b"localhost" in head
        assert not (there and b"seen=1" in head)
        assert there or b"known=1" not in head
    outside = crawled(tmp_path / "d", routes, "/a")
    assert asked(outside) == ["/a"], "another host that is not in scope is never asked"


def test_single_sign_on_with_a_ticket_is_followed_to_the_page(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        return {
            "/page": with_cookie("in=1", html("/more"), moved(f"{elsewhere(url)}/login?service={url}/page")),
            f"/login?service={url}/page": moved(f"{url}/page?ticket=7", "session=5; Path=/"),
            "/page?ticket=7": moved("/page", "in=1; Path=/"),
            "/more": with_cookie("in=1", html(), answer(status="403 Forbidden")),
        }

    crawl = crawled(tmp_path / "c", routes, "/page", given={"scope": "any"})
    assert [crawl.page(path)["kind"] for path in ("/page", "/more")] == ["html", "html"]


def test_a_site_that_has_moved_to_another_host_is_not_followed_within_the_visit(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        def moving(number: int) -> Choice:
            there = moved(f"{elsewhere(url)}/{number}", "a=1")
            return Choice(lambda head: html() if b"Host: localhost" in head else there)

        return {"/": html(*(f"/{number}" for number in range(4))), **{f"/{n}": moving(n) for n in range(4)}}

    assert len(asked(crawled(tmp_path / "c", routes, "/", given={"scope": "any"}))) == 1 + 2 * 4


def test_the_target_of_a_redirect_gets_the_cookies_that_were_set_on_the_way(tmp_path: Path) -> None:
    routes: Routes = {
        "/in": moved("/home", "key=9; Path=/"),
        "/home": with_cookie("key=9", html("/inside"), answer(b"No cookies?", "403 Forbidden")),
        "/inside": html(),
    }
    crawl = crawled(tmp_path / "c", routes, "/in")
    assert "/inside" in crawl.paths
    assert crawl.page("/in")["leads_to"] == f"{crawl.url}/home"


def test_a_redirect_to_itself_without_a_cookie_is_asked_for_once_and_says_so(tmp_path: Path) -> None:
    routes: Routes = {"/": moved("/"), "/again": moved("/again", "a=1; Path=/")}
    crawl = crawled(tmp_path / "c", routes, "/", "/again")
    assert sorted(asked(crawl)) == ["/", "/again", "/again"]
    assert crawl.page("/")["visits"][0]["detail"] == "redirects to itself"
    assert crawl.page("/again")["visits"][0]["detail"] == "redirects to itself"


def test_a_host_with_cookies_on_ordinary_redirects_costs_few_more_requests(tmp_path: Path) -> None:
    count = 10
    routes: Routes = {"/": html(*(f"/old{number}" for number in range(count)))}
    for number in range(count):
        routes |= {f"/old{number}": moved(f"/new{number}", f"id={number}"), f"/new{number}": html()}
    crawl = crawled(tmp_path / "c", routes, "/", given={"delay": 0.001})  # one at a time
    assert len(asked(crawl)) == 1 + 2 * count + FRUITLESS


def test_a_cookie_never_goes_to_another_host(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        other = url.replace("127.0.0.1", "localhost")
        return {
            "/": moved(f"{other}/there", "key=9; Path=/"),
            "/there": moved(f"{url}/back"),
            "/back": html(),
        }

    for cookies in (False, True):
        crawl = crawled(tmp_path / str(cookies), routes, "/", given={"scope": "any", "cookies": cookies})
        there = [head for head in crawl.heads if b"GET /there" in head]
        assert 1 <= len(there) <= 2
        assert not any(b"cookie" in head.lower() for head in there)
        back = [head for head in crawl.heads if b"GET /back" in head]
        assert all(b"Cookie: key=9\r\n" in head for head in back)


def test_with_cookies_a_host_gets_what_it_has_set(tmp_path: Path) -> None:
    routes: Routes = {
        "/": answer(b"<a href=/inside>", Content_Type="text/html", Set_Cookie="id=7; Path=/"),
        "/inside": with_cookie("id=7", html("/deep"), answer(status="403 Forbidden")),
        "/deep": html(),
    }
    assert "/deep" not in crawled(tmp_path / "c", routes, "/").paths
    assert "/deep" in crawled(tmp_path / "d", routes, "/", given={"cookies": True}).paths
