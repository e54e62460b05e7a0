"""The stored bodies as one archive: WARC files joined, or a WACZ package that replay tools open.

Both are copies of the records as they were stored. Stored versions (`--keep versions`) are first made into records, in
a temporary folder: their heads have the status and the Content-Type, the only headers that are stored. Of a file that a
crawl is writing, the records that its index names are copied. A WACZ is a ZIP file: `archive/` has the WARC files,
`indexes/index.cdx` all captures in order, and `pages/pages.jsonl` the pages with their titles.
"""

import hashlib
import heapq
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from centime.crawl.engine.state import CrawlState
from centime.crawl.export.corpus import Corpus
from centime.crawl.report.opening import moment
from centime.crawl.search.archived import indexes_of
from centime.files.disk import naming
from centime.model.document import Document
from centime.model.errors import BadInput, DamagedFile, UnknownPage
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.archives.archive import Archive
from centime.store.archives.captures import OPEN, capture_of
from centime.store.versions.stored import StoredVersion, body_of_version, every_version

CHUNK = 1 << 20
Step = Callable[[float], None]


class Archives(NamedTuple):
    """Folders with WARC files, and how many stored versions are not in them because they cannot be read or kept."""

    folders: tuple[Path, ...]
    unreadable: int


@contextmanager
def archives_of(opened: CrawlState) -> Iterator[Archives]:
    """The folders with the WARC files of a crawl: its own, and while the block runs one of its stored versions."""
    with tempfile.TemporaryDirectory(prefix="centime-export-") as name:
        settings = opened.settings
        part = f"-{settings.partition:04}" if settings.partitions > 1 else ""  # names differ in all partitions
        archive, unreadable = Archive(name, f"versions{part}"), 0
        try:
            for version in every_version(opened.folder.versions):
                try:
                    archive.keep(_response(opened, version), Document(kind=PageKind.OTHER))
                except (BadInput, DamagedFile, UnknownPage):
                    unreadable += 1
        finally:
            archive.close()
        yield Archives((opened.folder.bodies, Path(name)), unreadable)


def _response(opened: CrawlState, version: StoredVersion) -> Response:
    """The response that a version came with, as far as it is stored."""
    return Response(
        url=version.url,
        outcome=Outcome.READ,
        status=version.status,
        headers=(("Content-Type", version.content_type),) if version.content_type else (),
        body=body_of_version(opened.folder.versions, version),
        asked_at=version.time,
    )


def write_warc(archives: Sequence[Path], file: BinaryIO, step: Step = lambda share: None) -> int:
    """Writes all WARC files one after the other, which is a WARC file too; returns how many there were."""
    files = [found for folder in archives for found in _warc_files(folder)]
    total = sum(size for _, size in files) or 1
    for path, size in files:
        for some in _read(path, size):
            file.write(some)
            step(len(some) / total)
    return len(files)


def write_wacz(
    title: str,
    corpora: Sequence[Corpus],
    archives: Sequence[Path],
    file: BinaryIO,
    created: float,
    step: Step = lambda share: None,
) -> None:
    """Writes a WACZ package, version 1.1.1; the corpora count its pages."""
    files = [found for folder in archives for found in _warc_files(folder)]
    indexes = [index for folder in archives for index in indexes_of(folder).values()]
    total = sum(size for _, size in files) or 1
    resources: list[dict[str, object]] = []
    with zipfile.ZipFile(file, "w", allowZip64=True) as package:
        for path, size in files:
            _add(
                package,
                f"archive/{path.name}",
                _stepped(_read(path, size), lambda done: step(done / total)),
                resources,
            )
        # pywb takes an index whose name ends in .cdx and no other, although its lines are CDXJ
        _add(package, "indexes/index.cdx", heapq.merge(*map(_sorted_lines, indexes)), resources)
        _add(package, "pages/pages.jsonl", _pages(corpora), resources)
        about = {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": title,
            "software": "centime",
            "created": moment(created),
            "resources": resources,
        }
        text = json.dumps(about, indent=1).encode()
        package.writestr("datapackage.json", text)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        package.writestr("datapackage-digest.json", json.dumps(digest))


def _warc_files(bodies: Path) -> Iterator[tuple[Path, int]]:
    """The WARC files, and how many bytes of each are complete records."""
    for name, index in indexes_of(bodies).items():
        path = bodies / f"{name}.warc.gz"
        size = path.stat().st_size
        if index.name.endswith(OPEN):
            captures = [capture_of(line) for line in _sorted_lines(index)]
            size = max((capture.offset + capture.length for capture in captures), default=0)
        yield path, size


def _read(path: Path, size: int) -> Iterator[bytes]:
    with naming(path), path.open("rb") as file:
        while size > 0 and (some := file.read(min(CHUNK, size))):
            size -= len(some)
            yield some


def _stepped(parts: Iterable[bytes], step: Step) -> Iterator[bytes]:
    for some in parts:
        yield some
        step(len(some))


def _sorted_lines(index: Path) -> Iterator[bytes]:
    """The lines of an index in order; an open one is sorted in memory."""
    with index.open("rb") as file:
        lines = (line for line in file if line.endswith(b"\n"))
        yield from sorted(lines) if index.name.endswith(OPEN) else lines


def _pages(corpora: Sequence[Corpus]) -> Iterator[bytes]:
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}).encode() + b"\n"
    first = 0  # of the pages of a partition, in one numbering
    for corpus in corpora:
        yield from _pages_of(corpus, first)
        first += corpus.known


def _pages_of(corpus: Corpus, first: int) -> Iterator[bytes]:
    for body, _, _, _, made in corpus.texts():
        time = datetime.fromtimestamp(body.seen, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = {"id": str(first + body.page), "url": body.url, "title": made.title or body.url, "ts": time}
        yield json.dumps(said, ensure_ascii=False).encode(errors="replace") + b"\n"


def _add(package: zipfile.ZipFile, name: str, parts: Iterable[bytes], resources: list[dict[str, object]]) -> None:
    """Adds a file to a package, uncompressed as the format requires, and describes it."""
    digest, size = hashlib.sha256(), 0
    with package.open(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as file:
        for some in parts:
            file.write(some)
            digest.update(some)
            size += len(some)
    resources.append(
        {"name": name.rpartition("/")[2], "path": name, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}
    )
