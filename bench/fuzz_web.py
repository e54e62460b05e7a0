"""Targets of fuzzing for what comes from the web: pages, URLs, rules of robots, answers of servers."""

import gzip
import math
import time
import zlib
from collections.abc import Callable
from contextlib import suppress

from lxml import etree

from bench.fuzz_answers import read_headers, received
from bench.fuzz_target import URL, Target, must
from centime.crawl.notify.node_changes import node_changes
from centime.crawl.worker.conditions import WatchedPage
from centime.crawl.worker.needs import NeedReader
from centime.crawl.worker.outlinks import LinkReader, may_be_sitemap
from centime.crawl.worker.xpath import check_xpath
from centime.discover.canonical import LONGEST_URL, Canonicaliser, canonical, index_of
from centime.discover.feed import read_feed
from centime.discover.scope import Scope
from centime.discover.sitemap import read_sitemap
from centime.discover.traps import Traps
from centime.fetch.rules import parse_rules
from centime.model.errors import BadSetting
from centime.model.ids import PageId
from centime.model.outcome import PageKind
from centime.model.pattern import check_pattern, compiled
from centime.parse.document import read_document
from centime.parse.encoding import as_utf8
from centime.settings.crawl import RequisiteSettings
from centime.shard.message import TEXT_FOLLOWS, Lease
from centime.shard.people.notices import Condition
from centime.store.archives.url_key import url_key

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
CSS = [
    b"""@charset "utf-8";@import url(a.css) screen;@import 'b.css';@namespace svg url(http://a.example/);/* url(no) */
@font-face{src:url("f.woff2")format("woff2"),local('x')}a{background:image-set('1.png' 1x,url(2.png) type("i") 2x)}
b{cursor:url(c\\)d.cur),auto;content:'\\61 "'}""",
    b"a{b:url( \"c\\\nd\" ) url(bad one) -webkit-image-set('x' 1x) url(\\d800 ) 'open\nc{d:url(e",
]
SHEET = (b"url(", b"image-set(", b"@import ", b"/*", b"*/", b"'", b'"', b"\\", b")", b"@namespace", b"\n", b"(")
SCRIPTS = [b"import './a.js';load(\"b.json?c\");d=`e.png`"]
NEEDY = [
    b"""<img src=a srcset="b 1x, c 2x"><link rel=icon href=d><style>@import 'e'</style><p style="a:url(&quot;f&quot;)">
<iframe srcdoc="<img src=g>"></iframe><script>load("h.js")</script><svg><use xlink:href=i /></svg><object data=j>
<video poster=k><track src=l><noscript><img data-src=m></noscript><textarea><img src=n></textarea>""",
]
REPEATED = [
    b"|<a href=x>|",
    b"<urlset>|<url><loc>|",
    b"|<!DOCTYPE a [|]>",
    b"|<!ENTITY a SYSTEM '|",
    b"User-agent: *|\nDisallow: /*a|",
    b"|<table><tr><td>|",
    b"<rss>|<item>&|",
    b"|<p hidden>5 March |",
    b"<!--|-|->",
    b"|noindex, x: |",
]
LONG_BYTES = 1 << 14
SUSPECT_SECONDS = 0.02  # for so many bytes


def web_targets() -> dict[str, Target]:
    """The targets by name."""
    return {
        "html": Target(HTML, _document("text/html"), TAGS, 12),
        "xml": Target([*XML, DTD], _document("application/xml"), DECLARED, 7),
        "any page": Target([*HTML, *XML, DTD, SITEMAPS[0], *FEEDS, b"%PDF-"], _page(), TAGS + DECLARED, 4),
        "css": Target(CSS, _document("text/css"), SHEET, 3),
        "script": Target(SCRIPTS, _document("text/javascript"), (b".js'", b"'", b"`")),
        "requisites": Target(NEEDY, _needs(), (b"<img src=", b" srcset='", b" style='url(", b"<style>", *TAGS), 3),
        "encodings": Target(ENCODED, _encoded, LABELS, 3),
        "robots": Target(ROBOTS, _robots, (b"User-agent: *\n", b"Disallow: ", b"Allow: ", b"*", b"$", b"%"), 7),
        "sitemap": Target(
            [*SITEMAPS, gzip.compress(SITEMAPS[0], mtime=0)], read_sitemap, (b"<url>", b"<loc>", b"&"), 6
        ),
        "feed": Target(FEEDS, read_feed, (b"<item>", b"<link>", b"2026-", b"<entry>", b"href="), 6),
        "url": Target(URLS, _url(), (b"//", b"..", b"%", b"[", b"@", b":", b"?", b"xn--", b"\\", b";", b"/."), 11),
        "repeated": Target(REPEATED, _repeated, (b"|", b"<", b"]", b"&", b"\r", b" a='", *TAGS, *DECLARED)),
        "xpath": Target(XPATHS, _xpath, STEPS),
        "patterns": Target(PATTERNS, _pattern, SIGNS),
    }


