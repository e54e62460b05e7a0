"""Targets of fuzzing for files of other programs: each reader gives findings or says what is wrong, and never fails."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from bench.fuzz_target import URL, InputFile, Target, must, own
from centime.crawl.imports.detecting import sources_of
from centime.crawl.imports.finding import Reading
from centime.model.errors import BadInput

MOST_BYTES = 10_000
RECORD = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %b\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
    b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
)
CONTENT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    b"%x\r\n%b\r\n0\r\n\r\n"
)
JSON_ITEM = {"url": URL, "time": 1.76e9, "status": 200, "links": ["/a", {"url": "b"}], "body": "<p>x</p>"}
CDX = f"com,a)/ 20260101000000 {URL} text/html 200 AAAA - - 100 5 a.warc.gz\n".encode()
CDXJ = f'com,a)/ 20260101000000 {{"url": "{URL}", "mime": "text/html", "status": "200", "digest": "A"}}\n'.encode()
LOG = f"2026-01-01T00:00:00.000Z   200  512 {URL} L - text/html #1 20260101000000000+8 sha1:A - -\n".encode()
METADATA = {
    "Envelope": {
        "WARC-Header-Metadata": {"WARC-Target-URI": URL, "WARC-Date": "2026-01-01T00:00:00Z"},
        "Payload-Metadata": {
            "HTTP-Response-Metadata": {
                "Response-Message": {"Status": "200"},
                "Headers": {"ETag": "x", "Link": ["a", "b"]},
                "HTML-Metadata": {
                    "Head": {"Metas": [{"name": "robots", "content": "nofollow"}], "Base": "/x"},
                    "Links": [{"path": "A@/href", "url": "/a", "rel": "ugc"}],
                },
            }
        },
    }
}
WORDS = (b"\r\n\r\n", b"WARC/1.1\r\n", b"Content-Length: 9", b"\x1f\x8b\x08", b"\t", b"\n", b'{"url":', b"null", b"[")


def import_targets(folder: Path) -> dict[str, Target]:
    """The targets by name; each writes into a folder of its own inside this one."""
    packed = gzip.compress(b"<p>x</p>", mtime=0)
    content = CONTENT % (len(packed), packed)
    record = RECORD % (URL.encode(), len(content), content)
    item = json.dumps(METADATA).encode()
    wat = RECORD.replace(b"response", b"metadata").replace(b"application/http", b"application/json")
    archives = [record * 2, gzip.compress(record, mtime=0) * 2, gzip.compress(record * 3, mtime=0)]
    return {
        "imported archives": Target(archives, _reader(own(folder, "archives"), "warc"), WORDS, 2),
        "imported metadata": Target([wat % (URL.encode(), len(item), item)], _reader(own(folder, "wat"), "wat"), WORDS),
        "imported lines": Target(
            [
                CDX * 2,
                CDXJ * 2,
                b" CDX b a s\n20260101 http://a/ 200\n",
                LOG,
                json.dumps(JSON_ITEM).encode(),
                _bundle(folder),
                _bundle(folder)[:-100],  # without its directory
            ],
            _reader(own(folder, "lines"), ""),
            WORDS,
        ),
    }


def _bundle(folder: Path) -> bytes:
    """A small WACZ file."""
    with zipfile.ZipFile(folder / "bundle.zip", "w") as archive:
        archive.writestr("archive/a.warc", RECORD % (URL.encode(), 3, b"abc"))
    return (folder / "bundle.zip").read_bytes()


def _reader(folder: Path, form: str) -> Callable[[bytes], object]:
    file = InputFile(folder / "input")

    def read(data: bytes) -> None:
        path = file.take(data)
        try:
            sources = sources_of([path], form, Reading(MOST_BYTES))
        except BadInput:
            return
        for source in sources:
            before = 0
            for end, _ in source.items(0):
                must(end >= before or source.format == "webgraph", "positions grow")
                before = end
            for _ in source.items(before):
                must(False, "behind the last position there is nothing")

    return read
