"""A small site whose pages need every kind of file to be shown, on two hosts, and what a browser asks for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PNG = b"\x89PNG\r\n\x1a\nno more"
FILM = b"0123456789" * 200
PAGE = """<!DOCTYPE html><html><head><title>Start</title>
<link rel="stylesheet" href="/style.css?v=1&amp;utm_source=x"><link rel="alternate stylesheet" href="/dark.css">
<link rel="shortcut icon" href="/icon.png"><link rel="apple-touch-icon" href="/touch.png">
<link rel="manifest" href="/app.webmanifest"><link rel="preload" as="font" href="/preload.woff2">
<link rel="next" href="/second.html">
<style>@import "/inline.css"; h1 { background: image-set("/one.png" 1x, url(/two.png) 2x) }</style>
<script src="//{cdn}/script.js"></script><script type="module">import "/module.js"</script></head>
<body background="/body.gif" style="background: url('/back.png')">
<img src="/a.png" srcset="/a-1.png 1x, /a-2.png 2x" alt="a"><img data-src="/late.png">
<picture><source srcset="/p.avif"><img src="/p.png"></picture>
<video poster="/poster.jpg"><source src="/film.mp4"><track src="/words.vtt"></video><audio src="/sound.ogg"></audio>
<iframe src="/frame.html"></iframe><iframe src="//{cdn}/outside.html"></iframe>
<iframe srcdoc="&lt;img src=/doc.png&gt;"></iframe>
<object data="/drawing.svg"></object><embed src="/plug.in"><input type="image" src="/button.png">
<svg><image href="/vector.png"/><use xlink:href="/sprite.svg#x"/></svg>
<img src="/moved.png"><img src="/gone.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<noscript><img src="/without-script.png"></noscript><!-- <img src="/never.png"> -->
<a href="/second.html">second</a><a href="/paper.pdf">paper</a><a href="/files.zip">files</a>
<a href="/secret.html">secret</a></body></html>"""
ROUTES = {
    "/second.html": ("text/html", '<img src="/second.png"><a href="/">start</a><img src="/page.html">'),
    "/page.html": ("text/html", '<a href="/linked.html">from a page that looked like an image</a>'),
    "/linked.html": ("text/html", "<p>linked"),
    "/frame.html": ("text/html", '<img src="/in-frame.png"><a href="/second.html">x</a>'),
    "/secret.html": ("text/html", '<meta name=robots content=noarchive><img src="/secret.png"><a href="/after.html">'),
    "/after.html": ("text/html", "<p>after"),
    "/style.css?v=1&utm_source=x": ("text/css", '@import url("deep/1.css"); @font-face { src: url(font.woff2?#x) }'),
    "/deep/1.css": ("text/css", '@import "2.css"; a { background: url(deep.png) }'),
    "/deep/2.css": ("text/css", "@import '1.css'; b { background: url(../deeper.png) }"),
    "/dark.css": ("text/css", ""),
    "/inline.css": ("text/css; charset=utf-8", "a { cursor: url(cursor.cur), auto }"),
    "/app.webmanifest": ("application/manifest+json", '{"icons": [{"src": "big.png"}]}'),
    "/script.js": ("text/javascript", "document.images[0].src = '/by-script.png'"),
    "/outside.html": ("text/html", '<img src="outside.png"><a href="/elsewhere.html">not in scope</a>'),
    "/drawing.svg": ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"><image href="in-drawing.png"/></svg>'),
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /private/"),
}
FILES = """
    /icon.png /touch.png /preload.woff2 /one.png /two.png /body.gif /back.png /a.png /a-1.png /a-2.png /late.png /p.avif
    /p.png /poster.jpg /film.mp4 /words.vtt /sound.ogg /doc.png /plug.in /button.png /vector.png /sprite.svg /there.png
    /without-script.png /second.png /in-frame.png /font.woff2? /deep/deep.png /deeper.png /cursor.cur /big.png
    /outside.png /module.js /by-script.png /in-drawing.png /paper.pdf /files.zip /favicon.ico /never.png /secret.png
"""
ON_CDN = ("/script.js", "/by-script.png", "/outside.html", "/outside.png")
NOT_ASKED = ("/never.png", "/secret.png", "/files.zip", "/elsewhere.html", "/private/")


class Site:
    """The site while it is served."""

    def __init__(self, port: int) -> None:
        self.url, self.cdn = f"http://site.localhost:{port}", f"http://cdn.localhost:{port}"
        self.asked: list[str] = []

    def expected(self) -> set[str]:
        """What a browser asks for to show all pages but the secret one, PDFs, and what they redirect to."""
        pages = {"/", *(path for path in ROUTES if path.endswith(".html") or ".css" in path)} - {"/secret.html"}
        others = {"/app.webmanifest", "/script.js", "/drawing.svg", "/moved.png", "/gone.png", *FILES.split()}
        return {(self.cdn if path in ON_CDN else self.url) + path for path in (pages | others) if path not in NOT_ASKED}


@contextmanager
def shown() -> Iterator[Site]:
    """The site, served on loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(f"http://{self.headers['Host']}{self.path}")
            status, extra, kind, body = 200, {}, "application/octet-stream", PNG
            if self.path == "/":
                kind, body = "text/html; charset=utf-8", PAGE.replace("{cdn}", site.cdn.partition("//")[2]).encode()
            elif self.path in ROUTES:
                kind, body = ROUTES[self.path][0], ROUTES[self.path][1].encode()
            elif self.path == "/moved.png":
                status, extra, body = 302, {"Location": "/there.png"}, b"moved"
            elif self.path == "/film.mp4":
                body = FILM
            elif self.path not in FILES.split():
                status, kind, body = 404, "text/html", b"<p>nothing here"
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
