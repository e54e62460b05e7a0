"""The little web of the golden folders: two hosts behind a proxy of this machine, in two editions.

A folder remembers its URLs, so they must not name a port: the proxy serves every name, and a crawl that continues is
given the proxy of that day (`--proxy`).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MUSEUM, LIBRARY = "http://museum.example", "http://library.example"
SEEDS = (f"{MUSEUM}/", f"{LIBRARY}/")
ROOMS = 12
PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
PAGES: dict[str, tuple[str, str]] = {
    f"{MUSEUM}/robots.txt": ("text/plain", "User-agent: *\nDisallow: /cellar/\nSitemap: /sitemap.xml\n"),
    f"{MUSEUM}/sitemap.xml": ("text/xml", f"<urlset><url><loc>{MUSEUM}/hidden</loc></url></urlset>"),
    f"{MUSEUM}/style.css": ("text/css", "body { background: url(/stone.png) }"),
    f"{MUSEUM}/hidden": ("text/html", "<title>Hidden</title><p>Only the sitemap names this page."),
    f"{MUSEUM}/works.xml": (
        "text/xml",
        "<!DOCTYPE works SYSTEM '/works.dtd'><works><work year='1907'>Bridge</work><work>Tower EDITION</work></works>",
    ),
    f"{MUSEUM}/works.dtd": (
        "application/xml-dtd",
        "<!ELEMENT works (work*)><!ELEMENT work (#PCDATA)><!ATTLIST work year CDATA #IMPLIED>",
    ),
    f"{MUSEUM}/": (
        "text/html",
        "<title>Museum</title><link rel=stylesheet href=/style.css><p>Open until 18:00, edition EDITION."
        "<a href=/works.xml>Works</a> <a href=/cellar/wine>Wine</a> <a href=/old>Old</a> <a href=/lost>Lost</a>"
        + "".join(f"<a href=/rooms/{room}>Room {room}</a>" for room in range(ROOMS)),
    ),
    f"{LIBRARY}/": (
        "text/html; charset=windows-1251",
        f"<title>Библиотека</title><p>Книги музея.<a href={MUSEUM}/>Museum</a><a href=/books rel=nofollow>Books</a>",
    ),
    f"{LIBRARY}/books": ("text/html", f"<title>Books</title><a href={MUSEUM}/rooms/1>About room 1</a>"),
} | {
    f"{MUSEUM}/rooms/{room}": (
        "text/html",
        f"<title>Room {room}</title><h1>Room {room}</h1><p>The stone of room {room} weighs {room * 7} kg, as "
        f"counted in edition EDITION.<a href=/rooms/{room // 2}>Back</a><a href=/>Museum</a>",
    )
    for room in range(ROOMS)
}
GONE = f"{MUSEUM}/rooms/{ROOMS - 1}"  # from the second edition on


class Site:
    """The web as its proxy serves it; `edition` can be changed."""

    def __init__(self, port: int) -> None:
        self.edition = 1
        self.proxy = f"http://127.0.0.1:{port}"

    def answer(self, url: str) -> tuple[int, str, bytes]:
        """Status, Content-Type or Location, and body."""
        if url == f"{MUSEUM}/old":
            return 301, f"{MUSEUM}/rooms/3", b""
        if url == f"{MUSEUM}/stone.png":
            return 200, "image/png", PNG
        if url not in PAGES or (url == GONE and self.edition > 1):
            return 404, "text/html", b"<p>There is no such page."
        kind, body = PAGES[url]
        encoding = kind.partition("charset=")[2] or "utf-8"
        return 200, kind, body.replace("EDITION", str(self.edition)).encode(encoding)


@contextmanager
def serve_site() -> Iterator[Site]:
    """Serves the web through a proxy on loopback."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, said, body = site.answer(self.path)
            self.send_response(status)
            self.send_header("Location" if status == 301 else "Content-Type", said)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
