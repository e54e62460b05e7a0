"""Targets of fuzzing for what comes from the web: pages, URLs, rules of robots, answers of servers."""

import gzip
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import brotli
from backports import zstd

from bench.fuzz_target import Target, must
from centime.crawl.worker.outlinks import LinkReader, may_be_sitemap
from centime.crawl.worker.xpath import check_xpath, watched
from centime.discover.canonical import LONGEST_URL, Canonicaliser, canonical, index_of
from centime.discover.feed import read_feed
from centime.discover.moment import moment
from centime.discover.scope import Scope
from centime.discover.sitemap import read_sitemap
from centime.discover.traps import trap
from centime.fetch.answer import MOST_RETRY_SECONDS, decode_headers, outcome_of, retry_after, target_of
from centime.fetch.coding import PIECE, BrokenCoding, decoder_for
from centime.fetch.connection import Connection
from centime.fetch.directives import parse_directives
from centime.fetch.rules import parse_rules
from centime.fetch.watch import Attempt
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.model.pattern import check_pattern, compiled
from centime.model.response import Response
from centime.parse.document import read_document
from centime.parse.encoding import as_utf8
from centime.shard.message import Lease
from centime.shard.subscriptions import Subscription
from centime.store.url_key import url_key
from centime.store.warc import answer, payload_of

