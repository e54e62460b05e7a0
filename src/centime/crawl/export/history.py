"""All stored versions of all pages as a stream for `git fast-import`: a commit for each version, in the order of time.

    centime export museum --format git -o - | git -C museum.git fast-import

A page is a file that is named by its URL (`naming.py`). A visit that found the same body again is no commit. The stream
ends with `done`, so that git refuses one that was cut off. Memory: 28 bytes for each version, and one body.
"""

from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np
from xxhash import xxh3_64_intdigest

from centime.crawl.engine.state import CrawlState
from centime.crawl.export.naming import page_name
from centime.crawl.report.bodies import Stored, read_stored, seconds_of
from centime.crawl.search.archived import indexes_of
from centime.model.address import fingerprint
from centime.model.errors import DamagedFile, UnknownPage
from centime.model.ids import PageId
from centime.store.captures import capture_of
from centime.store.versions.stored import every_version, versions_of

Step = Callable[[float], None]
_VERSIONS = -1  # in the place of the number of an archive's index


class History:
    """The stored versions of a crawl; `commits` and `unreadable` count them as they are written."""

    def __init__(self, opened: CrawlState) -> None:
        self._opened = opened
        self._folder = opened.folder
        self._paths = list(indexes_of(self._folder.bodies).values())
        self._times, self._files = array("d"), array("i")
        self._places, self._numbers = array("q"), array("i")  # a line of an index; or a page, and a version of it
        self.commits = 0
        self.unreadable = 0

    def write(self, file: BinaryIO, step: Step = lambda share: None) -> None:
        """Writes the stream."""
        self._find_all()
        pages = self._opened.shard.pages
        last = np.zeros(pages.count, dtype=np.uint64)
        order = np.argsort(np.frombuffer(self._times), kind="stable") if self._times else np.zeros(0, dtype=np.int64)
        file.write(b"feature done\n")
        for at in order.tolist():
            step(1 / len(order))
            stored = self._stored(at)
            page = None if stored is None else pages.table.find_one(fingerprint(stored.url))
            if stored is None or page is None or last[page] == xxh3_64_intdigest(stored.digest.encode()):
                continue
            try:
                body, _ = read_stored(self._folder, stored)
            except (DamagedFile, UnknownPage, OSError):
                self.unreadable += 1
                continue
            last[page] = xxh3_64_intdigest(stored.digest.encode())
            self._commit(file, stored.url, self._times[at], body)
        file.write(b"done\n")

    def _find_all(self) -> None:
        """Notes the time and the place of every version."""
        for number, path in enumerate(self._paths):
            place = 0
            with path.open("rb") as file:
                for line in file:
                    capture = capture_of(line) if line.endswith(b"\n") else None
                    if capture is not None and (capture.document or capture.revisit):
                        self._note(seconds_of(capture.timestamp), number, place, 0)
                    place += len(line)
        for version in every_version(self._folder.versions):
            page = self._opened.shard.pages.table.find_one(fingerprint(version.url))
            if page is not None:
                self._note(version.time, _VERSIONS, page, version.number)

    def _note(self, time: float, file: int, place: int, number: int) -> None:
        self._times.append(time)
        self._files.append(file)
        self._places.append(place)
        self._numbers.append(number)

    def _stored(self, at: int) -> Stored | None:
        """The version at a place; None if it was removed meanwhile."""
        if self._files[at] != _VERSIONS:
            with self._paths[self._files[at]].open("rb") as file:
                file.seek(self._places[at])
                return capture_of(file.readline())
        url = self._opened.shard.pages.texts.get(PageId(self._places[at]))
        found: Iterator[Stored] = (
            one for one in versions_of(self._folder.versions, url) if one.number == self._numbers[at]
        )
        return next(found, None)

    def _commit(self, file: BinaryIO, url: str, time: float, body: bytes) -> None:
        name = page_name(url, self._is_known).encode()
        message = f"{url}\n".encode()
        file.write(
            b"commit refs/heads/main\ncommitter centime <centime> %d +0000\ndata %d\n%bM 100644 inline %b\ndata %d\n"
            % (max(0, int(time)), len(message), message, name, len(body))
        )
        file.write(body)
        file.write(b"\n")
        self.commits += 1

    def _is_known(self, url: str) -> bool:
        return self._opened.shard.pages.table.find_one(fingerprint(url)) is not None
