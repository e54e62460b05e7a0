"""All stored versions of all pages as a stream for `git fast-import`: a commit for each version, in the order of time.

    centime export museum --format git -o - | git -C museum.git fast-import

A page is a file that is named by its URL (`naming.py`). A visit that found the same body again makes no commit. The
stream ends with `done`, so that git refuses one that was cut off. Memory: 32 bytes for each version, and one body.
Versions of all partitions of a crawl are in one order.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np
from xxhash import xxh3_64_intdigest

from centime.crawl.engine.state import CrawlState
from centime.crawl.export.naming import page_name
from centime.crawl.report.bodies import Stored, read_stored, seconds_of
from centime.crawl.search.archived import indexes_of
from centime.model.address import fingerprint
from centime.model.errors import DamagedFile, FileGone, UnknownPage
from centime.model.ids import PageId
from centime.store.archives.captures import capture_of
from centime.store.versions.stored import every_version, versions_of

Step = Callable[[float], None]
_VERSIONS = -1  # instead of the number of an archive's index


class History:
    """The stored versions of a crawl, or of all its partitions; `commits` and `unreadable` count them as they are
    written.
    """

    def __init__(self, states: Sequence[CrawlState]) -> None:
        self._states = states
        self._paths = [list(indexes_of(state.folder.bodies).values()) for state in states]
        self._times, self._owners, self._files = array("d"), array("i"), array("i")
        self._places, self._numbers = array("q"), array("i")  # a line of an index; or a page, and a version of it
        self.commits = 0
        self.unreadable = 0

    def write(self, file: BinaryIO, step: Step = lambda share: None) -> None:
        """Writes the stream."""
        self._find_all()
        last = [np.zeros(state.shard.pages.count, dtype=np.uint64) for state in self._states]
        order = np.argsort(np.frombuffer(self._times), kind="stable") if self._times else np.zeros(0, dtype=np.int64)
        file.write(b"feature done\n")
        for at in order.tolist():
            step(1 / len(order))
            owner = self._owners[at]
            stored = self._stored(at)
            page = None if stored is None else self._page(owner, stored.url)
            if stored is None or page is None or last[owner][page] == xxh3_64_intdigest(stored.digest.encode()):
                continue
            try:
                body, _ = read_stored(self._states[owner].folder, stored)
            except (DamagedFile, FileGone, UnknownPage, OSError):
                self.unreadable += 1
                continue
            last[owner][page] = xxh3_64_intdigest(stored.digest.encode())
            self._commit(file, stored.url, self._times[at], body)
        file.write(b"done\n")

    def _find_all(self) -> None:
        """Notes the time and the place of every version."""
        for owner, state in enumerate(self._states):
            for number, path in enumerate(self._paths[owner]):
                place = 0
                with path.open("rb") as file:
                    for line in file:
                        capture = capture_of(line) if line.endswith(b"\n") else None
                        if capture is not None and (capture.document or capture.revisit):
                            self._note(seconds_of(capture.timestamp), owner, number, place, 0)
                        place += len(line)
            for version in every_version(state.folder.versions):
                page = self._page(owner, version.url)
                if page is not None:
                    self._note(version.time, owner, _VERSIONS, page, version.number)

    def _page(self, owner: int, url: str) -> PageId | None:
        return self._states[owner].shard.pages.table.find_one(fingerprint(url))

    def _note(self, time: float, owner: int, file: int, place: int, number: int) -> None:
        self._times.append(time)
        self._owners.append(owner)
        self._files.append(file)
        self._places.append(place)
        self._numbers.append(number)

    def _stored(self, at: int) -> Stored | None:
        """The version at a place; None if it was removed meanwhile."""
        owner = self._owners[at]
        if self._files[at] != _VERSIONS:
            with self._paths[owner][self._files[at]].open("rb") as file:
                file.seek(self._places[at])
                return capture_of(file.readline())
        state = self._states[owner]
        url = state.shard.pages.texts.get(PageId(self._places[at]))
        found: Iterator[Stored] = (
            one for one in versions_of(state.folder.versions, url) if one.number == self._numbers[at]
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
        return any(self._page(owner, url) is not None for owner in range(len(self._states)))
