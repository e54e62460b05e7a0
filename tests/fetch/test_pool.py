"""How servers are reached: addresses that are refused, connections that are kept or break, TLS."""

import asyncio
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from centime.fetch.fetcher import Fetcher
from centime.fetch.resolver import Answer
from centime.fetch.settings import FetchSettings
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, closing, fetch, fetch_all, hanging, reset, run, settings

CERTIFICATE = Path(__file__).parent / "self-signed.pem"


def test_a_redirect_to_a_private_address_is_refused_when_it_is_followed() -> None:
    async def work() -> tuple[Response, Response]:
        async with Server(
            {"/page": answer(status="302 Found", Location="http://169.254.169.254/latest/meta-data")}
        ) as server:
            fetcher = Fetcher(settings())
            first = await fetcher.fetch(Request(url=f"{server.url}/page"))
            second = await fetcher.fetch(Request(url=first.target))
            await fetcher.close()
            return first, second

    first, second = run(work())
    assert first.outcome is Outcome.MOVED_TEMPORARILY
    assert second.outcome is Outcome.REFUSED_ADDRESS


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


def fetch_over_tls(page: bytes | Handler | None = None, times: int = 1, **changes: Any) -> tuple[Response, Server]:
    """The last response of a server that shows our certificate, and the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def work() -> tuple[Response, Server]:
        async with Server({"/page": page or answer(b"x")}, context) as server:
            fetcher = Fetcher(settings(**changes))
            for _ in range(times):
                response = await fetcher.fetch(Request(url=f"https://localhost:{server.port}/page"))
            await fetcher.close()
            return response, server

    return run(work())


def test_a_self_signed_server_is_bad_tls() -> None:
    assert fetch_over_tls()[0].outcome is Outcome.BAD_TLS


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is one that we trust."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))


@pytest.mark.usefixtures("trusted")
def test_a_server_whose_certificate_is_trusted_is_read_over_tls_and_its_connection_is_kept() -> None:
    response, server = fetch_over_tls(times=3)
    assert response.body == b"x"
    assert server.connections == 1


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("head", [answer(Content_Length="3000000"), b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_long_body_is_read_over_tls(head: bytes) -> None:
    response, _ = fetch_over_tls(closing(head + b"x" * 3_000_000))
    assert (response.outcome, len(response.body), response.truncated) == (Outcome.READ, 3_000_000, False)


@pytest.mark.usefixtures("trusted")
def test_a_server_that_sends_without_end_over_tls_is_cut_off_at_once() -> None:
    async def flood(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(Content_Length=str(1 << 40)))
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            await asyncio.sleep(0)  # uvloop's writer over TLS need never wait

    began = time.monotonic()
    response, _ = fetch_over_tls(flood, most_body_bytes=1 << 20)
    assert (response.outcome, len(response.body), response.truncated) == (Outcome.READ, 1 << 20, True)
    assert time.monotonic() - began < 10


def test_a_handshake_that_never_ends_is_given_up_and_its_connection_closed() -> None:
    closed = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # the hello, and then the end
        closed.set()
        writer.close()

    async def work() -> tuple[Response, int | float]:
        async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
            fetcher = Fetcher(settings(connect_seconds=0.2))
            response = await fetcher.fetch(Request(url=f"https://localhost:{server.sockets[0].getsockname()[1]}/page"))
            await asyncio.wait_for(closed.wait(), 5)
            sockets = fetcher.statistics()["open_sockets"]
            await fetcher.close()
            return response, sockets

    response, sockets = run(work())
    assert response.outcome is Outcome.NO_ROBOTS
    assert "no connection after" in response.detail
    assert sockets == 0


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


@pytest.mark.parametrize(
    "host", ["localhost", "a.b.localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "[::]"]
)
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
            responses = await asyncio.gather(
                *(fetcher.fetch(Request(url=f"{server.url}/{number}")) for number in range(12))
            )
            await fetcher.close()
            return list(responses)

    assert {response.outcome for response in run(work())} == {Outcome.READ}
    assert most == 3


def fetch_in_turn(hosts: list[str], pause: float = 0.0, page: Handler | None = None, **changes: Any) -> tuple[Any, ...]:
    """How many connections are open after one page of each host, and how many were made in all."""

    async def work() -> tuple[Any, ...]:
        async with Server({"/page": page or answer(b"x")}) as server:
            fetcher = Fetcher(settings(**changes))
            for host in hosts:
                response = await fetcher.fetch(Request(url=f"http://{host}.localhost:{server.port}/page"))
                assert response.body == b"x"
                await asyncio.sleep(pause)
            sockets = fetcher.statistics()["open_sockets"]
            await fetcher.close()
            assert fetcher.statistics()["open_sockets"] == 0
            return sockets, server.connections

    return run(work())


def test_as_many_connections_are_kept_as_given_and_the_host_used_least_lately_loses_its_own() -> None:
    assert fetch_in_turn(["a", "b", "c", "d"], connections=3) == (3, 4)
    assert fetch_in_turn(["a", "b", "a", "c", "a", "d", "a"], connections=2) == (2, 4)
    assert fetch_in_turn(["a", "b", "a"], connections=1) == (1, 3)


def test_a_connection_is_not_kept_longer_than_given() -> None:
    assert fetch_in_turn(["a", "a"], pause=0.3, keep_alive_seconds=0.1) == (0, 2)
    assert fetch_in_turn(["a", "a"], keep_alive_seconds=0.1) == (1, 1)


def test_a_kept_connection_that_brings_bytes_is_closed() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"x"))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"late")

    assert fetch_in_turn(["a", "a"], pause=0.2, page=late) == (0, 2)


def test_a_name_that_leads_elsewhere_is_reached_over_another_connection() -> None:
    addresses = iter(["127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2"])

    async def lookup(name: str) -> Answer:
        return Answer((next(addresses),), 0.0)

    async def work() -> list[str]:
        async with Server({"/page": answer(b"x")}) as server, Server({}) as other:
            assert other.port
            fetcher = Fetcher(settings(), lookup=lookup)
            url = f"http://moving.example:{server.port}/page"
            found = [await fetcher.fetch(Request(url=url)) for _ in range(3)]
            await fetcher.close()
            assert server.connections == 1
            return [response.address for response in found]

    assert run(work()) == ["127.0.0.1", "127.0.0.2", "127.0.0.2"]


def test_a_connection_whose_request_was_given_up_is_not_used_again() -> None:
    routes: dict[str, bytes | Handler] = {"/a": hanging(b""), "/b": answer(b"b")}
    responses, server = fetch_all(routes, ["/b", "/a", "/b"], first_byte_seconds=0.1)
    assert [response.outcome for response in responses] == [Outcome.READ, Outcome.TIMED_OUT, Outcome.READ]
    assert server.connections == 2


def test_a_kept_connection_holds_no_body() -> None:
    async def work() -> None:
        async with Server({"/page": answer(b"x" * 50_000, status="404 Not Found")}) as server:
            fetcher = Fetcher(settings())
            await fetcher.fetch(Request(url=f"{server.url}/page"))
            exchange = fetcher._exchange
            assert exchange is not None
            assert [connection.take() for connection in exchange._pool._open] == [b""]
            await fetcher.close()

    run(work())
