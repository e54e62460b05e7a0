"""A site whose every header, link and title contains what a terminal would obey."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVIL = "\x1b]0;evil\x07\x1b[31m\x9b2J\u202eder\u2066\x7f\x85"
RAW = EVIL.encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answers every path."""
        path = self.path.partition("?")[0]
        status = {"/": 200, "/page": 200, "/moved": 302}.get(path, 404)
        body = b"<title>" + RAW + b'</title><a href="/page">' + RAW + b'</a><a href="/error">x</a><a href="/moved">'
        body += b'<a href="/page?' + RAW + b'">' if path == "/" else RAW
        kind = b"text/html;" if path == "/" else b"text/html"
        head = b'HTTP/1.1 %d %s\r\nContent-Type: %s%s\r\nETag: "%s"\r\n' % (status, RAW, kind, RAW, RAW)
        head += b"Last-Modified: %s\r\nX-A: %s\r\nContent-Length: %d\r\n" % (RAW, RAW, len(body))
        if status == 302:
            head += b"Location: http://" + RAW + b"/\r\n"
        self.wfile.write(head + b"\r\n" + body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def hostile_site() -> Iterator[str]:
    """Serves the site; the URL of its first page."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
