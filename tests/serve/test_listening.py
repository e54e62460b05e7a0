"""The server on a real socket: slow clients, bytes that are no request, and events over a connection."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from centime.serve import application, listening
from centime.serve.access import Access
from centime.serve.listening import WindowServer, bound, served_crawls


@pytest.fixture
def port(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.3)
    made = bound("127.0.0.1", 0)
    server = WindowServer(served_crawls([small_folder]), Access(None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    yield made.getsockname()[1]
    server.should_exit = True
    thread.join()


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
