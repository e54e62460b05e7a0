"""The newest body of each page: all that an index or an export needs to know about the storage of bodies.

    bodies = StoredBodies(reader)
    for body in bodies.since(position):            the newest bodies among those that came since
        data, content_type = bodies.read(body)
    bodies.position                                where the next pass begins

Bodies are in the archive (`archived.py`) or are versions in a database (`store/versions/`); a crawl has both if its
--keep was changed. Then a page may come twice, and the body that was seen last counts.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from xxhash import xxh3_64_intdigest

from centime.crawl.engine.damage import damage_closes
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.bodies import Stored, find_captures, read_stored, seconds_of
from centime.crawl.search.archived import ArchivedCaptures, Position
from centime.files.listing import files_below
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.store.versions.stored import every_newest, versions_of

BATCH = 4096  # versions whose pages are looked up at once
VERSIONS = "versions"  # their place in a position


@dataclass(frozen=True, slots=True)
class NewestBody:
    """The newest body of a page, not yet read."""

    page: PageId
    url: str
    digest: str
    time: float  # when it was first seen
    seen: float  # when it was last seen
    stored: Stored


class NewestBodies(Protocol):
    """Where the newest bodies of pages come from."""

    position: Position
    count: int

    def since(self, position: Position) -> Iterator[NewestBody]:
        """The newest bodies among those that were stored since a position. At the end `self.position` is the next one;
        `self.count` is about how many there are.
        """
        ...

    def of(self, page: PageId, url: str) -> NewestBody | None:
        """The newest body of one page; None if none is stored."""
        ...

    def read(self, body: NewestBody) -> tuple[bytes, str]:
        """The bytes of a body and its Content-Type; DamagedFile if they are not there as they were."""
        ...


class StoredBodies:
    """The newest bodies of the pages of a crawl."""

    def __init__(self, opened: CrawlState) -> None:
        self._opened = opened
        self._folder = opened.folder
        self.position: Position = {}
        self.count = 1

    @property
    def is_mixed(self) -> bool:
        """Whether bodies are in both places."""
        return all(map(files_below, (self._folder.bodies, self._folder.versions)))

    def since(self, position: Position) -> Iterator[NewestBody]:
        """The newest bodies among those that were stored since a position."""
        with ArchivedCaptures(self._opened) as archived:
            with damage_closes(self._folder.path):
                archived.read_since(position)
            self.position = archived.position
            state = self._state_of_versions()
            is_new = position.get(VERSIONS) != state
            self.count = max(1, archived.count + (self._opened.shard.read_count if state and is_new else 0))
            for page, first, seen, capture in archived.newest():
                yield NewestBody(page, capture.url, capture.digest, first, seen, capture)
        if state:
            self.position[VERSIONS] = state
        if is_new:
            with damage_closes(self._folder.path):
                yield from self._versions()

    def every(self) -> Iterator[NewestBody]:
        """The newest body of every page that has one, each page once."""
        seen = np.zeros(self._opened.shard.pages.count)
        for body in self.since({}):
            seen[body.page] = max(seen[body.page], body.seen)
        for body in self.since({}):
            if body.seen == seen[body.page]:
                seen[body.page] = -1.0
                yield body

    def of(self, page: PageId, url: str) -> NewestBody | None:
        """The newest body of one page; None if none is stored."""
        found: list[NewestBody] = []
        if captures := find_captures(self._folder, url):
            last = captures[-1]
            same = [capture for capture in captures if capture.digest == last.digest]
            times = seconds_of(same[0].timestamp), seconds_of(last.timestamp)
            found.append(NewestBody(page, url, last.digest, *times, last))
        if versions := versions_of(self._folder.versions, url):
            newest = versions[-1]
            found.append(NewestBody(page, url, newest.digest, newest.time, newest.seen, newest))
        return max(found, key=lambda body: body.seen, default=None)

    def read(self, body: NewestBody) -> tuple[bytes, str]:
        """The bytes of a body and its Content-Type; DamagedFile if they are not there as they were."""
        return read_stored(self._folder, body.stored)

    def _versions(self) -> Iterator[NewestBody]:
        every, table = every_newest(self._folder.versions), self._opened.shard.pages.table
        while batch := list(islice(every, BATCH)):
            pages = table.find(np.array([fingerprint(version.url) for version in batch], dtype=np.uint64)).tolist()
            for page, version in zip(pages, batch, strict=True):
                if page >= 0:
                    yield NewestBody(PageId(page), version.url, version.digest, version.time, version.seen, version)
                else:  # the state is behind: they are read again the next time
                    self.position.pop(VERSIONS, None)

    def _state_of_versions(self) -> list[Any]:
        """Names, sizes and times of the files of the database: it is read again if one of them changed."""
        state: list[Any] = []
        for path in files_below(self._folder.versions):
            with suppress(FileNotFoundError):  # the crawl ends, and its log of writes with it
                about = path.stat()
                if about.st_size and not path.name.endswith("-shm"):
                    state.append([path.name, about.st_size, about.st_mtime_ns])
        return state


def digest_number(digest: str) -> int:
    """The number by which an index knows a body; never 0, which stands for none."""
    return xxh3_64_intdigest(digest.encode()) or 1
