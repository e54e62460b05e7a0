"""The hostile site, http://hostile.localhost:PORT/: everything that a crawler must survive, listed at its root.

Endless replies are generated while they are sent, a small block at a time and only as fast as the client reads. So the
server's memory is bounded, and no reply lasts longer than `connection.LONGEST_STREAM_SECONDS`.
"""

import itertools
from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import quote

from centime.lab.webbox.bomb import brotli_bomb, gzip_bomb, zstd_bomb
from centime.lab.webbox.reply import Reply, Request, Stream, answer, sentence

HTML_TYPE, XML_TYPE = b"text/html; charset=utf-8", b"application/xml"
BLOCK = b"<p>This page never ends. <a href='/endless-link'>On</a></p>\n" * 500
HEADER_BYTES = 100_000_000
LINKS = 1_000_000
DEPTH = 50_000
DRIP_SECONDS = 1.0
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

REDIRECTS = {
    "loop-1": "/loop-2",
    "loop-2": "/loop-1",
    "self": "/self",
    "to-private": "http://10.0.0.1/",
    "to-loopback": "http://127.0.0.1:22/",
    "to-mapped": "http://[::ffff:127.0.0.1]:22/",
    "to-mapped-private": "http://[::ffff:10.0.0.1]/",
    "to-decimal": "http://2130706433/",
    "to-octal": "http://0177.0.0.1/",
    "to-hexadecimal": "http://0x7f.1/",
    "to-short": "http://127.1/",
    "to-six": "http://[::1]/",
    "to-link-local": "http://169.254.169.254/latest/meta-data/",
    "to-any": "http://0.0.0.0/",
    "to-file": "file:///etc/passwd",
    "to-script": "javascript:alert(1)",
    "to-nothing": "",
    "to-bad-address": "http://[::bad",
}
LAUGHS = (
    b'<?xml version="1.0"?>\n<!DOCTYPE lolz [\n<!ENTITY lol0 "lol">\n'
    + b"".join(b'<!ENTITY lol%d "%s">\n' % (level, b"&lol%d;" % (level - 1) * 10) for level in range(1, 10))
    + b"]>\n<lolz>&lol9;</lolz>\n"
)
QUADRATIC = b'<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY x "%s">]>\n<a>%s</a>\n' % (b"x" * 50_000, b"&x;" * 50_000)
OUTSIDE = b'<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY file SYSTEM "file:///etc/passwd">]>\n<a>&file;</a>\n'
PARAMETER = b'<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY % out SYSTEM "http://127.0.0.1:22/"> %out;]>\n<a/>\n'
NESTED = b"<!DOCTYPE html><title>Deep</title>" + b"<div><b>" * (DEPTH // 2) + b'<a href="/">Bottom</a>'
NESTED_XML = b"<a>" * DEPTH + b"</a>" * DEPTH
INVALID = (
    b"<!DOCTYPE html><meta charset=utf-8><title>\xff\xfe\xc0\xaf</title>"
    b"<p>\xed\xa0\x80 \xf8\x88\x80\x80 <a href='/\xff'>\x80</a>\n"
)
NULLS = b"<!DOCTYPE html><title>\0</title>" + b"\0" * 100_000 + b"<a href='/\0\0'>\0</a>\n"

RUN = "document.documentElement.dataset.ran='yes'"  # the effect of a script of the hostile site, wherever it runs
TAG = f"<script>{RUN}</script>"
IN_URL = quote(f"\"'><img src=x onerror={RUN}>{TAG}", safe="")
SCRIPTS = f"""<!DOCTYPE html><meta charset=utf-8>
<title>&lt;/title&gt;{escape(TAG)}{escape('"')} onload={RUN}</title>
<meta name=description content="{escape(TAG)}"><meta http-equiv=refresh content="0;url=javascript:{RUN}">
<base target="_top"><link rel=canonical href="javascript:{RUN}">
<body onload="{RUN}"><h1>Beware {escape(TAG)} {TAG}</h1><img src=x onerror="{RUN}"><svg onload="{RUN}"></svg>
<iframe srcdoc="{escape(TAG)}"></iframe>
<form action="javascript:{RUN}"><button autofocus onfocus="{RUN}">Go</button></form>
<p><a href="javascript:{RUN}">{escape(TAG)}</a> <a href="/scripts{IN_URL}">{escape('"><script>')}</a>
<a href="/scripts?{IN_URL}={IN_URL}">query</a> <a href="/scripts-in-image">svg</a> <a href="/scripts.xml">xml</a>
<a href="/scripts.txt">text</a> <a href="/scripts-in-headers">headers</a></p>
""".encode()
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}">{TAG}</svg>'.encode()
XHTML = (
    f'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="/scripts-in-image"?>'
    f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{escape(TAG)}</title>{TAG}</head><body/></html>'
).encode()
HEADERS = (
    f'HTTP/1.1 200 {TAG}\r\nContent-Type: text/html; charset="{TAG}"\r\nServer: {TAG}\r\nLast-Modified: {TAG}\r\n'
    f'ETag: "{TAG}"\r\nLink: <javascript:{RUN}>; rel="{TAG}"\r\nConnection: close\r\n\r\n'
).encode()


def _endless() -> Stream:
    yield OK + b"\r\n"
    yield from itertools.repeat(BLOCK)


def _endless_chunks() -> Stream:
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    yield from itertools.repeat(b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK))


def _drip(text: bytes) -> Stream:
    for byte in itertools.chain(text, itertools.repeat(ord("x"))):
        yield bytes([byte])
        yield DRIP_SECONDS


def _silence() -> Stream:
    yield from itertools.repeat(DRIP_SECONDS)


