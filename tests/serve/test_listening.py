"""The server on a real socket: slow clients, bytes that are no request, and events over a connection."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from centime.serve import application, listening
from centime.serve.access import Access
from centime.serve.listening import WindowServer, bound, served_crawls


@pytest.fixture
def port(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(application.Window, "static", _endless)
    made = bound("127.0.0.1", 0)
    server = WindowServer(served_crawls([small_folder]), Access(None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    yield made.getsockname()[1]
    server.should_exit = True
    thread.join()


async def _endless(window: application.Window, request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield bytes(65_536)
            await asyncio.sleep(0.001)

    return StreamingResponse(pieces(), media_type="text/event-stream" if "events" in request.url.path else "text/html")


def said(port: int, data: bytes, most: int = 1 << 20) -> bytes:
    """What the server answers until it closes the connection, or `most` bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(data)
        found = b""
        while len(found) < most and (piece := client.recv(65_536)):
            found += piece
        return found


def test_a_client_that_does_not_send_its_request_in_time_is_let_go(port: int) -> None:
    assert said(port, b"") == b""
    assert said(port, b"GET / HTTP/1.1\r\nHost: 127") == b""
    first = b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answered = said(port, first + b"GET /he")
    assert answered.count(b"HTTP/1.1 200 OK") == 1


def test_bytes_that_are_no_request_are_refused_and_the_next_is_answered(port: int) -> None:
    assert b"400" in said(port, b"\x16\x03\x01 nonsense\r\n\r\n")
    close = b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answered = said(port, close)
    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert b"server: uvicorn" not in answered.lower()


def test_events_come_over_a_connection_that_stays_open(port: int, small_folder: Path) -> None:
    path = f"/c/{small_folder.name}/events?kinds=figures"
    found = said(port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), most=400)
    assert b"text/event-stream" in found
    assert b"event: figures" in found


def test_a_client_that_does_not_send_its_body_in_time_is_answered_and_let_go(
    port: int, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "BODY_SECONDS", 0.3)
    head = "Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n"
    found = said(port, f"POST /api/v1/crawls/{small_folder.name}/orders HTTP/1.1\r\n{head}{{".encode())
    assert found.startswith(b"HTTP/1.1 408")
    assert said(port, b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


def _drops_are_refused(client: socket.socket) -> bool:
    """Whether nobody reads any more what a client sends."""
    try:
        for _ in range(1_000):
            client.sendall(b" ")
            time.sleep(0.01)
    except OSError:
        return True
    return False


def test_a_client_that_drips_its_body_is_let_go_after_the_answer(
    port: int, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(listening, "LINGER_SECONDS", 0.2)
    for path, length, status in (
        (f"/c/{small_folder.name}/orders", 1_000, b"408"),
        ("/push/nobody/webhook", 1_000, b"404"),  # answered before its body is looked at
        ("/help", 1 << 30, b"413"),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{{".encode())
            found = b""
            while piece := client.recv(65_536):  # until the server ends the connection
                found += piece
            assert found.startswith(b"HTTP/1.1 " + status)
            assert b"connection: close" in found
            assert _drops_are_refused(client)


def test_a_client_that_does_not_take_its_answer_is_let_go_but_not_one_of_events(
    port: int, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "REQUEST_SECONDS", 0.3)
    path = f"/c/{small_folder.name}/events?kinds=figures"
    with ExitStack() as held:
        events, slow, slow_events = (
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(3)
        )
        events.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert events.recv(12) == b"HTTP/1.1 200"
        slow.sendall(b"GET /static/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow_events.sendall(b"GET /static/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1.0)
        for client in (slow, slow_events):
            with suppress(ConnectionResetError):
                while client.recv(1 << 20):
                    pass
        events.settimeout(3.0)
        while b"event: figures" not in events.recv(65_536):  # once a second
            pass


def test_one_address_cannot_take_all_connections(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 6)
    monkeypatch.setattr(listening, "HEAD_SECONDS", 60.0)
    with ExitStack() as held:
        clients = [held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(8)]
        refused = [client.recv(65_536) for client in clients[4:]]
        assert all(one.startswith(b"HTTP/1.1 503") for one in refused)
        for client in clients[:4]:
            client.sendall(b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"


def test_connections_count_for_an_address_or_for_a_network_of_64_bits() -> None:
    assert listening._network(("192.0.2.1", 1)) == "192.0.2.1"
    assert listening._network(("2001:db8::1", 1)) == listening._network(("2001:db8::2:3", 2))
    assert listening._network(("2001:db8::1", 1)) != listening._network(("2001:db8:0:1::1", 1))
    assert listening._network(None) == ""
