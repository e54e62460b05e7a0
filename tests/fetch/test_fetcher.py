import asyncio
import gzip
import resource
import ssl
import zlib
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd

from centime.fetch.fetcher import Fetcher
from centime.fetch.resolver import Answer
from centime.fetch.settings import FetchSettings
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, closing, endless, fetch, fetch_all, hanging, reset, run, settings

MEBIBYTE = 1024 * 1024
CERTIFICATE = Path(__file__).parent / "self-signed.pem"


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
    [(301, Outcome.MOVED), (308, Outcome.MOVED), (302, Outcome.FOUND), (303, Outcome.FOUND), (307, Outcome.FOUND), (300, Outcome.FOUND)],
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
    routes: dict[str, bytes | Handler] = {"/a": answer(status="302 Found", Location="/b"), "/b": answer(status="302 Found", Location="/a")}
    responses, server = fetch_all(routes, ["/a", "/b", "/a"])
    assert [response.target.rpartition("/")[2] for response in responses] == ["b", "a", "b"]
    assert server.asked == ["/robots.txt", "/a", "/b", "/a"]


def test_a_redirect_to_a_private_address_is_refused_when_it_is_followed() -> None:
    async def work() -> tuple[Response, Response]:
        async with Server({"/page": answer(status="302 Found", Location="http://169.254.169.254/latest/meta-data")}) as server:
            fetcher = Fetcher(settings())
            first = await fetcher.fetch(Request(url=f"{server.url}/page"))
            second = await fetcher.fetch(Request(url=first.target))
            await fetcher.close()
            return first, second

    first, second = run(work())
    assert first.outcome is Outcome.FOUND
    assert second.outcome is Outcome.REFUSED_ADDRESS


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


def test_a_connection_is_kept_over_pages_errors_and_redirects() -> None:
    routes: dict[str, bytes | Handler] = {
        "/a": answer(b"x" * 100_000),
        "/b": answer(b"gone" * 1000, status="404 Not Found"),
        "/c": answer(b"look there", status="301 Moved", Location="/a"),
    }
    responses, server = fetch_all(routes, ["/a", "/b", "/c", "/a"])
    assert [response.outcome for response in responses] == [Outcome.READ, Outcome.GONE, Outcome.MOVED, Outcome.READ]
    assert server.connections == 1


def test_a_kept_connection_that_died_is_replaced() -> None:
    once = answer(b"last words")
    routes: dict[str, bytes | Handler] = {"/a": once, "/b": answer(b"alive")}

    async def work() -> tuple[Response, Server]:
        async with Server(routes) as server:
            fetcher = Fetcher(settings())
            await fetcher.fetch(Request(url=f"{server.url}/a"))
            server.routes["/b"] = dying
            response = await fetcher.fetch(Request(url=f"{server.url}/b"))
            await fetcher.close()
            return response, server

    async def dying(writer: asyncio.StreamWriter) -> None:
        routes["/b"] = answer(b"alive")
        writer.close()

    response, server = run(work())
    assert response.body == b"alive"
    assert server.asked == ["/robots.txt", "/a", "/b", "/b"]


def test_a_new_connection_that_breaks_is_not_tried_again() -> None:
    (response,), server = fetch_all({"/robots.txt": closing(answer()), "/page": reset()}, ["/page"])
    assert response.outcome is Outcome.NO_CONNECTION
    assert server.asked == ["/robots.txt", "/page"]


@pytest.mark.parametrize("length", [{}, {"Content_Length": str(1 << 40)}, {"Transfer_Encoding": "chunked"}])
def test_an_endless_body_is_cut_at_the_limit(length: dict[str, Any]) -> None:
    head = answer(**length).replace(b"Content-Length: 0\r\n", b"")
    piece = b"x" * 65_536
    chunk = b"10000\r\n" + piece + b"\r\n" if "Transfer_Encoding" in length else piece
    response = fetch({"/page": endless(head, chunk)}, most_body_bytes=MEBIBYTE)
    assert (response.outcome, response.truncated) == (Outcome.READ, True)
    assert response.body == b"x" * MEBIBYTE


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    response = fetch({"/page": answer(b"x" * 1000)}, most_body_bytes=1000)
    assert (len(response.body), response.truncated) == (1000, False)


def test_a_slow_drip_is_given_up() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(Content_Length="1000000"))
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.005)

    response = fetch({"/page": drip}, slow_grace_seconds=0.05, least_bytes_per_second=10_000.0)
    assert response.outcome is Outcome.TIMED_OUT
    assert "too slow" in response.detail


