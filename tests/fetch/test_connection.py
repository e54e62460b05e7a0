"""An answer is as long as it says, however the network cuts it and whatever comes behind it.

Over 400 lines: all cases share the answers and servers at the top.
"""

import asyncio
import socket
import struct
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from centime.fetch.connection import ENOUGH, Connection
from centime.fetch.failure import BadAnswer
from centime.fetch.fetcher import Fetcher
from centime.fetch.watch import Attempt
from centime.model.outcome import Outcome
from centime.model.response import Request
from tests.fetch.hostile import Handler, answer, closing, endless, fetch, fetch_all, hanging, run, settings

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
    ("head", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\ncontent-LENGTH:\t5 \r\n\r\n", b"hello"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"hello and more"),
        (b"HTTP/1.0 200 OK\r\n\r\n", b"hello and more"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", b"hello and more"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", b"hello and more"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", None),
        (b"SSH-2.0\r\nContent-Length: 5\r\n\r\n", None),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_length_is_believed_where_there_is_one_sound_one(head: bytes, body: bytes | None, cut: int) -> None:
    """However the bytes are cut, here within the head, behind it and within the body."""
    whole = head + b"hello" + MORE
    place = [len(whole), len(head) - 2, len(head), len(head) + 2][cut]

    async def handle(writer: asyncio.StreamWriter) -> None:
        await in_pieces(whole[:place], whole[place:])(writer)
        writer.close()

    (response,), _ = fetch_all({"/page": handle}, ["/page"])
    assert response.outcome is (Outcome.BAD_RESPONSE if body is None else Outcome.READ)
    assert response.body == (body or b"")


class Silent:
    """A transport that sends nothing and notes whether it is read."""

    def __init__(self) -> None:
        self.reading = True
        self.open = True

    def write(self, data: bytes) -> None:
        pass

    def is_closing(self) -> bool:
        return not self.open

    def abort(self) -> None:
        self.open = False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def connected() -> tuple[Connection, Any]:
    """A connection over which a request was sent, and its transport; inside a running loop."""
    task = asyncio.current_task()
    assert task is not None
    attempt = Attempt(task, 1.0, 1.0, 1.0, 1.0)
    connection = Connection(
        "http://a.example",
        "192.0.2.1",
        attempt,
        loop=asyncio.get_running_loop(),
        clock=lambda: 7.0,
        most_head_bytes=10_000,
        forget=lambda _: None,
    )
    transport = Silent()
    connection.connection_made(transport)
    return connection, transport


def heard(pieces: list[bytes], *, closed: bool = False, error: Exception | None = None) -> tuple[Any, ...]:
    """What is understood of these pieces: status, headers, body, whether it is complete, what is wrong, and whether the
    connection can be kept."""

    async def work() -> tuple[Any, ...]:
        connection, transport = connected()
        for piece in pieces:
            if transport.open:
                connection.data_received(piece)
        keep = connection.complete and connection.keep and transport.open
        if closed or not transport.open:
            connection.connection_lost(error)
        return (
            connection.status,
            connection.headers,
            connection.take(),
            connection.complete,
            str(connection.error or ""),
            keep,
        )

    return run(work())


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SOUND = [
    PAGE,
    PAGE.replace(b"\r\n", b"\n"),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + PAGE,
    answer(status="204 No Content", Content_Length="9"),
    answer(status="304 Not Modified", Transfer_Encoding="chunked"),
    answer(b"gone", status="404 Not Found", X_Folded="a\r\n b\r\n\tc", X_Empty=""),
    CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b'2;name="a value"\r\nhe\r\n003 \r\nllo\r\n00\r\nX-Trailer: y\r\n\r\n',
    b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes in pieces, none of them empty."""
    bounds = [0, *sorted({place % len(data) for place in places} - {0}), len(data)]
    return [data[begin:end] for begin, end in pairwise(bounds)]


@given(st.sampled_from(SOUND), st.binary(max_size=30), st.lists(st.integers(0, 300), max_size=6))
@hypothesis_settings(max_examples=400)
def test_an_answer_is_the_same_however_it_is_cut_and_whatever_follows_it(
    whole: bytes, more: bytes, places: list[int]
) -> None:
    (*alone, complete, wrong, _) = heard([whole])
    assert (complete, wrong) == (True, "")
    assert [*alone, complete, wrong] == [*heard(cut(whole + more, places))[:5]]


@given(st.binary(max_size=60), st.lists(st.integers(0, 300), max_size=6), st.booleans())
@hypothesis_settings(max_examples=400)
def test_whatever_comes_there_is_an_answer_or_a_failure(data: bytes, places: list[int], chunked: bool) -> None:
    whole = (CHUNKED if chunked else b"HTTP/1.") + data
    status, _, _, complete, wrong, _ = heard(cut(whole, places), closed=True)
    assert complete != bool(wrong)
    assert complete <= bool(status)


@pytest.mark.parametrize("whole", [PAGE[:-1], CHUNKED + b"5\r\nhello\r\n0\r\n", CHUNKED + b"5\r\nhel", CHUNKED])
def test_an_answer_that_ends_early_has_failed(whole: bytes) -> None:
    *_, complete, wrong, keep = heard([whole], closed=True)
    assert (complete, keep) == (False, False)
    assert wrong.startswith("the body ended ")


def test_an_answer_without_an_end_lasts_until_the_connection_is_closed_but_not_until_it_breaks() -> None:
    whole = b"HTTP/1.1 200 OK\r\n\r\nhello"
    assert heard([whole])[2:4] == (b"hello", False)
    assert heard([whole], closed=True)[2:] == (b"hello", True, "", False)
    *_, complete, wrong, _ = heard([whole], closed=True, error=ConnectionResetError("reset"))
    assert (complete, wrong) == (False, "the connection broke within the body (reset)")


def test_a_connection_that_is_reset_within_a_body_without_a_length_is_no_page() -> None:
    async def handle(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await writer.drain()
        await asyncio.sleep(0.05)
        linger = struct.pack("ii", 1, 0)  # closing sends RST
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    assert fetch({"/page": handle}).outcome is Outcome.BAD_RESPONSE


ODD_HEADS = [
    b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX-Powered By: x\r\n folded\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Naïve: x\r\nContent-Length: 5\r\n\r\n".encode(),
    b"\r\nHTTP/1.1 200 OK\n: x\nContent-Length: 5\n\n",
    b"HTTP/2 200 OK\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nno colon\r\n\r\nHTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\n",
]


@pytest.mark.parametrize("head", ODD_HEADS)
@pytest.mark.parametrize("places", [[], [3, 20, 60], list(range(200))])
def test_what_is_no_header_does_not_hide_the_page(head: bytes, places: list[int]) -> None:
    status, headers, *rest = heard(cut(head + b"hello", places))
    assert (status, headers, rest) == (200, [(b"Content-Length", b"5")], [b"hello", True, "", False])


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("places", [[], [3, 20, 60], list(range(200))])
def test_chunks_count_more_than_a_length(order: int, places: list[int]) -> None:
    first, second = (b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n")[::order]
    whole = b"HTTP/1.1 200 OK\r\n" + first + second + b"\r\n5\r\nhello\r\n0\r\n\r\n"
    assert heard(cut(whole, places))[2:] == (b"hello", True, "", False)


@pytest.mark.parametrize("endless", [b"no colon\r\n", b"HTTP/1.1 100\r\nno colon\r\n\r\n", b"\n"])
def test_a_head_that_is_mended_has_bounds_and_an_end(endless: bytes) -> None:
    odd = b"HTTP/1.1 100 Continue\r\nno colon\r\n"
    assert heard([odd, *[endless] * 10_000])[4] in ("the headers are too large", "bad HTTP: Expected HTTP/")
    assert heard([odd, b"HTTP/1.1 200 OK"], closed=True)[3:5] == (False, "bad HTTP: Invalid header token")
    many = b"HTTP/1.1 200 OK\r\nno colon\r\n" + b"A: b\r\n" * 513 + b"\r\n"
    assert heard([many])[3:] == (False, "more than 512 headers", False)


@pytest.mark.parametrize("names", [b"Transfer-Encoding : chunked", b"TRANSFER-ENCODING:\r\n chunked"])
def test_a_head_that_is_written_oddly_is_understood_as_llhttp_does(names: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + names + b"\r\n\r\n"
    assert heard([head + b"5\r\nhello\r\n0\r\n\r\n"])[2:] == (b"hello", True, "", True)
    assert heard([head], closed=True)[3] is False
    assert heard([head])[1][0][0].lower() == b"transfer-encoding"


def test_trailers_are_no_headers() -> None:
    _, headers, body, complete, _, keep = heard([CHUNKED + b"0\r\nX-Trailer: y\r\n\r\n"])
    assert (headers, body, complete, keep) == ([(b"Transfer-Encoding", b"chunked")], b"", True, True)


@pytest.mark.parametrize(
    ("begin", "endless_part", "why"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "the headers are too large"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 50, "the headers are too large"),
        (b"HTTP/1.1 200 " + b"O" * 20, b"K" * 50, "the headers are too large"),
        (CHUNKED + b"1;a=", b"x" * 50, "more framing than body"),
        (CHUNKED, b"1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=b\r\nx\r\n", "more framing than body"),
        (CHUNKED + b"0\r\n", b"X-Trailer: y\r\n", "more framing than body"),
        (CHUNKED + b"0\r\nX-Trailer: ", b"y" * 50, "more framing than body"),
    ],
)
def test_what_is_no_body_has_bounds_of_its_own(begin: bytes, endless_part: bytes, why: str) -> None:
    assert heard([begin, *[endless_part] * 5000])[4] == why


def test_chunks_of_one_byte_are_a_body() -> None:
    assert heard([CHUNKED, *[b"1\r\nx\r\n"] * 5000, b"0\r\n\r\n"])[2:] == (b"x" * 5000, True, "", True)


def test_headers_that_are_too_many_or_contain_nul_are_refused() -> None:
    many = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 513 + b"\r\n"
    assert heard([many])[3:] == (False, "more than 512 headers", False)
    assert heard([b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"])[3:] == (False, "a header contains NUL", False)


def test_a_reader_that_is_slow_stops_the_connection_from_being_read() -> None:
    async def work() -> None:
        connection, transport = connected()
        piece = b"x" * ENOUGH
        first = connection.send(b"")
        connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
        assert not first.done()
        connection.data_received(piece)
        assert first.done()
        for _ in range(4):
            connection.data_received(piece)
        assert not transport.reading
        assert connection.wait().done()
        assert len(connection.take()) == 5 * ENOUGH
        second = connection.wait()
        assert transport.reading
        connection.data_received(b"last")
        assert not second.done()
        connection.connection_lost(None)
        assert second.done()
        assert (connection.take(), connection.complete) == (b"last", True)

    run(work())


def test_the_reader_of_an_error_page_is_woken_by_its_head() -> None:
    async def work() -> None:
        connection, _ = connected()
        head, rest = connection.send(b""), answer(b"gone", status="404 Not Found")
        connection.data_received(rest[:-4])
        assert head.done()
        body = connection.wait()
        assert not body.done()
        connection.data_received(b"gone")
        assert body.done()
        assert connection.keep

    run(work())


@pytest.mark.parametrize("pieces", [[PAGE], [PAGE, MORE], [MORE], [PAGE[:10]], []])
def test_a_connection_that_has_ended_is_not_written_to(pieces: list[bytes]) -> None:
    async def work() -> None:
        connection, transport = connected()
        for piece in pieces:
            connection.data_received(piece)
        transport.open = False
        connection.connection_lost(None)
        transport.write = None
        assert connection.send(b"").done()
        assert connection.complete == (PAGE in pieces)
        assert connection.complete or isinstance(connection.error, BadAnswer | OSError)

    run(work())


def test_a_server_that_speaks_first_is_heard() -> None:
    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 503 Too many connections\r\nRetry-After: 9\r\n\r\nlater")
        await reader.read(1)
        writer.close()

    async def work() -> tuple[Any, ...]:
        async with await asyncio.start_server(early, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/page"
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=url))
            await fetcher.close()
            return response.outcome, response.detail, response.retry_after

    assert run(work()) == (Outcome.NO_ROBOTS, "robots.txt: status 503", pytest.approx(9, abs=1))


def test_answers_of_all_kinds_over_one_connection_are_not_mixed_up() -> None:
    routes: dict[str, bytes | Handler] = {
        f"/{number}": in_pieces(*cut(whole, [3, 5, len(whole) // 2, len(whole) - 1]))
        for number, whole in enumerate(SOUND[:9])
    }
    routes["/big"] = answer(b"y" * 300_000)
    routes["/chunks"] = CHUNKED + b"".join(b"8\r\n" + b"%08d" % n + b"\r\n" for n in range(9000)) + b"0\r\n\r\n"
    paths = [path for path in routes for _ in range(2)] + list(routes)
    responses, server = fetch_all(routes, paths)
    bodies = {f"/{number}": b"hello" if number not in (3, 4, 5) else b"" for number in range(9)}
    bodies |= {"/big": b"y" * 300_000, "/chunks": b"".join(b"%08d" % n for n in range(9000))}
    assert [response.body for response in responses] == [bodies[path] for path in paths]
    assert server.connections == 1


def test_an_endless_answer_that_nobody_asked_for_costs_the_connection_only() -> None:
    routes: dict[str, bytes | Handler] = {"/a": endless(PAGE, PAGE), "/b": answer(b"b"), "/c": hanging(PAGE + MORE)}
    responses, _ = fetch_all(routes, ["/a", "/b", "/c", "/b"])
    assert [response.body for response in responses] == [b"hello", b"b", b"hello", b"b"]


def test_a_body_that_ends_with_the_connection_is_whole() -> None:
    body = b"z" * 300_000
    response = fetch({"/page": closing(b"HTTP/1.0 200 OK\r\n\r\n" + body)})
    assert (response.outcome, response.body, response.truncated) == (Outcome.READ, body, False)