def _document(content_type: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        document = read_document(
            data,
            url=URL,
            content_type=content_type,
            anchors=len(data) % 4 == 0,
            truncated=len(data) % 8 == 0,
            requisites=True,
        )
        must(all(href.strip() and href == href.strip() for href in document.requisites), "a requisite has a name")
        "".join(document.requisites).encode()
        must(len(document.flags) == len(document.hrefs), "a link has its flags")
        "".join(document.hrefs).encode()  # an error if a link is not text

    return read


def _page() -> Callable[[bytes], object]:
    """All that is done with a page, whatever it is, as in `crawl/worker/visit.py`."""
    links = LinkReader(Scope.of([URL], kind="any"), None)
    lease = Lease(PageId(1), URL)

    def read(data: bytes) -> None:
        document = read_document(data, url=URL)
        sitemap = read_sitemap(data) if may_be_sitemap(URL, document, data) else None
        found = links.of_sitemap(lease, sitemap) if sitemap else links.of_page(lease, document, nofollow=False)
        must(len(found.fresh) <= len(found.links), "a new link is a link")
        must(len(found.fresh) == len(found.texts.split()), "a new link has its text")
        marked = sum(reason >= TEXT_FOLLOWS for reason in found.refused_for)
        must(len(found.refused) == 8 * len(found.refused_for), "a refused link has its reason")
        must(marked <= found.refused_texts.count(b"\n") + 1, "a refused link has its text")
        links.claims(lease, sitemap, read_feed(data) if document.root in ("rss", "feed", "RDF") else None)

    return read


def _needs() -> Callable[[bytes], object]:
    """The requisites of a page as they reach the shard."""
    needs = NeedReader(RequisiteSettings(all=True), Scope.of([URL], kind="any"))
    lease = Lease(PageId(1), URL)

    def read(data: bytes) -> None:
        document = read_document(data, url=URL, content_type="text/html", requisites=True)
        for url in needs.of_document(lease, document, ()).texts.decode().split("\n"):
            must(not url or (url.isascii() and url.isprintable() and " " not in url), "an exact URL is printable ASCII")
            must(not url or url.startswith(("http://", "https://")), "an exact URL is of the web")
            url_key(url or URL)

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
    many, traps = Canonicaliser(1000), Traps()

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
                if traps.suspect(url):
                    must(all(len(one) < len(url) for one in traps.shorter(url)), "a shorter form is shorter")
                index_of(url)
        must(many.many([href], URL) == [joined], "many URLs are as one")

    return read


# ---- what is long


def _robots_long(data: bytes) -> None:
    rules = parse_rules(data, "centime")
    rules.allows("http://a.example/" + "a" * 500)
    rules.allows("http://a.example/%2F" + "a/" * 200)


_LONG: tuple[Callable[[bytes], object], ...] = (
    _document("text/html"),
    _document("application/xml"),
    _document(""),
    _document("application/xml-dtd"),
    _document("text/css"),
    _document("text/javascript"),
    _robots_long,
    read_sitemap,
    read_feed,
    read_headers,
    lambda data: _encoded(b"text/html\n" + data),
    lambda data: received([b"HTTP/1.1 200 OK\r\n" + data]),
)


def _repeated(data: bytes) -> None:
    """A beginning, then the same again and again: the time grows with the length, not with its square."""
    begin, _, rest = data[:200].partition(b"|")
    unit, _, end = rest.partition(b"|")
    unit = unit or begin or b" "
    read = _LONG[zlib.crc32(data) % len(_LONG)]

    def seconds(size: int) -> float:
        text = begin + unit * (size // len(unit)) + end
        before = time.process_time()
        read(text)
        return time.process_time() - before

    if seconds(LONG_BYTES) > SUSPECT_SECONDS:
        short = min(seconds(LONG_BYTES) for _ in range(3))
        must(
            min(seconds(4 * LONG_BYTES) for _ in range(3)) < 10 * short or short < SUSPECT_SECONDS / 4, "time is linear"
        )


# ---- what people ask for in pages


def _xpath(data: bytes) -> None:
    first, _, body = data.partition(b"\n")
    xpath = first.decode(errors="replace")
    with suppress(BadSetting, etree.XPathError):
        check_xpath(xpath)
        kind = PageKind.XML if body.startswith(b"<?xml") else PageKind.HTML
        page = WatchedPage(body, kind, "utf-8")
        page.found(Condition(xpath))
        node_changes(WatchedPage(body[len(body) // 3 :], kind, "utf-8"), page, xpath)


def _pattern(data: bytes) -> None:
    text = data.decode(errors="replace")
    with suppress(BadSetting):
        check_pattern(text)
        alone, both = compiled(text), compiled(text, "/b/")
        for url in (URL, "http://b.example/" + "a" * 200):
            must(alone.search(url) == (alone.first(url) == 0), "a pattern is found or not")
            must(both.search(url) == (alone.search(url) or "/b/" in url), "patterns are found together as alone")