@pytest.mark.parametrize(
    ("data", "limit", "detail"),
    [
        (b"", {"first_byte_seconds": 0.05}, "no answer"),
        (b"HTTP/1.1 200 OK\r\nA: ", {"first_byte_seconds": 0.05}, "no answer"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", {"first_byte_seconds": 0.05}, "no answer"),
        (answer(Content_Length="10"), {"total_seconds": 0.1}, "not complete"),
    ],
)
def test_silence_is_given_up(data: bytes, limit: dict[str, Any], detail: str) -> None:
    response = fetch({"/page": hanging(data)}, **limit)
    assert response.outcome is Outcome.TIMED_OUT
    assert detail in response.detail
    assert response.asked_at > 0


def test_an_error_page_that_never_ends_is_still_an_error_page() -> None:
    response = fetch({"/page": endless(answer(status="404 Not Found", Content_Length=str(1 << 40)), b"x" * 65_536)})
    assert response.outcome is Outcome.GONE
    response = fetch({"/page": hanging(answer(status="404 Not Found", Content_Length="10"))}, total_seconds=0.1)
    assert response.outcome is Outcome.GONE


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        answer(b"zz\r\nnonsense", Transfer_Encoding="chunked"),
        answer(b"5\r\nhelloXX", Transfer_Encoding="chunked"),
        answer(b"short", Content_Length="100"),
        answer(b"5\r\nhello\r\n", Transfer_Encoding="chunked"),
        answer(b"\x1f\x8b\x08\x00garbage that is not deflate", Content_Encoding="gzip"),
        answer(gzip.compress(b"x" * 10_000)[:-12], Content_Encoding="gzip"),
        answer(b"x", Content_Encoding="gzip, gzip, gzip, gzip"),
    ],
)
def test_nonsense_is_a_bad_response(data: bytes) -> None:
    response = fetch({"/page": closing(data)})
    assert response.outcome is Outcome.BAD_RESPONSE
    assert response.detail


def test_bytes_after_the_body_do_not_reach_the_next_page() -> None:
    routes: dict[str, bytes | Handler] = {"/a": answer(b"hello and more", Content_Length="5"), "/b": answer(b"b")}
    responses, _ = fetch_all(routes, ["/a", "/b"])
    assert responses[0].outcome is Outcome.BAD_RESPONSE  # the length is wrong
    assert responses[1].body == b"b"


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\nContent-"])
def test_a_reset_connection_is_no_connection(data: bytes) -> None:
    assert fetch({"/page": reset(data)}).outcome in (Outcome.NO_CONNECTION, Outcome.BAD_RESPONSE)


def test_nobody_at_the_port_is_no_connection() -> None:
    async def work() -> Response:
        async with Server({}) as server:
            url = f"{server.url}/page"
        fetcher = Fetcher(settings())
        response = await fetcher.fetch(Request(url=url))
        await fetcher.close()
        return response

    response = run(work())
    assert response.outcome is Outcome.NO_CONNECTION
    assert response.detail


@pytest.mark.parametrize("head", [b"X: " + b"x" * 65_536, b"X-Long-Name: value\r\n" * 4000])
def test_headers_without_end_are_a_bad_response(head: bytes) -> None:
    response = fetch({"/page": endless(b"HTTP/1.1 200 OK\r\n", head)})
    assert response.outcome is Outcome.BAD_RESPONSE


def test_headers_above_the_limit_are_a_bad_response() -> None:
    lines = "".join(f"X-{number}: {'x' * 1000}\r\n" for number in range(100))
    page = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n".encode()
    assert fetch({"/page": page}).outcome is Outcome.BAD_RESPONSE
    assert fetch({"/page": page}, most_header_bytes=1 << 20).outcome is Outcome.READ


def _bombs() -> dict[str, bytes]:
    """A gibibyte of zeros in every coding: a mebibyte compressed once, and repeated."""
    zeros = bytes(MEBIBYTE)
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = deflate.compress(zeros) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(zeros) + deflate.flush(zlib.Z_FULL_FLUSH)
    brown = brotli.Compressor(quality=5)
    first = brown.process(zeros) + brown.flush()
    second = brown.process(zeros) + brown.flush()
    gzipped = head + 1023 * block
    return {
        "gzip": gzipped,
        "br": first + 1023 * second,
        "zstd": 1024 * zstd.compress(zeros),
        "gzip, gzip": gzip.compress(gzipped),
    }


