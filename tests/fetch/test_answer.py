"""What is understood of an answer's head: status, redirects, validators, headers, heads kept for the archive."""

import gzip
from typing import Any

import pytest

from centime.fetch.fetcher import Fetcher
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, endless, fetch, fetch_all, run, settings


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("200 OK", Outcome.READ),
        ("204 No Content", Outcome.READ),
        ("299 Odd", Outcome.READ),
        ("304 Not Modified", Outcome.BAD_RESPONSE),
        ("305 Use Proxy", Outcome.BAD_RESPONSE),
        ("400 Bad", Outcome.CLIENT_ERROR),
        ("403 No", Outcome.CLIENT_ERROR),
        ("404 Not Found", Outcome.GONE),
        ("410 Gone", Outcome.GONE),
        ("429 Slow down", Outcome.BUSY),
        ("500 Oops", Outcome.SERVER_ERROR),
        ("503 Busy", Outcome.BUSY),
        ("599 Odd", Outcome.SERVER_ERROR),
        ("600 Odder", Outcome.BAD_RESPONSE),
        ("101 Switching Protocols", Outcome.BAD_RESPONSE),
    ],
)
def test_a_status_becomes_its_outcome(status: str, outcome: Outcome) -> None:
    response = fetch({"/page": answer(status=status)})
    assert response.outcome is outcome
    assert bool(response.detail) == (outcome is Outcome.BAD_RESPONSE)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (301, Outcome.MOVED),
        (308, Outcome.MOVED),
        (302, Outcome.MOVED_TEMPORARILY),
        (303, Outcome.MOVED_TEMPORARILY),
        (307, Outcome.MOVED_TEMPORARILY),
        (300, Outcome.MOVED_TEMPORARILY),
    ],
)
def test_a_redirect_is_a_value_and_is_not_followed(status: int, outcome: Outcome) -> None:
    (response,), server = fetch_all({"/a/page": answer(status=f"{status} There", Location="../b?q=ä b#c")}, ["/a/page"])
    assert (response.outcome, response.status) == (outcome, status)
    assert response.target == f"{server.url}/b?q=%C3%A4%20b#c"
    assert server.asked == ["/robots.txt", "/a/page"]


@pytest.mark.parametrize("headers", [{}, {"Location": ""}, {"Location": "http://[bad"}, {"Location": "http://a b/"}])
def test_a_redirect_to_nowhere_is_a_bad_response(headers: dict[str, Any]) -> None:
    assert fetch({"/page": answer(status="301 Moved", **headers)}).outcome is Outcome.BAD_RESPONSE


def test_a_redirect_loop_is_one_request_per_fetch() -> None:
    routes: dict[str, bytes | Handler] = {
        "/a": answer(status="302 Found", Location="/b"),
        "/b": answer(status="302 Found", Location="/a"),
    }
    responses, server = fetch_all(routes, ["/a", "/b", "/a"])
    assert [response.target.rpartition("/")[2] for response in responses] == ["b", "a", "b"]
    assert server.asked == ["/robots.txt", "/a", "/b", "/a"]


def test_an_unchanged_page_is_asked_for_by_its_validators() -> None:
    async def work() -> tuple[Response, Server]:
        async with Server({"/page": answer(status="304 Not Modified", ETag='"2"')}) as server:
            fetcher = Fetcher(settings())
            request = Request(url=f"{server.url}/page", etag='W/"1"', modified="Sun, 06 Nov 1994 08:49:37 GMT")
            response = await fetcher.fetch(request)
            await fetcher.close()
            return response, server

    response, server = run(work())
    assert response.outcome is Outcome.UNCHANGED
    assert response.header("etag") == '"2"'
    assert b'If-None-Match: W/"1"\r\n' in server.heads[-1]
    assert b"If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n" in server.heads[-1]


@pytest.mark.parametrize("head", [b"X: " + b"x" * 65_536, b"X-Long-Name: value\r\n" * 4000])
def test_headers_without_end_are_a_bad_response(head: bytes) -> None:
    response = fetch({"/page": endless(b"HTTP/1.1 200 OK\r\n", head)})
    assert response.outcome is Outcome.BAD_RESPONSE


def test_headers_above_the_limit_are_a_bad_response() -> None:
    lines = "".join(f"X-{number}: {'x' * 1000}\r\n" for number in range(100))
    page = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n".encode()
    assert fetch({"/page": page}).outcome is Outcome.BAD_RESPONSE
    assert fetch({"/page": page}, most_header_bytes=1 << 20).outcome is Outcome.READ


def test_heads_are_kept_for_the_archive() -> None:
    packed = gzip.compress(b"hello" * 100)
    response = fetch(
        {"/page?q=1": answer(packed, Content_Encoding="gzip", X_Mixed_Case="Yes")}, "/page?q=1", keep_heads=True
    )
    assert response.body == b"hello" * 100
    first, *lines = response.request_head.split(b"\r\n")
    assert first == b"GET /page?q=1 HTTP/1.1"
    assert b"Accept-Encoding: gzip, br, zstd" in lines
    assert lines[-2:] == [b"", b""]
    assert response.response_head.startswith(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-Mixed-Case: Yes\r\n")
    assert response.response_head.endswith(b"\r\n\r\n")


def test_the_kept_request_head_is_what_the_server_received() -> None:
    (response,), server = fetch_all({"/page": answer()}, ["/page"], keep_heads=True)
    assert response.request_head == server.heads[-1]


def test_headers_that_are_not_text_come_back_as_text() -> None:
    page = answer(b"x").replace(b"Content-Length", b"X-Utf: \xc3\xa4\r\nX-Latin: \xe4\r\nContent-Length")
    response = fetch({"/page": page})
    assert (response.header("x-utf"), response.header("x-latin")) == ("ä", "ä")
    assert [name.encode() + value.encode() for name, value in response.headers]


def test_retry_after_is_read_in_seconds_and_as_a_date() -> None:
    assert fetch({"/page": answer(status="503 Busy", Retry_After="120")}).retry_after == 120
    busy = answer(status="429 Busy", Date="Sun, 06 Nov 1994 08:49:37 GMT", Retry_After="Sun, 06 Nov 1994 08:50:37 GMT")
    assert fetch({"/page": busy}).retry_after == 60
    assert fetch({"/page": answer(status="503 Busy", Retry_After="9" * 400)}).retry_after == 86_400
    assert fetch({"/page": answer(status="503 Busy", Retry_After="tomorrow")}).retry_after == 0
