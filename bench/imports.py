"""How quickly files of other programs are imported: records in a second of CPU of this process, journal included.

    python -m bench.imports [PAGES]

A WAT file as Common Crawl writes it is made up: for each page a request, a response and a metadata record, each a gzip
member; 60 links in a response, half of them in the template of the host, most within the host, and the headers, scripts
and metas that are usual. There are 25 pages of each host. It is imported into a crawl of any scope, so that each link
is made canonical, and all pages become known; and into one of a few sites, as people do who look for what Common Crawl
has of theirs. All records of the file count, as people count them; visits are given besides. The same visits as CDXJ,
and as WARC with bodies, are measured too.

"Reading alone" unpacks the records of the WAT file and decodes what is used of their JSON, and does nothing with it: no
import can be faster.

Trap: what it takes until the kernels are compiled is not counted: a smaller file is imported first.
"""

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from centime.crawl.engine.opening import open_writer
from centime.crawl.imports.archived import finding_of
from centime.crawl.imports.finding import Reading
from centime.crawl.imports.importing import ImportReport, importing
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords

PAGES, PAGES_OF_HOST, LINKS = 20_000, 25, 60
WARM = 4_000
BEGAN = 1_760_000_000


def main() -> None:
    """Prints the figures of all formats."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(_reading(folder, pages))
        for title, make, per_page, scope in (
            ("WAT", wat_records, 3, "any"),
            ("WAT for one site of many", wat_records, 3, "host"),
            ("CDXJ", cdxj_lines, 1, "any"),
            ("WARC", warc_records, 1, "any"),
        ):
            _measured(folder, f"{title}, first", make, WARM, per_page, scope)
            print(_measured(folder, title, make, pages, per_page, scope))


def _reading(folder: Path, pages: int) -> str:
    """How quickly a WAT file is unpacked, and decoded."""
    path = folder / "reading"
    with path.open("wb") as file:
        for piece in wat_records(pages):
            file.write(piece)
    rates = []
    for decoded in (False, True):
        started = time.process_time()
        with path.open("rb", buffering=0) as file:
            for _, record in WarcRecords(file, path.stat().st_size).read(0):
                if decoded and isinstance(record, WarcRecord):
                    finding_of(record, Reading(1 << 20))
        rates.append(3 * pages / (time.process_time() - started))
    return f"WAT, reading alone: {rates[0]:,.0f} records per CPU-second unpacked, {rates[1]:,.0f} decoded too"


def _measured(
    folder: Path, title: str, make: Callable[[int], Iterator[bytes]], pages: int, per_page: int, scope: str
) -> str:
    path = folder / f"{title}-{pages}"
    with path.open("wb") as file:
        for piece in make(pages):
            file.write(piece)
    started = time.process_time()
    report, known = imported(folder / f"crawl-{title}-{pages}", path, scope)
    seconds = time.process_time() - started
    records = per_page * pages
    return (
        f"{title}: {records / seconds:,.0f} records per CPU-second ({report.visits:,} visits at "
        f"{report.visits / seconds:,.0f}, {known:,} pages known, {path.stat().st_size / seconds / 1e6:.1f} MB of the "
        "file per CPU-second)"
    )


def imported(folder: Path, path: Path, scope: str = "any") -> tuple[ImportReport, int]:
    """Imports a file into a new crawl; also how many pages are known then."""
    with open_writer(folder, ("https://host0.example/",), {"scope": scope}) as opened:
        with importing(opened) as importer:
            report = importer.run(importer.sources([path]))
        return report, opened.shard.pages.count


def url_of(page: int) -> str:
    """The URL of a page that is made up."""
    host, number = divmod(page, PAGES_OF_HOST)
    return f"https://host{host}.example/section-{number % 5}/article-{page}.html"


def links_of(page: int) -> list[str]:
    """Its links as written: half of them are those of all pages of its host."""
    host, number = divmod(page, PAGES_OF_HOST)
    template = [f"/section-{k % 5}/" if k < 5 else f"/topics/topic-{k}.html" for k in range(LINKS // 2)]
    own = [f"/section-{k % 5}/article-{host * PAGES_OF_HOST + (number * 7 + k) % 40}.html" for k in range(LINKS // 3)]
    far = [f"https://host{(host * 31 + k * 17) % 4000}.example/" for k in range(LINKS - len(template) - len(own))]
    return [*template, *own, *far]


def wat_records(pages: int) -> Iterator[bytes]:
    """The records of a WAT file."""
    yield _member("warcinfo", "", 0, b"Software-Info: made up\r\n", "application/warc-fields")
    for page in range(pages):
        url, when = url_of(page), BEGAN + page
        for kind in ("request", "response", "metadata"):
            envelope = {
                "Container": {"Compressed": True, "Filename": "CC-MAIN-made-up.warc.gz", "Offset": str(page * 9000)},
                "Envelope": {
                    "Format": "WARC",
                    "WARC-Header-Length": "432",
                    "WARC-Header-Metadata": {
                        "WARC-Type": kind,
                        "WARC-Target-URI": url,
                        "WARC-Date": _date(when),
                        "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{page:012}>",
                        "WARC-Payload-Digest": f"sha1:{page:032X}",
                        "Content-Type": "application/http; msgtype=response",
                    },
                    "Payload-Metadata": _response(page) if kind == "response" else {"Trailing-Slop-Length": "4"},
                },
            }
            yield _member("metadata", url, when, json.dumps(envelope).encode(), "application/json")


def _response(page: int) -> dict[str, object]:
    links = [{"path": "A@/href", "url": url, "text": f"what link {k} says"} for k, url in enumerate(links_of(page))]
    images = [{"path": "IMG@/src", "url": f"/images/{page}-{k}.jpg", "alt": "a picture"} for k in range(12)]
    return {
        "Actual-Content-Type": "application/http; msgtype=response",
        "HTTP-Response-Metadata": {
            "Response-Message": {"Status": "200", "Version": "HTTP/1.1", "Reason": "OK"},
            "Headers": {
                "Content-Type": "text/html; charset=utf-8",
                "Server": "nginx",
                "Date": "Thu, 09 Oct 2025 08:53:20 GMT",
                "Cache-Control": "max-age=600",
                "ETag": f'"{page:x}"',
                "X-Crawler-Content-Length": "8123",
            },
            "HTML-Metadata": {
                "Head": {
                    "Title": f"Article {page}",
                    "Metas": [{"name": "viewport", "content": "width=device-width"}, {"name": "a", "content": "b"}],
                    "Link": [{"path": "LINK@/href", "url": "/style.css", "rel": "stylesheet"}],
                    "Scripts": [
                        {"path": "SCRIPT@/src", "url": f"/{k}.js", "type": "text/javascript"} for k in range(8)
                    ],
                },
                "Links": [*links, *images],
            },
            "Entity-Digest": f"sha1:{page:032X}",
            "Entity-Length": "30211",
        },
    }


def cdxj_lines(pages: int) -> Iterator[bytes]:
    """The lines of an index."""
    for page in range(pages):
        url, stamp = url_of(page), time.strftime("%Y%m%d%H%M%S", time.gmtime(BEGAN + page))
        host, _, path = url.removeprefix("https://").partition("/")
        fields = {"url": url, "mime": "text/html", "status": "200", "digest": f"{page:032X}", "length": "9000"}
        yield f"{','.join(reversed(host.split('.')))})/{path} {stamp} {json.dumps(fields)}\n".encode()


def warc_records(pages: int) -> Iterator[bytes]:
    """The records of a WARC file, with bodies of some 15 KB."""
    for page in range(pages):
        anchors = "".join(f'<li><a href="{url}">what it says</a></li>' for url in links_of(page))
        text = " ".join(f"word{(page * 31 + k * 7) % 5000}" for k in range(1_200))
        body = f"<!DOCTYPE html><html><title>{page}</title><body><ul>{anchors}</ul><p>{text}</p></body></html>"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        content = (head + body).encode()
        yield _member("response", url_of(page), BEGAN + page, content, "application/http; msgtype=response")


def _member(kind: str, url: str, when: int, content: bytes, media_type: str) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\n"
        + (f"WARC-Target-URI: {url}\r\n" if url else "")
        + f"WARC-Date: {_date(when)}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{when:012}>\r\n"
        f"Content-Type: {media_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + content + b"\r\n\r\n", 6, mtime=0)


def _date(when: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))


if __name__ == "__main__":
    main()