def test_bombs_cost_the_limit_and_no_more() -> None:
    bombs = _bombs()

    async def work() -> list[tuple[Response, int]]:
        routes: dict[str, bytes | Handler] = {f"/{n}": answer(body, Content_Encoding=name) for n, (name, body) in enumerate(bombs.items())}
        async with Server(routes) as server:
            fetcher = Fetcher(settings(most_body_bytes=MEBIBYTE))
            seen = []
            for number in range(len(bombs)):
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                response = await fetcher.fetch(Request(url=f"{server.url}/{number}"))
                seen.append((response, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
            await fetcher.close()
            return seen

    for response, grown in run(work()):
        assert (response.outcome, response.truncated, response.detail) == (Outcome.READ, True, "")
        assert response.body == bytes(MEBIBYTE)
        assert grown < 32 * 1024  # kibibytes


def test_a_body_that_costs_and_gives_nothing_ends_at_the_limit_of_received_bytes() -> None:
    head = answer(Content_Encoding="gzip").replace(b"Content-Length: 0\r\n", b"") + gzip.compress(b"")[:10]
    response = fetch({"/page": endless(head, b"\x00\x00\x00\xff\xff" * 10_000)}, most_body_bytes=MEBIBYTE)
    assert (response.outcome, response.body, response.truncated) == (Outcome.READ, b"", True)


@pytest.mark.parametrize(("name", "member"), [("gzip", gzip.compress(b"")), ("zstd", zstd.compress(b""))])
def test_members_without_end_are_a_bad_response(name: str, member: bytes) -> None:
    head = answer(Content_Encoding=name).replace(b"Content-Length: 0\r\n", b"")
    assert fetch({"/page": endless(head, member * 1000)}).outcome is Outcome.BAD_RESPONSE


def test_heads_and_the_raw_body_are_kept_for_the_archive() -> None:
    packed = gzip.compress(b"hello" * 100)
    response = fetch({"/page?q=1": answer(packed, Content_Encoding="gzip", X_Mixed_Case="Yes")}, "/page?q=1", keep_heads=True)
    assert response.body == b"hello" * 100
    assert response.raw_body == packed
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


def test_a_self_signed_server_is_bad_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def work() -> Response:
        async with Server({"/page": answer(b"x")}, context) as server:
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=f"https://localhost:{server.port}/page"))
            await fetcher.close()
            return response

    assert run(work()).outcome is Outcome.BAD_TLS


def test_a_server_whose_certificate_is_trusted_is_read_over_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def work() -> Response:
        async with Server({"/page": answer(b"x")}, context) as server:
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=f"https://localhost:{server.port}/page"))
            await fetcher.close()
            return response

    assert run(work()).body == b"x"


def test_plain_http_on_a_tls_port_is_bad_tls() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer(status="400 Bad Request"))
        writer.close()

    async def work() -> Response:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=f"https://localhost:{server.sockets[0].getsockname()[1]}/page"))
            await fetcher.close()
            return response

    assert run(work()).outcome is Outcome.BAD_TLS


@pytest.mark.parametrize("host", ["localhost", "a.b.localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "[::]"])
def test_this_machine_is_refused_unless_allowed(host: str) -> None:
    async def work() -> tuple[Response, Server]:
        async with Server({}) as server:
            fetcher = Fetcher(FetchSettings(delay_seconds=0.0))
            response = await fetcher.fetch(Request(url=f"http://{host}:{server.port}/page"))
            await fetcher.close()
            return response, server

    response, server = run(work())
    assert response.outcome in (Outcome.REFUSED_ADDRESS, Outcome.NO_ADDRESS)
    assert server.connections == 0


def test_a_name_that_is_rebound_to_a_private_address_is_refused() -> None:
    answers = iter([Answer(("127.0.0.1",), 0.0), Answer(("127.0.0.2",), 0.0)])

    async def lookup(name: str) -> Answer:
        return next(answers, Answer(("10.0.0.1",), 0.0))

    async def work() -> tuple[list[Response], Server]:
        async with Server({"/a": answer(b"a"), "/b": answer(b"b")}) as server:
            fetcher = Fetcher(FetchSettings(delay_seconds=0.0, allow_networks=("127.0.0.1/32",)), lookup=lookup)
            url = f"http://rebound.example:{server.port}"
            responses = [await fetcher.fetch(Request(url=f"{url}{path}")) for path in ("/a", "/b", "/a")]
            await fetcher.close()
            return responses, server

    responses, server = run(work())
    assert responses[0].outcome in (Outcome.READ, Outcome.REFUSED_ADDRESS)
    assert [response.outcome for response in responses[1:]] == [Outcome.REFUSED_ADDRESS] * 2
    assert server.connections <= 1


def test_a_name_without_an_address_is_said_to_have_none() -> None:
    async def lookup(name: str) -> Answer:
        return Answer((), 300.0, f"{name} has no address")

    async def work() -> Response:
        fetcher = Fetcher(FetchSettings(), lookup=lookup)
        response = await fetcher.fetch(Request(url="http://nowhere.example/"))
        await fetcher.close()
        return response

    response = run(work())
    assert response.outcome is Outcome.NO_ADDRESS
    assert "nowhere.example" in response.detail


@pytest.mark.parametrize("url", ["", "ftp://x/", "http://x", "mailto:a@b", "http:///", "http://a b/", "http://[::1/", "http://x:99999/"])
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


def test_no_more_than_the_given_connections_are_used_at_once() -> None:
    under_way = most = 0

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        writer.write(answer(b"x"))

    async def work() -> list[Response]:
        async with Server({f"/{number}": slow for number in range(12)}) as server:
            fetcher = Fetcher(settings(connections=3))
            responses = await asyncio.gather(*(fetcher.fetch(Request(url=f"{server.url}/{number}")) for number in range(12)))
            await fetcher.close()
            return list(responses)

    assert {response.outcome for response in run(work())} == {Outcome.READ}
    assert most == 3


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
