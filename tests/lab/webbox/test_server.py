import asyncio
import json
import re
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import quote, urljoin, urlsplit

import pytest

from centime.lab.webbox import Served, WebBox, WebBoxServer, serve_in_process
from centime.model.document import EMBEDDED, NOFOLLOW
from centime.model.errors import BadSetting

pytestmark = pytest.mark.compiled

BOX = WebBox(hosts=6, pages=400, seed=2, delay_seconds=0.01, traps=False, feeds=False, speed=60.0)
LINK = re.compile(rb"""href\s*=\s*["']?([^"'\s>]+)(["']?\s+rel=["']?nofollow)?""", re.IGNORECASE)
DTD = re.compile(rb'<!DOCTYPE catalogue SYSTEM "([^"]+)"')


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_in_process(BOX) as box:
        yield box


def exchange(port: int, text: bytes, answers: int = 1) -> list[bytes]:
    """The answers to requests that are sent in one go."""
    found: list[bytes] = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, connection.makefile("rb") as stream:
        connection.sendall(text)
        for _ in range(answers):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline()
                if not line:
                    return found
                head += line
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            found.append(head + stream.read(int(length[1]) if length else 0))
    return found


def links_served(connection: HTTPConnection, url: str) -> list[tuple[str, int]]:
    parts = urlsplit(url)
    connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers={"Host": parts.netloc})
    response = connection.getresponse()
    body = response.read()
    if response.status in (301, 302):
        return [(urljoin(url, response.headers["Location"]), 0)]
    if response.status != 200:
        return []
    embedded = [(urljoin(url, each.decode()), EMBEDDED) for each in DTD.findall(body)]
    return embedded + [(urljoin(url, href.decode()), NOFOLLOW if rel else 0) for href, rel in LINK.findall(body)]


def test_following_every_link_that_is_served_gives_the_graph(served: Served) -> None:
    box = served.webbox
    graph, strict = box.graph(without=0), box.graph()
    connection = HTTPConnection("127.0.0.1", served.port)
    rows: dict[int, list[tuple[str, int]]] = {}
    waiting = [served.seed_url]
    while waiting:
        url = waiting.pop()
        page = box.page(url)
        assert page is not None
        if page not in rows:
            rows[page] = links_served(connection, url)
            waiting += [target for target, _ in rows[page]]
    connection.close()
    assert sorted(rows) == list(range(box.pages))
    changed = set((box.versions(served.time()) > 0).nonzero()[0].tolist())
    assert len(changed) < box.pages / 2
    for page, row in rows.items():
        if page not in changed:
            assert [box.page(url) for url, _ in row] == graph.row(page).tolist()
            assert [box.page(url) for url, flag in row if not flag & NOFOLLOW] == strict.row(page).tolist()


def test_the_log_tells_what_was_asked_and_when(served: Served) -> None:
    before = len(served.requests())
    exchange(served.port, b"GET /there-is?no=page HTTP/1.1\r\nHOST:SITE1.localhost:99\r\n\r\n" * 2, 2)
    seen = served.requests()[before:]
    assert [(each.host, each.path, each.status) for each in seen] == [("site1.localhost", "/there-is?no=page", 404)] * 2
    assert 0 <= seen[1].time - seen[0].time < 5


def test_the_truth_over_http_is_that_of_python(served: Served) -> None:
    box = served.webbox
    importance = box.importance()
    for page in (0, 17, box.pages - 1):
        told = served.truth("/page?url=" + quote(box.url(page), safe=""))
        assert told["page"] == page
        assert told["importance"] == pytest.approx(importance[page])
        assert told["rate_per_day"] == box.rate(page)
        assert told["version"] == box.version(page, told["time"])
        assert told["last_change"] == box.changed(told["time"], page, page + 1)[0]
    top = served.truth("/top?n=3")["top"]
    assert [each["url"] for each in top] == [box.url(int(page)) for page in (-importance).argsort()[:3]]
    assert served.truth("/")["settings"]["pages"] == box.pages
    assert "error" in served.truth("/page?url=http://elsewhere/")
    assert "error" in served.truth("/top?n=many")
    assert served.time() > box.start


def test_requests_in_one_go_are_answered_in_their_order(served: Served) -> None:
    pages = [served.webbox.url(page) for page in range(60)]
    asked = b"".join(f"GET {urlsplit(url).path} HTTP/1.1\r\nHost: site0.localhost\r\n\r\n".encode() for url in pages)
    answers = exchange(served.port, asked, 60)
    titles = [re.search(rb"<head><meta[^>]*><title>([^<]+)<", each) for each in answers]
    told = {page: title[1].decode() for page, title in enumerate(titles) if title is not None}
    assert len(told) > 40
    assert told == {page: served.webbox.title(page) for page in told}


def test_a_request_may_come_byte_by_byte(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        for byte in b"GET /robots.txt HTTP/1.1\r\nHost: site0.localhost\r\n\r\n":
            connection.sendall(bytes([byte]))
        assert connection.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET http://site0.localhost/ HTTP/1.1\r\nHost: site0.localhost\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: site0.localhost\r\nContent-Length: 3\r\n\r\nabc", b"405"),
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: site6.localhost\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: site01.localhost\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: hostile.localhost\r\n\r\n", b"404"),
        (b"GET /" + b"x" * 70_000, b"431"),
        (b"GET / HTTP/1.0\r\nHost: site0.localhost\r\n\r\n", b"200"),
        (b"GET /%00%ff HTTP/1.1\r\nHost: site0.localhost\r\n\r\n", b"404"),
    ],
)
def test_what_is_no_request_for_a_page_is_answered_by_a_status(
    served: Served, request_text: bytes, status: bytes
) -> None:
    (answer,) = exchange(served.port, request_text)
    assert answer.split(b" ")[1] == status


def test_a_connection_is_kept_unless_it_is_asked_to_be_closed(served: Served) -> None:
    request = b"GET /robots.txt HTTP/1.1\r\nHost: site0.localhost\r\n%s\r\n"
    assert len(exchange(served.port, request % b"" * 2, 2)) == 2
    assert len(exchange(served.port, request % b"Connection: close\r\n" * 2, 2)) == 1


def test_a_client_that_asks_and_does_not_read_is_waited_for(served: Served) -> None:
    request = b"GET / HTTP/1.1\r\nHost: site0.localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as lazy:
        lazy.setblocking(False)
        sent = 0
        try:
            while sent < 100_000_000:
                sent += lazy.send(request * 100)
        except BlockingIOError:
            pass
        assert sent < 100_000_000
        assert exchange(served.port, request)[0].startswith(b"HTTP/1.1 200")


def test_the_clock_can_be_given_and_a_port_in_use_is_said() -> None:
    async def run() -> None:
        server = WebBoxServer(WebBox(hosts=1, pages=10, port=0), now=lambda: 1_800_000_000.0)
        await server.start()
        with pytest.raises(BadSetting, match=f"port {server.port} is already in use"):
            await WebBoxServer(server.webbox).start()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /time HTTP/1.1\r\nHost: truth.localhost\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"time": 1_800_000_000.0}
        assert server.statistics() == {"requests": 1, "hosts_asked": 1, "connections_open": 0, "by_status": {"200": 1}}
        writer.close()
        await writer.wait_closed()
        await server.close()

    asyncio.run(run())
