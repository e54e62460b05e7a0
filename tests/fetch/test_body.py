"""What is read of a body, however long, slow, coded or broken it is."""

import asyncio
import gzip
import resource
import zlib
from typing import Any

import brotli
import pytest
from backports import zstd

from centime.fetch.fetcher import Fetcher
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, closing, endless, fetch, hanging, run, settings

MEBIBYTE = 1024 * 1024


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
        answer(gzip.compress(b"x" * 10_000, mtime=0)[:-12], Content_Encoding="gzip"),
        answer(b"x", Content_Encoding="gzip, gzip, gzip, gzip"),
    ],
)
def test_nonsense_is_a_bad_response(data: bytes) -> None:
    response = fetch({"/page": closing(data)})
    assert response.outcome is Outcome.BAD_RESPONSE
    assert response.detail.isprintable()
    assert "\\n" not in response.detail
    assert 0 < len(response.detail) <= 300


def test_a_doubtful_length_is_told_in_one_line() -> None:
    twice = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi"
    assert fetch({"/page": closing(twice)}).detail == "bad HTTP: Duplicate Content-Length"


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
        routes: dict[str, bytes | Handler] = {
            f"/{n}": answer(body, Content_Encoding=name) for n, (name, body) in enumerate(bombs.items())
        }
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


@pytest.mark.parametrize(("name", "member"), [("gzip", gzip.compress(b"", mtime=0)), ("zstd", zstd.compress(b""))])
def test_members_without_end_are_a_bad_response(name: str, member: bytes) -> None:
    head = answer(Content_Encoding=name).replace(b"Content-Length: 0\r\n", b"")
    assert fetch({"/page": endless(head, member * 1000)}).outcome is Outcome.BAD_RESPONSE