def _packed(coding: bytes, bomb: Callable[[], Iterator[bytes]]) -> Stream:
    yield OK + b"Content-Encoding: %s\r\n\r\n" % coding
    yield from bomb()


def _large_header() -> Stream:
    yield OK + b"X-Large: "
    yield from itertools.repeat(b"x" * 50_000, HEADER_BYTES // 50_000)
    yield b"\r\n\r\nAt last.\n"


def _many_headers() -> Stream:
    yield OK
    yield from itertools.repeat(b"X-Many: x\r\n" * 5_000, HEADER_BYTES // 55_000)
    yield b"\r\nAt last.\n"


def _informed() -> Stream:
    yield from itertools.repeat(
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" * 500
    )


def _million_links() -> Stream:
    yield OK + b"\r\n<!DOCTYPE html><title>A million links</title>\n"
    for first in range(0, LINKS, 1_000):
        yield b"".join(b'<a href="/link-%d">%d</a>\n' % (number, number) for number in range(first, first + 1_000))


STREAMS: dict[str, Callable[[], Stream]] = {
    "endless": _endless,
    "endless-chunks": _endless_chunks,
    "drip": lambda: _drip(OK + b"\r\n"),
    "drip-body": lambda: itertools.chain([OK + b"\r\n"], _drip(b"<p>")),
    "silence": _silence,
    "bomb.gz": lambda: _packed(b"gzip", gzip_bomb),
    "bomb.br": lambda: _packed(b"br", brotli_bomb),
    "bomb.zst": lambda: _packed(b"zstd", zstd_bomb),
    "large-header": _large_header,
    "many-headers": _many_headers,
    "informed": _informed,
    "million-links": _million_links,
    "too-short": lambda: iter([OK + b"Content-Length: 1000000\r\n\r\n<p>Only this.\n"]),
    "too-long": lambda: iter([OK + b"Content-Length: 10\r\n\r\n<p>This is more than ten bytes.</p>\n" + BLOCK]),
    "two-lengths": lambda: iter([OK + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n<p>Which?</p>\n<p>\n"]),
    "negative-length": lambda: iter([OK + b"Content-Length: -1\r\n\r\n<p>Less than nothing.</p>\n"]),
    "huge-length": lambda: iter([OK + b"Content-Length: 99999999999999999999\r\n\r\n<p>No.</p>\n"]),
    "bad-chunks": lambda: iter([OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnot a length\r\n"]),
    "cut-chunks": lambda: iter([OK + b"Transfer-Encoding: chunked\r\n\r\nffff\r\n<p>Cut off.\n"]),
    "bad-gzip": lambda: iter([OK + b"Content-Encoding: gzip\r\n\r\nThis is not gzip.\n"]),
    "garbage": lambda: iter([bytes(range(256)) * 16]),
    "no-head": lambda: iter([b"<p>No head at all.</p>\n"]),
    "nothing": lambda: iter([]),
    "scripts-in-headers": lambda: iter([HEADERS, SCRIPTS]),
    "bad-status": lambda: iter([b"HTTP/1.1 9999999999 Odd\r\n\r\n"]),
}
RESETS: dict[str, Callable[[], Stream]] = {
    "reset": lambda: iter([]),
    "reset-midway": lambda: iter([OK + b"Content-Length: 1000000\r\n\r\n<p>Half of", 0.05]),
}
BODIES: dict[str, tuple[bytes, bytes]] = {
    "invalid-utf-8": (HTML_TYPE, INVALID),
    "nulls": (HTML_TYPE, NULLS),
    "nested": (HTML_TYPE, NESTED),
    "nested.xml": (XML_TYPE, NESTED_XML),
    "laughs.xml": (XML_TYPE, LAUGHS),
    "quadratic.xml": (XML_TYPE, QUADRATIC),
    "outside.xml": (XML_TYPE, OUTSIDE),
    "parameter.xml": (XML_TYPE, PARAMETER),
    "scripts": (HTML_TYPE, SCRIPTS),
    "scripts-in-image": (b"image/svg+xml", SVG),
    "scripts.xml": (b"application/xhtml+xml", XHTML),
    "scripts.txt": (b"text/plain", SCRIPTS),
}
ENDLESS_CHAIN = "chain-0"
NAMES = (*STREAMS, *RESETS, *REDIRECTS, *BODIES, ENDLESS_CHAIN)


class HostileAnswers:
    """The replies of the hostile site."""

    def reply(self, request: Request) -> Reply:
        """The reply to a request."""
        name = request.path[1:].decode("latin-1")
        if name in STREAMS:
            return Reply(200, stream=STREAMS[name]())
        if name in RESETS:
            return Reply(200, stream=RESETS[name](), reset=True)
        if name in REDIRECTS:
            return _redirect(request, REDIRECTS[name])
        if name in BODIES:
            return answer(request, 200, *BODIES[name])
        if name.startswith("chain-") and name[6:].isdecimal() and len(name) < 100:
            return _redirect(request, f"/chain-{int(name[6:]) + 1}")
        if name.startswith("scripts"):
            return answer(request, 200, HTML_TYPE, SCRIPTS)
        if name == "":
            listed = "".join(f'<p><a href="/{each}">{each}</a></p>\n' for each in NAMES)
            return answer(request, 200, HTML_TYPE, f"<!DOCTYPE html><title>Beware</title>\n{listed}".encode())
        return sentence(request, 404, "There is no page here.")


def _redirect(request: Request, target: str) -> Reply:
    return answer(request, 302, b"text/plain", b"Elsewhere.\n", b"Location: %s\r\n" % target.encode())
