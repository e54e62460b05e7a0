"""What the fetcher gives for a page, whatever it is asked for."""

import asyncio

import pytest

from centime.fetch.fetcher import Fetcher
from centime.fetch.resolver import Answer
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Server, answer, fetch, hanging, run, settings


def test_a_page_comes_back_with_all_that_is_known_of_it() -> None:
    page = answer(b"hello", Content_Type="text/html", ETag='"1"', X_Twice="a") + b""
    response = fetch({"/page": page.replace(b"X-Twice: a", b"X-Twice: a\r\nX-Twice: b")})
    assert (response.outcome, response.status, response.body) == (Outcome.READ, 200, b"hello")
    assert response.headers == (
        ("content-type", "text/html"),
        ("etag", '"1"'),
        ("x-twice", "a"),
        ("x-twice", "b"),
        ("content-length", "5"),
    )
    assert response.address == "127.0.0.1"
    assert 0 < response.seconds < 5
    assert 50 < response.wire_bytes < 200
    assert response.request_head == response.response_head == b""


@pytest.mark.parametrize(
    "url", ["", "ftp://x/", "http://x", "mailto:a@b", "http:///", "http://a b/", "http://[::1/", "http://x:99999/"]
)
def test_what_is_no_page_is_no_exception(url: str) -> None:
    async def lookup(name: str) -> Answer:
        return Answer((), 300.0)

    async def work() -> Response:
        fetcher = Fetcher(settings(), lookup=lookup)
        response = await fetcher.fetch(Request(url=url))
        await fetcher.close()
        return response

    assert run(work()).outcome in (Outcome.BAD_RESPONSE, Outcome.NO_ADDRESS)


def test_no_credentials_are_sent() -> None:
    async def work() -> tuple[Response, Server]:
        async with Server({"/page": answer(b"x")}) as server:
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=f"http://me:secret@127.0.0.1:{server.port}/page"))
            await fetcher.close()
            return response, server

    response, server = run(work())
    assert response.outcome is Outcome.READ
    assert not any(b"uthorization" in head for head in server.heads)


def test_a_cancelled_fetch_leaves_nothing_behind() -> None:
    async def work() -> int:
        async with Server({"/page": hanging(b""), "/other": answer(b"x")}) as server:
            fetcher = Fetcher(settings(connections=1))
            task = asyncio.create_task(fetcher.fetch(Request(url=f"{server.url}/page")))
            while "/page" not in server.asked:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            response = await fetcher.fetch(Request(url=f"{server.url}/other"))
            await fetcher.close()
            return response.outcome

    assert run(work()) == Outcome.READ


def test_statistics_count_what_was_asked() -> None:
    async def work() -> dict[str, int | float]:
        async with Server({"/page": answer(b"x")}) as server:
            fetcher = Fetcher(settings())
            for path in ("/page", "/page", "/none"):
                await fetcher.fetch(Request(url=server.url + path))
            counted = fetcher.statistics()
            await fetcher.close()
            return counted

    counted = run(work())
    assert (counted["requests"], counted["robots_requests"], counted["read"], counted["gone"]) == (4, 1, 2, 1)
    assert counted["dns_questions"] == 0
    assert counted["open_sockets"] == 1
