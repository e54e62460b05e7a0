"""What is fuzzed: every reader of bytes that come from the web or from a file of somebody else.

A target has some good inputs, which are mutated, and a law that any input must obey: it is read, or it is refused with
the exception that stands for a bad input. Everything else (another exception, an array index out of bounds, a wrong
round trip, more than SLOW_SECONDS) is a finding.
"""

import json
import math
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import scipy.sparse
from xxhash import xxh3_64_hexdigest

from centime.crawl.commands.checking import check_content, unpack_command
from centime.discover.canonical import LONGEST_URL, Canonicaliser, canonical
from centime.discover.feed import read_feed
from centime.discover.sitemap import read_sitemap
from centime.fetch.rules import parse_rules
from centime.files.appended import AppendedFile
from centime.files.frame import FRAME, frame_at, frame_behind, frame_head
from centime.files.mark import Mark, create_mark, mark_trouble, read_mark
from centime.graphs.convert import write_graph
from centime.graphs.files import read_named
from centime.graphs.names import NamedGraph
from centime.graphs.webgraph.reader import read_webgraph
from centime.model.errors import BadInput, DamagedFile
from centime.model.graph import Graph
from centime.model.outcome import Outcome
from centime.model.response import Response
from centime.parse.document import read_document
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings, read_config, settings_from
from centime.shard.command import PublishCommand, SubscribeCommand, new_id, pack_command
from centime.shard.message import Seeded, Visits, pack
from centime.shard.subscriptions import Subscription
from centime.store.captures import Capture, capture_of, find_bodies
from centime.store.journal import Journal
from centime.store.snapshot import read_snapshot, write_content
from centime.store.url_key import url_key
from centime.store.warc import HEAD_BYTES, answer, facts_of, payload_of

