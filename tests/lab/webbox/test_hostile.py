import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import brotli
import pytest
from backports import zstd

from centime.lab.webbox import Served, WebBox, bomb, serve_in_process
from centime.lab.webbox.hostile import (
    BODIES,
    DRIP_SECONDS,
    HEADER_BYTES,
    LAUGHS,
    LINKS,
    NAMES,
    REDIRECTS,
    RESETS,
    STREAMS,
)

pytestmark = pytest.mark.compiled

ENOUGH = 3_000_000
SLOW = {"drip", "drip-body", "silence"}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_in_process(WebBox(hosts=1, pages=10, hostile=True)) as box:
        yield box


def memory(served: Served) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{served.process_id}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def read(served: Served, name: str, limit: int = ENOUGH, timeout: float = 20) -> bytes:
    """What comes back, up to a limit."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=timeout) as connection:
        connection.sendall(f"GET /{name} HTTP/1.1\r\nHost: hostile.localhost\r\nConnection: close\r\n\r\n".encode())
        parts, size = [], 0
        while size < limit:
            part = connection.recv(65_536)
            if not part:
                break
            parts.append(part)
            size += len(part)
        return b"".join(parts)


def test_the_root_lists_everything(served: Served) -> None:
    assert re.findall(rb'href="/([^"]+)"', read(served, "")) == [name.encode() for name in NAMES]


def test_the_server_needs_little_memory_whatever_it_sends_and_others_are_answered_meanwhile(served: Served) -> None:
    before = memory(served)
    open_ones = []
    for name in (
        "endless",
        "endless-chunks",
        "large-header",
        "many-headers",
        "informed",
        "million-links",
        "drip",
        "silence",
    ) * 3:
        connection = socket.create_connection(("127.0.0.1", served.port), timeout=20)
        connection.sendall(f"GET /{name} HTTP/1.1\r\nHost: hostile.localhost\r\n\r\n".encode())
        open_ones.append(connection)
    began = time.monotonic()
    assert served.truth("/time")["time"] > 0
    assert time.monotonic() - began < 5
    for connection in open_ones:
        connection.close()
    assert memory(served) - before < 40_000_000


@pytest.mark.parametrize("name", sorted(set(STREAMS) - SLOW))
def test_streams_send_what_they_promise(served: Served, name: str) -> None:
    got = read(served, name)
    endless = {"endless", "endless-chunks", "large-header", "many-headers", "informed", "million-links"}
    assert (len(got) >= ENOUGH) == (name in endless)
    assert got or name == "nothing"


def test_slow_answers_are_slow(served: Served) -> None:
    assert len(read(served, "drip", 1)) == 1
    with pytest.raises(TimeoutError):
        read(served, "silence", 1, timeout=0.1)
    assert DRIP_SECONDS >= 1
    with pytest.raises(TimeoutError):
        read(served, "drip-body", 1_000, timeout=0.1)


@pytest.mark.parametrize("name", RESETS)
def test_connections_are_reset(served: Served, name: str) -> None:
    with pytest.raises(ConnectionResetError):
        read(served, name)


@pytest.mark.parametrize("name", REDIRECTS)
def test_redirects_lead_where_nobody_should_go(served: Served, name: str) -> None:
    answer = read(served, name)
    assert answer.startswith(b"HTTP/1.1 302 ")
    assert f"\r\nLocation: {REDIRECTS[name]}\r\n".encode() in answer


def test_a_chain_of_redirects_has_no_end(served: Served) -> None:
    assert b"Location: /chain-1\r\n" in read(served, "chain-0")
    assert b"Location: /chain-1000\r\n" in read(served, "chain-999")
    assert read(served, "chain-x").startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("name", BODIES)
def test_bodies_come_whole(served: Served, name: str) -> None:
    content_type, body = BODIES[name]
    head, _, got = read(served, name).partition(b"\r\n\r\n")
    assert b"Content-Type: " + content_type in head
    assert got == body


@pytest.mark.parametrize(
    ("make", "unpacker"),
    [
        (bomb.gzip_bomb, lambda: (each := zlib.decompressobj(31), lambda part: each.decompress(part))[1]),
        (bomb.brotli_bomb, lambda: brotli.Decompressor().process),
        (bomb.zstd_bomb, lambda: zstd.ZstdDecompressor().decompress),
    ],
)
def test_bombs_unpack_to_all_that_they_promise(
    make: Callable[[], Iterator[bytes]],
    unpacker: Callable[[], Callable[[bytes], bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 64 * bomb.MEBIBYTE  # the time to unpack a gibibyte is worth saving
    monkeypatch.setattr(bomb, "COUNT", 64)
    monkeypatch.setattr(bomb, "BOMB_BYTES", size)
    monkeypatch.setattr(bomb, "CHECKSUM_OF_A_BOMB", zlib.crc32(bytes(size)))
    unpack = unpacker()
    packed = b"".join(make())
    assert sum(len(unpack(packed[begin : begin + 1_500])) for begin in range(0, len(packed), 1_500)) == size


def test_bombs_are_a_gibibyte_and_next_to_nothing_on_the_wire() -> None:
    assert bomb.COUNT * bomb.MEBIBYTE == bomb.BOMB_BYTES == 1 << 30
    checksum, zeros = 0, bytes(bomb.MEBIBYTE)
    for _ in range(bomb.COUNT):
        checksum = zlib.crc32(zeros, checksum)
    assert checksum == bomb.CHECKSUM_OF_A_BOMB
    assert [sum(map(len, make())) < 1_200_000 for make in (bomb.gzip_bomb, bomb.brotli_bomb, bomb.zstd_bomb)] == [
        True
    ] * 3


def test_what_is_promised_to_be_large_is() -> None:
    assert HEADER_BYTES == 100_000_000
    assert LINKS == 1_000_000
    assert LAUGHS.count(b"&lol") == 91
    assert BODIES["nested"][1].count(b"<div>") + BODIES["nested"][1].count(b"<b>") == 50_000
