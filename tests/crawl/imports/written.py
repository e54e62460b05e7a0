"""Files as other programs write them, for the tests of imports."""

import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

SEED = "https://museum.example/"
BEGAN = 1_767_225_600.0  # 2026-01-01
DAY = 86_400.0


def date_of(time: float) -> str:
    """A time as a WARC-Date."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_of(time: float) -> str:
    """A time as indexes have it."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y%m%d%H%M%S")


def page(number: int) -> str:
    """The URL of a page."""
    return f"{SEED}page{number}.html"


def html(text: str, links: Iterable[str] = ()) -> bytes:
    """A page with a text and links."""
    anchors = "".join(f'<a href="{url}">there</a>' for url in links)
    return f"<!DOCTYPE html><html><body><p>{text}</p>{anchors}</body></html>".encode()


class _Writer(WARCWriter):  # type: ignore[misc]
    """Leaves no temporary files to the garbage collector."""

    _create_temp_file = staticmethod(io.BytesIO)


class Archive:
    """A WARC file that warcio writes."""

    def __init__(self, path: Path, *, gzip: bool = True) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer = _Writer(self._file, gzip=gzip)
        self._writer.write_record(self._writer.create_warcinfo_record(path.name, {"software": "a test"}))

    def response(self, url: str, time: float, body: bytes = b"", status: str = "200 OK", **headers: str) -> "Archive":
        """Adds a response; headers with underscores for hyphens."""
        fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = StatusAndHeaders(status, list(fields.items()), protocol="HTTP/1.1")
        return self._write(url, "response", time, body, http_headers=head)

    def revisit(self, url: str, time: float, of: float, target: str = "") -> "Archive":
        """Adds a revisit of the body that was there at another time."""
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        record = self._writer.create_revisit_record(
            url,
            "sha1:AAAA",
            target or url,
            date_of(of),
            http_headers=head,
            warc_headers_dict={"WARC-Date": date_of(time)},
        )
        self._writer.write_record(record)
        return self

    def resource(self, url: str, time: float, body: bytes, kind: str) -> "Archive":
        """Adds a file without HTTP headers."""
        return self._write(url, "resource", time, body, warc_content_type=kind)

    def metadata(self, url: str, time: float, content: bytes) -> "Archive":
        """Adds the JSON of a WAT file."""
        return self._write(url, "metadata", time, content, warc_content_type="application/json")

    def _write(self, url: str, kind: str, time: float, body: bytes, **more: Any) -> "Archive":
        record = self._writer.create_warc_record(
            url, kind, payload=io.BytesIO(body), warc_headers_dict={"WARC-Date": date_of(time)}, **more
        )
        self._writer.write_record(record)
        return self

    def close(self) -> Path:
        """Completes the file."""
        self._file.close()
        return self.path


def weekly(path: Path, weeks: Sequence[int] = range(4), pages: int = 10, *, gzip: bool = True) -> Path:
    """Ten pages, each read once a week; those of odd numbers change each time."""
    archive = Archive(path, gzip=gzip)
    for week in weeks:
        for number in range(pages):
            text = f"page {number} says {week if number % 2 else 'the same'}"
            links = [page((number + step) % 15) for step in (1, 2, 5)]
            archive.response(page(number), BEGAN + 7 * DAY * week + number, html(text, links))
    return archive.close()


def wat(url: str, time: float, links: Sequence[dict[str, str]], digest: str = "sha1:A", **response: Any) -> bytes:
    """The JSON of a WAT record."""
    return json.dumps(
        {
            "Container": {"Filename": "x.warc.gz", "Compressed": True},
            "Envelope": {
                "WARC-Header-Metadata": {
                    "WARC-Type": "response",
                    "WARC-Target-URI": url,
                    "WARC-Date": date_of(time),
                    "WARC-Payload-Digest": digest,
                },
                "Payload-Metadata": {
                    "HTTP-Response-Metadata": {
                        "Response-Message": {"Status": "200", "Reason": "OK"},
                        "Headers": {"Content-Type": "text/html", "ETag": '"e"'},
                        "HTML-Metadata": {"Head": {"Title": "A page"}, "Links": list(links)},
                    }
                    | response
                },
            },
        }
    ).encode()