URL = "http://a.example/b/c?d=e"
HTML = b"""<!doctype html><html lang=en><head><base href=/x/><title>t &amp; u</title><meta name=robots content=nofollow>
<meta charset=utf-8><link rel=canonical href=y><style>a{}</style><script>if(a<b)c()</script></head><body><p>text <a
href='z?q=1&amp;r=2' rel=nofollow>one</a><svg><a xlink:href=s>s</a></svg><table><tr><td><a href=//b.example/>b</a>
<form action=f><textarea></a></textarea></form><!-- <a href=no> --><iframe src=i></iframe><template><a href=t>t</a>"""
XML = b"""<?xml version="1.0" encoding="utf-8"?><!DOCTYPE r SYSTEM "a.dtd" [<!ENTITY e "x"><!ENTITY f SYSTEM "f.xml">]>
<r xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="a"><a href="b">&e;&amp;&#x41;</a><![CDATA[<a>]]><?p x?></r>"""
ROBOTS = b"""\xef\xbb\xbfUser-agent: *\nDisallow: /a*b$\nAllow: /a%2Fb\nCrawl-delay: 2.5\n\nUser-Agent: Centime/1.0\r
Dissallow: /x # why\nsitemap: http://a.example/s.xml\nUser-agent: centime\nUser-agent: other\nDisallow:\n"""
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.example/
</loc><lastmod>2026-01-31T12:00:00+01:00</lastmod><changefreq>daily</changefreq><priority>0.8</priority></url></urlset>"""
FEED = b"""<rss version="2.0"><channel><title>t</title><link>http://a.example/</link><ttl>60</ttl><item><link>http://a.example/1
</link><pubDate>Sat, 31 Jan 2026 12:00:00 GMT</pubDate><guid isPermaLink="true">http://a.example/1</guid></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="http://a.example/f"/><entry><link href="1"/>
<updated>2026-01-31T12:00:00Z</updated></entry></feed>"""
URLS = [
    b"http://\xc3\xa4.example:80/a/../b//c;sid=1?x=%7e&PHPSESSID=2#f",
    b"//b.example\\c/%2e%2E/d?",
    b"https://user:pw@[::1]:443/a b\tc",
    b"../..//x?y=z&&a=b;c",
    b"javascript:alert(1)",
    b"http://xn--nxasmq6b.0x7f.1/%zz",
]
CONFIG = b"""seeds = ["http://a.example/"]\nrate = "50/s"\nbandwidth = "2GB/day"\nscope = "domain"\ninclude = ["/a/"]
focus = ["/x/=4"]\nmax-depth = 3\ndelay = 1.5\ncontinuous = true\nshares = "0.5,0.2,0.1"\nallow-network = ["10.0.0.0/8"]
resolve = ["a.example=10.0.0.1"]\nfirst-rate = "5/d"\ndiscovery = "auto"\nledger = "opic"\nkeep = "all"\n"""


class Broken(Exception):
    """A law does not hold."""


def must(holds: bool, law: str) -> None:
    """Broken if a law does not hold."""
    if not holds:
        raise Broken(law)


@dataclass(frozen=True, slots=True)
class Target:
    """Good inputs, what is done with a mutated one, and how many inputs of a million are of this target."""

    seeds: list[bytes]
    read: Callable[[bytes], object]
    words: tuple[bytes, ...] = ()  # that mutations insert
    share: int = 1


def targets(folder: Path) -> dict[str, Target]:
    """All targets by name; those that need files write them into this folder."""
    graph = Graph(np.array([0, 3, 4, 6, 7]), np.array([1, 2, 3, 0, 1, 3, 3], dtype=np.int32))
    return {
        "html": Target([HTML], _document("text/html"), (b"<a href=", b"<table>", b"</", b"<svg>", b"<!--", b"&#"), 12),
        "xml": Target([XML], _document("application/xml"), (b"<!ENTITY a '", b"&a;", b"]]>", b"xmlns=", b"</r>"), 8),
        "robots": Target([ROBOTS], _robots, (b"User-agent: *\n", b"Disallow: ", b"*", b"$", b"%"), 8),
        "sitemap": Target([SITEMAP, zlib.compress(SITEMAP, wbits=31), b"http://a.example/\n"], read_sitemap, (), 6),
        "feed": Target([FEED, ATOM], read_feed, (b"<item>", b"<link>", b"2026-"), 6),
        "url": Target(URLS, _url(), (b"//", b"..", b"%", b"[", b"@", b":", b"?", b"xn--", b"\\"), 20),
        "frames": Target([_frames()], _frame, (b"\0\0\0\0\1",), 10),
        "messages": Target(_messages(), _message, (), 8),
        "commands": Target(_commands(), _command, (), 4),
        "journal": Target(_journal_files(folder), _journal(folder), (), 2),
        "state file": Target([_appended_file(folder)], _appended(folder), (), 2),
        "snapshot": Target(_manifests(folder), _snapshot(folder), (b'"O"', b"[-1]", b"null", b'"<V8"', b'".."'), 2),
        "mark": Target([_mark_bytes(folder)], _mark(folder), (), 2),
        "bv graph": Target(_bv(graph, folder), _read_bv, (), 6),
        "npz": Target(_npz(folder), _file(folder, "x.npz"), (), 2),
        "edges": Target(
            [b"a,b\nb,c\n", b"0 1 2.5\n1 0 1\n", b"# x\n\xff\t\xfe\n"],
            _file(folder, "x.csv"),
            (b",", b"\n", b"1e309"),
            2,
        ),
        "matrix market": Target(
            [b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.5\n3 1 2\n"],
            _file(folder, "x.mtx"),
            (b"3",),
            2,
        ),
        "warc": Target(_records(), _record, (b"\r\n\r\n", b"WARC/1.1\r\n", b"Content-Length: "), 8),
        "captures": Target([_index()], _captures(folder), (b'"', b"\n", b" ", b"{}"), 3),
        "settings": Target(
            [CONFIG, json.dumps(CrawlSettings(seeds=(URL,)).facts()).encode()], _settings(folder), (), 4
        ),
    }


# ---- the web


def _document(content_type: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        document = read_document(data, url=URL, content_type=content_type, truncated=False)
        must(all(isinstance(link, str) for link in document.hrefs), "links are text")

    return read


def _robots(data: bytes) -> None:
    rules = parse_rules(data, "centime")
    rules.allows(URL)
    rules.allows("http://a.example/a%2Fb?x=%7E")
    must(0 <= rules.crawl_delay < math.inf, "a delay is a time")


def _url() -> Callable[[bytes], object]:
    many = Canonicaliser(1000)

    def read(data: bytes) -> None:
        href = data.decode(errors="replace")
        for url in (canonical(href), canonical(href, URL)):
            if url is not None:
                must(url.isascii() and url.isprintable() and " " not in url, "a canonical URL is printable ASCII")
                must(len(url) <= LONGEST_URL, "a canonical URL is not too long")
                must(url.startswith(("http://", "https://")), "a canonical URL is of the web")
                must(canonical(url) == url, "a canonical URL stays as it is")
                url_key(url)
        must(many.many([href], URL) == [canonical(href, URL)], "many URLs are as one")

    return read


# ---- the folder of a crawl


def _frames() -> bytes:
    data, chain = b"", 7
    for index, payload in enumerate([b"one", b"", b"three" * 20]):
        head, chain = frame_head(index + 1, index, payload, chain)
        data += head + payload
    return data


def _frame(data: bytes) -> None:
    frame = frame_at(data, 0, 0, 7)
    if frame is not None:
        head, chain = frame_head(frame.kind, 0, frame.payload, 7)
        must(data.startswith(head + frame.payload) and chain == frame.chain, "a frame is what was written")
    place = frame_behind(data, 0)
    must(place is None or FRAME.size <= place <= len(data) - FRAME.size, "a frame lies in the data")


def _messages() -> list[bytes]:
    return [pack(Seeded(1.0, URL.encode())), pack(Visits(1.0, []))]


def _message(data: bytes) -> None:
    for kind in (Seeded, Visits):
        with suppress(msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            msgspec.msgpack.decode(data, type=kind)


def _commands() -> list[bytes]:
    about: dict[str, Any] = {"id": new_id(), "time": 1.0}
    subscription = Subscription("s", "/a/", 60.0, "file:/tmp/x", "//a")
    return [
        pack_command(SubscribeCommand(**about, subscription=subscription)),
        pack_command(PublishCommand(**about, urls=URL.encode(), publisher="p")),
    ]


def _command(data: bytes) -> None:
    with suppress(BadInput):
        check_content(unpack_command(data))


def _journal_files(folder: Path) -> list[bytes]:
    Journal.create(folder / "journal", 7)
    journal = Journal.open(folder / "journal", True, 7)
    for index in range(5):
        journal.append(1 + index, b"payload" * index)
    journal.close()
    return [next((folder / "journal").glob("*.log")).read_bytes()]


def _journal(folder: Path) -> Callable[[bytes], object]:
    path = next((folder / "journal").glob("*.log"))
    good = path.read_bytes()

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            journal = Journal.open(folder / "journal", False, 7)
            frames = [payload for _, _, payload in journal.follow(None, 0, 7)]
        except DamagedFile:
            return
        must(frames == [b"payload" * index for index in range(5)], "a damaged journal is not taken for a whole one")
        must(data.startswith(good), "the confirmed part is what was written")

    return read


def _appended_file(folder: Path) -> bytes:
    file = AppendedFile.open(folder / "fuzz.bin", "fuzz", None, writable=True)
    for index in range(300):
        file.append(b"item" * (index % 9))
    np.save(folder / "fuzz.npy", file.state())
    file.close()
    return (folder / "fuzz.bin").read_bytes()


def _appended(folder: Path) -> Callable[[bytes], object]:
    state, good = np.load(folder / "fuzz.npy"), (folder / "fuzz.bin").read_bytes()

    def read(data: bytes) -> None:
        (folder / "fuzz.bin").write_bytes(data)
        try:
            file = AppendedFile.open(folder / "fuzz.bin", "fuzz", state, writable=False)
        except DamagedFile:
            return
        must(file.base.tobytes() == good[: int(state[0])], "a damaged file is not taken for a whole one")

    return read


def _manifests(folder: Path) -> list[bytes]:
    arrays = {"a": np.arange(5), "b": np.zeros((2, 3), dtype=[("x", "<i4"), ("y", "<f8")])}
    write_content(folder / "snapshot", {"frame": 1, "chain": 2}, arrays)
    return [json.dumps(json.loads((folder / "snapshot/manifest.json").read_bytes())["snapshot"]).encode()]


def _snapshot(folder: Path) -> Callable[[bytes], object]:
    """Manifests whose checksum is right, as somebody could make them."""

    def read(data: bytes) -> None:
        try:
            content = json.loads(data)
            checksum = xxh3_64_hexdigest(json.dumps(content, sort_keys=True).encode())
            text = json.dumps({"checksum": checksum, "snapshot": content}).encode()
        except (ValueError, RecursionError):
            text = data
        (folder / "snapshot/manifest.json").write_bytes(text)
        with suppress(DamagedFile):
            read_snapshot(folder / "snapshot")

    return read


def _mark_bytes(folder: Path) -> bytes:
    create_mark(folder / "mark", Mark(7, 3, 1, 5, 9))
    return (folder / "mark").read_bytes()


def _mark(folder: Path) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        (folder / "mark").write_bytes(data)
        mark = read_mark(folder / "mark")
        must(mark is None or mark == Mark(7, 3, 1, 5, 9), "a damaged mark is not taken for a whole one")
        mark_trouble(folder / "mark")

    return read


# ---- graphs


def _bv(graph: Graph, folder: Path) -> list[bytes]:
    write_graph(NamedGraph(graph, None), folder / "x.graph")
    properties = (folder / "x.properties").read_bytes()
    return [len(properties).to_bytes(2, "big") + properties + (folder / "x.graph").read_bytes()]


def _read_bv(data: bytes) -> None:
    length = int.from_bytes(data[:2], "big")
    with suppress(BadInput):
        _sound(read_webgraph(data[2 + length :], data[2 : 2 + length].decode("latin-1"), "x.graph"))


def _npz(folder: Path) -> list[bytes]:
    made = []
    for form in ("csr", "csc", "coo"):
        for compressed in (False, True):
            matrix = scipy.sparse.coo_array(np.eye(4) + np.eye(4, k=1)).asformat(form)
            scipy.sparse.save_npz(folder / "made.npz", matrix, compressed=compressed)
            made.append((folder / "made.npz").read_bytes())
    return made


def _file(folder: Path, name: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        (folder / name).write_bytes(data)
        with suppress(BadInput):
            _sound(read_named(folder / name).graph)

    return read


def _sound(graph: Graph) -> None:
    must(len(graph.targets) == graph.offsets[-1], "every link has a place")
    must(bool((np.diff(graph.offsets) >= 0).all()), "rows do not overlap")
    must(not len(graph.targets) or 0 <= graph.targets.min() <= graph.targets.max() < graph.pages, "links lead to pages")


# ---- the archive


def _records() -> list[bytes]:
    response = Response(url=URL, outcome=Outcome.READ, status=200, body=b"body", headers=(("a", "b"),), asked_at=1.7e9)
    return [zlib.decompress(answer(response, "<urn:x>", "<urn:y>", b"d" * 20, ""), wbits=31)]


def _record(data: bytes) -> None:
    """Records as they are, and as whole gzip members."""
    must(payload_of(data) is None or data[:2] == b"\x1f\x8b", "a record is a gzip member")
    facts_of(data[:HEAD_BYTES])
    member = zlib.compress(data, 1, wbits=31)
    payload = payload_of(member)
    must(payload is None or payload + b"\r\n\r\n" == data[-len(payload) - 4 :], "a payload is the end of its record")


def _index() -> bytes:
    capture = Capture(
        url=URL, timestamp="20260131120000", mime="text/html", digest="D", offset=1, length=2, filename="f", status=200
    )
    return capture.line() * 3


def _captures(folder: Path) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            with suppress(ValueError, KeyError):
                capture_of(line)
        (folder / "fuzz.cdxj").write_bytes(data)
        with suppress(DamagedFile):
            find_bodies(folder, URL)

    return read


# ---- settings


def _settings(folder: Path) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        (folder / "config.toml").write_bytes(data)
        with suppress(BadInput):
            settings_from(read_config(folder / "config.toml") | {"seeds": [URL]}, where="fuzz")
        try:
            facts = json.loads(data)
        except (ValueError, RecursionError):
            return
        with suppress(BadInput, DamagedFile):
            if isinstance(facts, dict):
                decode_settings(facts, where="fuzz")

    return read
