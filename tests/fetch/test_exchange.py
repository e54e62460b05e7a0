"""What is sent: nothing that comes from the web can end a line of a request, and no request is sent twice in vain."""

import asyncio

import pytest

from centime.fetch.fetcher import Fetcher
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, fetch_all, run, settings


def asked(request: Request) -> tuple[Response, Server]:
    """The response to a request whose URL is a path, and the server."""

    async def work() -> tuple[Response, Server]:
        async with Server({"/page": answer(b"x")}) as server:
            fetcher = Fetcher(settings())
            url = server.url + request.url
            response = await fetcher.fetch(Request(url=url, etag=request.etag, modified=request.modified))
            await fetcher.close()
            return response, server

    return run(work())


@pytest.mark.parametrize("path", ["/page\r\nX: y", "/page\nX", "/page HTTP/1.0", "/page\x00", "/page\t", "/ä", "/\x7f"])
def test_a_url_that_is_not_canonical_is_not_sent(path: str) -> None:
    response, server = asked(Request(url=path))
    assert (response.outcome, response.detail) == (Outcome.BAD_RESPONSE, "not the canonical URL of a page")
    assert server.asked == ["/robots.txt"]


@pytest.mark.parametrize("value", ['"1"\r\nX: y', '"1"\n', '"1"\x00', '"1"\x85'])
def test_a_validator_that_could_end_a_line_is_not_sent(value: str) -> None:
    response, server = asked(Request(url="/page", etag=value, modified=value))
    assert response.outcome is Outcome.READ
    assert b"If-" not in server.heads[-1]
    assert b"X: y" not in server.heads[-1]


def test_a_validator_that_is_no_ascii_is_sent_as_it_was_received() -> None:
    _, server = asked(Request(url="/page", etag='"ä"'))
    assert 'If-None-Match: "ä"\r\n'.encode() in server.heads[-1]


def test_a_fragment_is_not_sent() -> None:
    routes: dict[str, bytes | Handler] = {"/robots.txt": answer(status="301 Moved", Location="/rules#here")}
    _, server = fetch_all(routes, ["/page"])
    assert server.asked == ["/robots.txt", "/rules", "/page"]


def test_what_is_sent_is_one_head_in_the_usual_order() -> None:
    _, server = asked(Request(url="/page", etag='"1"', modified="Sun, 06 Nov 1994 08:49:37 GMT"))
    assert server.heads[-1].decode().split("\r\n") == [
        "GET /page HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: centime/0.1 (no contact given)",
        "Accept: */*",
        "Accept-Encoding: gzip, br, zstd",
        'If-None-Match: "1"',
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "",
        "",
    ]


def test_kept_connections_that_die_again_and_again_are_given_up() -> None:
    """Each try is over a connection that another request has left behind; the third failure is the outcome."""

    async def dying(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def work() -> tuple[Response, Server]:
        started = asyncio.Event()
        waiting = 0

        async def together(writer: asyncio.StreamWriter) -> None:
            nonlocal waiting
            waiting += 1
            if waiting == 5:
                started.set()
            await started.wait()
            writer.write(answer(b"x"))

        async with Server({"/slow": together, "/page": dying}) as server:
            fetcher = Fetcher(settings())
            await asyncio.gather(*(fetcher.fetch(Request(url=f"{server.url}/slow")) for _ in range(5)))
            response = await fetcher.fetch(Request(url=f"{server.url}/page"))
            await fetcher.close()
            return response, server

    response, server = run(work())
    assert response.outcome is Outcome.NO_CONNECTION
    assert server.asked.count("/page") == 3


def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    async def breaking(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"half", Content_Length="8"))
        await writer.drain()
        writer.close()

    responses, server = fetch_all({"/a": answer(b"x"), "/b": breaking}, ["/a", "/b"])
    assert [response.outcome for response in responses] == [Outcome.READ, Outcome.BAD_RESPONSE]
    assert responses[1].detail == "the body ended after 4 of 8 bytes"
    assert server.asked == ["/robots.txt", "/a", "/b"]