URL = "http://a.example/b/c?d=e"
HTML = [
    b"""<!doctype html><html lang=en><head><base href=/x/><title>t &amp; u</title><meta name=robots content=nofollow>
<meta charset=utf-8><link rel=canonical href=y><style>a{}</style><script>if(a<b)c()</script></head><body><p>text <a
href='z?q=1&amp;r=2' rel=nofollow>one</a><svg><a xlink:href=s>s</a></svg><table><tr><td><a href=//b.example/>b</a>
<form action=f><textarea></a></textarea></form><!-- <a href=no> --><iframe src=i></iframe><template><a href=t>t</a>""",
    b"""<h1>5 March 2024</h1><p hidden>no</p><nav>x</nav><a href="a b">12,345 visits</a> 12:45:01 &copy; 2024 &#x80;
<select><option><a href=o></select><noscript><img></noscript><frameset><frame src=f></frameset><plaintext>""",
    b"<meta http-equiv=refresh content='0;url=r'><title>\xe4</title><a href='?\xe4=\xf6#x'>\xfc</a><area href=m><br/>",
]
TAGS = (b"<a href=", b"<table>", b"</", b"<svg>", b"<!--", b"-->", b"&#", b"<script>", b"<title>", b"<![CDATA[", b"'")
XML = [
    b"""<?xml version="1.0" encoding="utf-8"?><!DOCTYPE r SYSTEM "a.dtd" [<!ENTITY e "x"><!ENTITY f SYSTEM "f.xml">]>
<r xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="a"><a href="b">&e;&amp;&#x41;</a>
<![CDATA[<a>]]><?p x?></r>""",
    b"""<!DOCTYPE b [<!ENTITY a "0123456789"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">
<!ENTITY % p "<!ENTITY q 'x'>">%p;<!ATTLIST b c CDATA "&d;">]>
<b c="&d;">&d;</b>""",
    b"""<html xmlns="http://www.w3.org/1999/xhtml" xml:base="/x/" xml:lang="en"><head><title>t</title></head><body>
<a rel="ugc" href="a">x</a><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="i"/></body></html>""",
]
DTD = b"""<!-- d --><!ELEMENT a (b|c)*><!ATTLIST a h CDATA #IMPLIED><!ENTITY % e PUBLIC "-//X" "e.ent">%e;
<!NOTATION n SYSTEM "n.gif"><![INCLUDE[<!ENTITY f SYSTEM 'f.xml' NDATA n>]]>"""
DECLARED = (b"<!ENTITY a '", b"&a;", b"%a;", b"]]>", b"xmlns=", b"</r>", b"<!DOCTYPE r [", b"]>", b"<![CDATA[", b"<?")
ROBOTS = [
    b"""\xef\xbb\xbfUser-agent: *\nDisallow: /a*b$\nAllow: /a%2Fb\nCrawl-delay: 2.5\n\nUser-Agent: Centime/1.0\r
Dissallow: /x # why\nsitemap: http://a.example/s.xml\nUser-agent: centime\nUser-agent: other\nDisallow:\n""",
    b"User-agent: *\nDisallow: /*?d=\nAllow: /b/*c$\nDisallow: /b\nDisallow: *%7E\nAllow: /a/\n",
]
SITEMAPS = [
    b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.example/
</loc><lastmod>2026-01-31T12:00:00+01:00</lastmod><changefreq>daily</changefreq><priority>0.8</priority></url></urlset>""",
    b"<sitemapindex><sitemap><loc>http://a.example/s.gz</loc><lastmod>2026-01</lastmod></sitemap></sitemapindex>",
    b"http://a.example/\nhttps://a.example/b\r\n",
]
FEEDS = [
    b"""<rss version="2.0"><channel><title>t</title><link>http://a.example/</link><ttl>60</ttl><item><link>http://a.example/1
</link><pubDate>Sat, 31 Jan 2026 12:00:00 GMT</pubDate><guid isPermaLink="true">http://a.example/1</guid></item></channel></rss>""",
    b"""<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="http://a.example/f"/><entry><link href="1"/>
<updated>2026-01-31T12:00:00Z</updated></entry></feed>""",
    b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="urn:s"
xmlns="http://purl.org/rss/1.0/"><channel rdf:about="u"><s:updatePeriod>daily</s:updatePeriod>
<s:updateFrequency>2</s:updateFrequency></channel></rdf:RDF>""",
]
URLS = [
    b"http://\xc3\xa4.example:80/a/../b//c;sid=1?x=%7e&PHPSESSID=2#f",
    b"//b.example\\c/%2e%2E/d?",
    b"https://user:pw@[::1]:443/a b\tc",
    b"../..//x?y=z&&a=b;c",
    b"javascript:alert(1)",
    b"http://xn--nxasmq6b.0x7f.1/%zz",
    b"https://b.example./(S(abc))/index.html?utm_source=x&a=",
]
ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 503 Busy\nRetry-After: 120\nDate: Sat, 31 Jan 2026 12:00:00 GMT\nX-Robots-Tag: noindex\n\nsorry",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"hello" * 9, mtime=0),
    b"HTTP/1.1 304 Not Modified\r\nFolded: a\r\n b\r\nCache-Control: max-age=60\r\n\r\n",
]
FIELDS = (
    b"\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"HTTP/1.1 ",
    b"\r\n0\r\n\r\n",
    b"ffffffff\r\n",
    b"Content-Encoding: br\r\n",
)
HEADERS = [
    b"Sat, 31 Jan 2026 12:00:00 GMT",
    b"Saturday, 31-Jan-26 12:00:00 GMT",
    b"Sat Jan 31 12:00:00 2026",
    b"2026-01-31T12:00:00.5+01:00",
    b"2026-W05-6",
    b"otherbot: noindex, nofollow, unavailable_after: 25 Jun 2026 15:00:00 PST",
    b'text/html; charset="iso-8859-1"',
    b'private, max-age="3600"',
    b"//b.example:80/x?y#z",
    b"86400",
]
ENCODED = [
    b"text/html; charset=shift_jis\n<a href='?\x83\x65'>\x83\x58</a>",
    b"text/html\n\xff\xfe<\0a\0 \0h\0r\0e\0f\0=\0\xe4\0>\0",
    b"text/html\n<!-- x --><meta http-equiv=content-type content='text/html; charset=gb18030'>\x81\x30\x81\x30",
    b"application/xml\n<?xml version='1.0' encoding='iso-2022-jp'?><a>\x1b$B$3\x1b(B</a>",
    b"text/html; charset=big5\n<a href=?\xa4\xa4>\xf9\xfe</a>",
    b"\n<html><a href=\xc3\xa4?\xe2\x82\xac>\xf0\x9f\x98\x80</a>",
]
LABELS = (
    b"charset=euc-kr",
    b"charset=utf-16",
    b"charset=utf-7",
    b"charset=x-user-defined",
    b"\x1b$",
    b"\xff\xfe",
    b"\0",
)
XPATHS = [
    b"//p[@class='price']\n<html><p class=price>7 \xe2\x82\xac</p><p>x</p>",
    b"count(//a[contains(@href, 'x')]) + 1\n<a href=x>y<a href=z>",
    b"//*[local-name()='b'][last()]/text()\n<?xml version='1.0'?><a xmlns='urn:n'><b>1&x;</b></a>",
    b"string(/html/body/*[position() < 3]/@id)\n<body><p id=a><p id=b>",
    b"//namespace::* | //comment() | id('a')\n<p id=a><!-- c -->",
]
STEPS = (b"//", b"[", b"]", b"/..", b"::", b"*", b"|", b"ancestor::", b"translate(", b")", b"'", b"not(", b"$x", b"x:")
PATTERNS = [b"/a/(b|c)+\\.html$", b"[^/]{2,5}\\?d=\\w", b"(?i)^https?://[a-z.]*", b"\\bx\\d{3}\\x41[[:alpha:]]"]
SIGNS = (b"(?", b"{,5}", b"{1000}", b"[^", b"\\1", b"*", b"+", b"(?P<a>", b"\\p{L}", b"|", b")", b"\\Q")
MOST_DECODED = 1 << 20


def web_targets() -> dict[str, Target]:
    """The targets by name."""
    return {
        "html": Target(HTML, _document("text/html"), TAGS, 12),
        "xml": Target([*XML, DTD], _document("application/xml"), DECLARED, 7),
        "any page": Target([*HTML, *XML, DTD, SITEMAPS[0], *FEEDS, b"%PDF-"], _page(), TAGS + DECLARED, 4),
        "encodings": Target(ENCODED, _encoded, LABELS, 3),
        "robots": Target(ROBOTS, _robots, (b"User-agent: *\n", b"Disallow: ", b"Allow: ", b"*", b"$", b"%"), 7),
        "sitemap": Target(
            [*SITEMAPS, gzip.compress(SITEMAPS[0], mtime=0)], read_sitemap, (b"<url>", b"<loc>", b"&"), 6
        ),
        "feed": Target(FEEDS, read_feed, (b"<item>", b"<link>", b"2026-", b"<entry>", b"href="), 6),
        "url": Target(URLS, _url(), (b"//", b"..", b"%", b"[", b"@", b":", b"?", b"xn--", b"\\", b";", b"/."), 11),
        "answer": Target(ANSWERS, _answer, FIELDS, 7),
        "coding": Target(_coded(), _coding, (b"gzip", b"br", b"zstd", b"deflate", b", ", b"\x1f\x8b"), 3),
        "headers": Target(HEADERS, _headers, (b",", b":", b" GMT", b"-", b"none", b"charset="), 3),
        "xpath": Target(XPATHS, _xpath, STEPS, 1),
        "patterns": Target(PATTERNS, _pattern, SIGNS, 1),
    }


def _document(content_type: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        document = read_document(
            data, url=URL, content_type=content_type, anchors=len(data) % 4 == 0, truncated=len(data) % 8 == 0
        )
        must(len(document.flags) == len(document.hrefs), "a link has its flags")
        "".join(document.hrefs).encode()  # an error if a link is not text

    return read


def _page() -> Callable[[bytes], object]:
    """All that is done with a page, whatever it is, as in `crawl/worker/visit.py`."""
    links = LinkReader(Scope.of([URL], kind="any"), None)
    lease = Lease(1, URL)

    def read(data: bytes) -> None:
        document = read_document(data, url=URL)
        sitemap = read_sitemap(data) if may_be_sitemap(URL, document, data) else None
        targets, fresh, texts = (
            links.of_sitemap(lease, sitemap) if sitemap else links.of_page(lease, document, nofollow=False)
        )
        must(len(fresh) <= len(targets) and len(fresh) == len(texts.split()), "a new link has its text")
        links.claims(lease, sitemap, read_feed(data) if document.root in ("rss", "feed", "RDF") else None)

    return read


def _encoded(data: bytes) -> None:
    content_type, _, body = data.partition(b"\n")
    declared = content_type.decode(errors="replace")
    text, _ = as_utf8(body, declared, xml=b"xml" in content_type)
    must(text.decode().encode() == text, "a text is UTF-8")
    must(as_utf8(text, "text/html; charset=utf-8")[0] == text.removeprefix(b"\xef\xbb\xbf"), "it stays so")
    read_document(body, url=URL, content_type=declared)


def _robots(data: bytes) -> None:
    rules = parse_rules(data, "centime")
    for url in (URL, "http://a.example/a%2Fb?x=%7E"):
        exact = rules._matcher is None or rules._matcher.can_fetch(url, "*")
        must(rules.allows(url) == exact, "the short cut allows what the rules allow")
    must(0 <= rules.crawl_delay < math.inf, "a delay is a time")


def _url() -> Callable[[bytes], object]:
    many = Canonicaliser(1000)

    def read(data: bytes) -> None:
        href = data.decode(errors="replace")
        alone, joined = canonical(href), canonical(href, URL)
        for url in {alone, joined}:
            if url is not None:
                must(url.isascii() and url.isprintable() and " " not in url, "a canonical URL is printable ASCII")
                must(len(url) <= LONGEST_URL, "a canonical URL is not too long")
                must(url.startswith(("http://", "https://")), "a canonical URL is of the web")
                must(canonical(url) == url, "a canonical URL stays as it is")
                url_key(url)
                trap(url)
                index_of(url)
        must(many.many([href], URL) == [joined], "many URLs are as one")

    return read


# ---- answers


class _Transport:
    """A connection without a network."""

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        pass

    pause_reading = resume_reading = abort


def _received(pieces: list[bytes]) -> Connection:
    task: Any = None
    attempt = Attempt(task, 0.0, 1.0, 1.0, 1.0)
    connection = Connection(
        "http://a.example",
        "127.0.0.1",
        attempt,
        loop=task,
        clock=lambda: 1.7e9,
        most_head_bytes=1 << 16,
        forget=lambda lost: None,
    )
    connection.connection_made(_Transport())
    for piece in pieces:
        connection.data_received(piece)
    connection.connection_lost(None)
    return connection


def _answer(data: bytes) -> None:
    """An answer, received at once and in pieces, decoded, and archived."""
    chosen = zlib.crc32(data)
    step = 1 + chosen % (len(data) + 1) // (1 + (chosen >> 16) % 8)
    whole = _received([data])
    cut = _received([data[at : at + step] for at in range(0, len(data), step)])
    must((whole.error is None) == (cut.error is None), "an answer is good or bad however it is cut")
    if whole.error is not None:
        return
    head, body = (whole.version, whole.status, whole.reason, whole.headers), whole.take()
    must(head == (cut.version, cut.status, cut.reason, cut.headers), "a head is the same however it is cut")
    must(body == cut.take(), "a body is the same however it is cut")
    headers = decode_headers(whole.headers)
    fields = dict(reversed(headers))
    target_of(URL, fields.get("location", ""))
    retry_after(fields.get("retry-after", ""), date=fields.get("date", ""), now=1.7e9)
    parse_directives(headers, "centime")
    with suppress(BrokenCoding):
        body = b"".join(_decoded(fields.get("content-encoding", ""), [body]))
    response = Response(
        url=URL,
        outcome=outcome_of(whole.status, conditional=True),
        status=whole.status,
        headers=headers,
        body=body,
        asked_at=1.7e9,
    )
    must(payload_of(answer(response, "<urn:x>", "<urn:y>", b"d" * 20, "")) == body, "what is archived is read back")


def _coded() -> list[bytes]:
    text = b"hello, " * 9
    bare = zlib.compressobj(wbits=-15)
    return [
        b"gzip\n" + gzip.compress(text, mtime=0) + gzip.compress(b"more", mtime=0),
        b"deflate\n" + zlib.compress(text),
        b"deflate\n" + bare.compress(text) + bare.flush(),
        b"br\n" + brotli.compress(text),
        b"zstd\n" + zstd.compress(text) + zstd.compress(b"more"),
        b"gzip, br\n" + brotli.compress(gzip.compress(text, mtime=0)),
    ]


def _decoded(coding: str, pieces: list[bytes]) -> Iterator[bytes]:
    decoder, size = decoder_for(coding), 0
    for data in pieces:
        for piece in (data,) if decoder is None else decoder.pieces(data):
            must(decoder is None or len(piece) <= max(PIECE, 4 * len(data)), "a piece is bounded")
            size += len(piece)
            yield piece
            if size > MOST_DECODED:
                return
    if decoder is not None:
        decoder.finish()


def _coding(data: bytes) -> None:
    name, _, body = data.partition(b"\n")
    coding, step = name.decode("latin-1"), 1 + zlib.crc32(data) % 40
    found = []
    for pieces in ([body] if body else [], [body[at : at + step] for at in range(0, len(body), step)]):
        try:
            found.append(b"".join(_decoded(coding, pieces))[:MOST_DECODED])
        except BrokenCoding:
            found.append(b"broken")
    must(found[0] == found[1], "a body is the same however it is cut")


def _headers(data: bytes) -> None:
    value = decode_headers([(b"Name", data)])[0][1]
    must(0 <= retry_after(value, date="", now=1.7e9) <= MOST_RETRY_SECONDS, "a wait is a time")
    must(0 <= retry_after("Sat, 31 Jan 2026 12:00:00 GMT", date=value, now=1.7e9) <= MOST_RETRY_SECONDS, "also so")
    must(0 <= moment(value) < math.inf, "a moment is a time")
    parse_directives([("x-robots-tag", value)], "centime")
    target_of(URL, value)
    read_document(b"<a href=\xe4>", url=URL, content_type=value)
    with suppress(BrokenCoding):
        decoder_for(value)


# ---- what people ask for in pages


def _xpath(data: bytes) -> None:
    first, _, body = data.partition(b"\n")
    xpath = first.decode(errors="replace")
    with suppress(BadSetting):
        check_xpath(xpath)
        kind = PageKind.XML if body.startswith(b"<?xml") else PageKind.HTML
        watched(body, kind, "utf-8", [Subscription("s", "", 1.0, "file:a", xpath)])


def _pattern(data: bytes) -> None:
    text = data.decode(errors="replace")
    with suppress(BadSetting):
        check_pattern(text)
        alone, both = compiled(text), compiled(text, "/b/")
        for url in (URL, "http://b.example/" + "a" * 200):
            must(alone.search(url) == (alone.first(url) == 0), "a pattern is found or not")
            must(both.search(url) == (alone.search(url) or "/b/" in url), "patterns are found together as alone")
