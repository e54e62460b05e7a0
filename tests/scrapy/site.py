"""A site on the loopback interface that knows which requests it got: quotes and authors, a sitemap, a form, a grid."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

GRID = 120  # pages of the grid


class Site(ThreadingHTTPServer):
    """The server, and its hits by method and path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hits: Counter[str] = Counter()
        self.order: list[str] = []
        self.reached = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of clients that were killed."""

    def wait_for(self, hits: int) -> None:
        """Waits until the site got so many requests."""
        with self.reached:
            assert self.reached.wait_for(lambda: len(self.order) >= hits, timeout=200)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, sent: bytes) -> None:
        with self.server.reached:
            self.server.hits[f"{self.command} {self.path}"] += 1
            self.server.order.append(self.path)
            self.server.reached.notify_all()
        status, kind, body = self._page(self.path, sent)
        data = body.encode()
        self.send_response(status)
        if status == 302:
            self.send_header("location", body)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _page(self, path: str, sent: bytes) -> tuple[int, str, str]:
        if found := re.fullmatch(r"/quotes/(\d)", path):
            page = int(found[1])
            quotes = "".join(
                f'<div class="quote"><span>{page}-{n}</span><a class="author" href="/author/{n}">by</a></div>'
                for n in range(3)
            )
            follow = f'<a class="next" href="/quotes/{page + 1}">next</a>' if page < 3 else ""
            return 200, "text/html", quotes + follow
        if found := re.fullmatch(r"/author/(\d)", path):
            return 200, "text/html", f"<h3>author {found[1]}</h3>"
        if found := re.fullmatch(r"/grid/(\d+)", path):
            n = int(found[1])
            links = {(n * 2 + 1) % GRID, (n * 3 + 1) % GRID, (n + 1) % GRID, n // 2}
            links.discard(0)  # start requests are not filtered
            return 200, "text/html", "".join(f'<a href="/grid/{link}">{link}</a>' for link in sorted(links))
        if path == "/sitemap.xml":
            listed = "".join(f"<url><loc>{self.server.url}/author/{n}</loc></url>" for n in range(3))
            space = "http://www.sitemaps.org/schemas/sitemap/0.9"
            return 200, "application/xml", f'<urlset xmlns="{space}">{listed}</urlset>'
        if path == "/login":
            token = '<input type="hidden" name="token" value="t1">'
            return 200, "text/html", f'<form action="/enter" method="post">{token}<input name="user"></form>'
        if path == "/enter" and sent:
            user, token = (parse_qs(sent.decode())[name][0] for name in ("user", "token"))
            return 200, "text/html", f"<p>{user} {token}</p>"
        if path == "/moved":
            return 302, "text/html", "/author/1"
        if path == "/headers":
            return 200, "application/json", json.dumps(dict(self.headers.items()))
        return 404, "text/html", "nothing"


@contextmanager
def site() -> Iterator[Site]:
    """A running site."""
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
