"""An answer is as long as it says, however the network cuts it and whatever comes behind it."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.framing import body_length
from centime.model.outcome import Outcome
from tests.fetch.hostile import Handler, answer, fetch_all

PAGE = answer(b"hello", Content_Length="5")
MORE = b" and more"


def in_pieces(*pieces: bytes) -> Handler:
    """Write the pieces, each in a segment of its own: it is sent when everybody had time to read the one before."""

    async def handle(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            for _ in range(20):
                await asyncio.sleep(0)

    return handle


@pytest.mark.parametrize(
    "pieces",
    [
        [PAGE + MORE],
        [PAGE, MORE],
        [PAGE[:-5], b"hello" + MORE],
        [PAGE[:-3], PAGE[-3:] + MORE],
        [PAGE[:20], PAGE[20:] + MORE],
        [PAGE[:-7], PAGE[-7:] + MORE],  # within the end of the head
        [b"HTTP/1.1 100 Continue\r\n\r\n" + PAGE + MORE],
        [b"HTTP/1.1 100 Continue\r\n\r\n", PAGE, MORE],
        [PAGE + PAGE],  # another answer, which nobody asked for
        [PAGE.replace(b"\r\n", b"\n") + MORE],
    ],
)
def test_a_body_longer_than_announced_is_what_was_announced_and_the_connection_is_closed(pieces: list[bytes]) -> None:
    routes: dict[str, bytes | Handler] = {"/a": in_pieces(*pieces), "/b": answer(b"b")}
    responses, server = fetch_all(routes, ["/a", "/b", "/a", "/b"])
    assert [(response.outcome, response.body) for response in responses] == [
        (Outcome.READ, b"hello"),
        (Outcome.READ, b"b"),
    ] * 2
    assert server.connections == 3  # one for robots.txt and the first page, one for two, one for the last


def test_bytes_that_come_with_the_next_answer_do_not_spoil_it() -> None:
    routes: dict[str, bytes | Handler] = {"/a": PAGE}

    async def late(writer: asyncio.StreamWriter) -> None:
        routes["/b"] = answer(b"b")
        writer.write(MORE + answer(b"b"))

    routes["/b"] = late
    responses, server = fetch_all(routes, ["/a", "/b"])
    assert [response.body for response in responses] == [b"hello", b"b"]
    assert server.asked == ["/robots.txt", "/a", "/b", "/b"]


def test_an_answer_without_a_body_ends_with_its_head() -> None:
    routes: dict[str, bytes | Handler] = {
        "/a": answer(status="204 No Content", Content_Length="9") + MORE,
        "/b": answer(b"b"),
    }
    responses, server = fetch_all(routes, ["/a", "/b"])
    assert [(response.outcome, response.body) for response in responses] == [(Outcome.READ, b""), (Outcome.READ, b"b")]
    assert server.connections == 2


@given(st.lists(st.integers(0, len(PAGE + MORE)), max_size=4))
def test_no_cut_makes_a_difference(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(PAGE + MORE)]
    pieces = [(PAGE + MORE)[begin:end] for begin, end in pairwise(places)]
    (response,), _ = fetch_all({"/page": in_pieces(*pieces)}, ["/page"])
    assert (response.outcome, response.body) == (Outcome.READ, b"hello")


@pytest.mark.parametrize(
    ("head", "length"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 5),
        (b"HTTP/1.1 200 OK\r\ncontent-LENGTH:\t5 \r\n\r\n", 5),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 0),
        (b"HTTP/1.1 200 OK\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        (b"HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\n\r\n", None),
        (b"SSH-2.0\r\nContent-Length: 5\r\n\r\n", None),
    ],
)
def test_a_length_is_believed_where_there_is_one_sound_one(head: bytes, length: int | None) -> None:
    assert body_length(head) == length
