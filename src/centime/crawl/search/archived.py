"""The newest capture of each page in the archive (`store/archives/captures.py`).

The archive is files of captures, each with an index of a line for each capture. A position says how far each file was
read, so a later pass reads only newer captures. Captures are read file by file, so a pass over all of them reads the
disk once. Memory: 36 bytes for each page.

The state of a running crawl may be behind its archive. A capture of a page that the state does not know yet holds the
position back, unless the state is so much newer that the page must be lost.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from xxhash import xxh3_64_intdigest

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.bodies import seconds_of
from centime.files.disk import naming
from centime.files.listing import list_files
from centime.model.address import fingerprint
from centime.model.errors import DamagedFile
from centime.model.ids import PageId
from centime.store.archives.captures import CLOSED, OPEN, Capture, capture_of
from centime.store.versions.stored import timestamp_of

BATCH = 4096  # captures whose pages are looked up at once
BEHIND_SECONDS = 600.0

Position = dict[str, Any]
"""By the name of a file: `open`, whether it was; `line` and `next`, the bytes of its index and of itself that were
read; `size` and `time` of an index that was read to its end."""


class ArchivedCaptures:
    """The newest capture of each page, as columns: when its body was first and last seen, and where its line is."""

    def __init__(self, opened: CrawlState) -> None:
        self.position: Position = {}
        self._folders = opened.folder.bodies, opened.folder.imported
        self._handles = ExitStack()
        self._table = opened.shard.pages.table
        self._known_until = int(timestamp_of(max(0.0, opened.shard.pages.last_time() - BEHIND_SECONDS)))
        self._indexes: list[BinaryIO | Path] = []
        count = self._table.count
        self._first = np.zeros(count, dtype=np.int64)  # times are numbers of 14 digits
        self._last = np.zeros(count, dtype=np.int64)
        self._digest = np.zeros(count, dtype=np.uint64)
        self._index = np.zeros(count, dtype=np.int32)
        self._line = np.zeros(count, dtype=np.int64)

    def __enter__(self) -> "ArchivedCaptures":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handles.close()

    def read_since(self, position: Position) -> None:
        """Reads the captures that were added since a position."""
        for folder in self._folders:
            for name, path in indexes_of(folder).items():
                self._read(name, path, position.get(name, {}))

    def _read(self, name: str, path: Path, seen: Position) -> None:
        """Reads the captures that were added to a file since it was last read."""
        try:
            file = self._handles.enter_context(path.open("rb"))
        except FileNotFoundError:  # it has just been closed
            path = path.with_suffix("")
            file = self._handles.enter_context(path.open("rb"))
        is_open, about = path.name.endswith(OPEN), path.stat()
        now: Position = {"open": is_open, "size": about.st_size, "time": about.st_mtime_ns}
        if seen and now | seen == now | {"line": seen["line"], "next": seen["next"]}:
            self.position[name] = seen
            file.close()
            return
        # A closed index that has changed was repaired: all of it is read again.
        grew = bool(seen.get("open"))
        line = seen["line"] if grew and is_open else 0
        least = seen["next"] if grew else 0
        self._indexes.append(file if is_open else path)
        with naming(path):
            file.seek(line)
            now |= self._take_all(file, line, least)
        self.position[name] = now
        if not is_open:
            file.close()

    def _take_all(self, file: BinaryIO, line: int, least: int) -> Position:
        """Reads all captures from a line on; returns how far it got."""
        batch: list[tuple[int, Capture]] = []
        held: Position = {}
        following = least
        for text in file:
            if not text.endswith(b"\n"):
                break  # it is being written
            capture = _capture(text, file.name)
            if (capture.offset >= least or capture.elsewhere) and (capture.document or capture.revisit):
                batch.append((line, capture))
            following = max(following, capture.offset + 1)
            line += len(text)
            if len(batch) == BATCH:
                held = held or self._take(batch)
                batch = []
        held = held or self._take(batch)
        return {"line": line, "next": following} | held

    def _take(self, batch: list[tuple[int, Capture]]) -> Position:
        """Notes some captures; returns where to begin again if the page of one is not known yet."""
        prints = np.array([fingerprint(capture.url) for _, capture in batch], dtype=np.uint64)
        held: Position = {}
        index = len(self._indexes) - 1
        for page, (line, capture) in zip(self._table.find(prints).tolist(), batch, strict=True):
            time = int(capture.timestamp)
            if page < 0:
                if time > self._known_until:
                    held = held or {"line": line, "next": 0, "size": -1}
                continue
            digest = xxh3_64_intdigest(capture.digest.encode())
            if self._digest[page] == digest:
                self._first[page] = min(self._first[page], time)
                self._last[page] = max(self._last[page], time)
            elif time >= self._last[page]:
                self._first[page] = self._last[page] = time
                self._digest[page], self._index[page], self._line[page] = digest, index, line
        return held

    @property
    def count(self) -> int:
        """How many pages have one."""
        return int(np.count_nonzero(self._last))

    def newest(self) -> Iterator[tuple[PageId, float, float, Capture]]:
        """The newest captures, file by file: page, when its body was first and last seen, and the capture."""
        pages = np.flatnonzero(self._last)
        pages = pages[np.lexsort((self._line[pages], self._index[pages]))]
        for index in np.unique(self._index[pages]).tolist():
            opened = self._indexes[index]
            with opened.open("rb") if isinstance(opened, Path) else opened as file:
                for page in pages[self._index[pages] == index].tolist():
                    file.seek(int(self._line[page]))
                    capture = _capture(file.readline(), file.name)
                    first, seen = (seconds_of(str(column[page])) for column in (self._first, self._last))
                    yield PageId(page), first, seen, capture


def indexes_of(bodies: Path) -> dict[str, Path]:
    """The indexes of an archive by the names of their files, in order."""
    # Closed ones are listed last: one that was open a moment ago counts.
    paths = {path.name.removesuffix(OPEN): path for path in list_files(bodies, "*" + OPEN)}
    paths |= {path.name.removesuffix(".cdxj"): path for path in list_files(bodies, CLOSED)}
    return dict(sorted(paths.items()))


def _capture(line: bytes, name: str) -> Capture:
    try:
        return capture_of(line)
    except (ValueError, KeyError) as trouble:
        raise DamagedFile(f"{name}: a line of an index is damaged; centime check says which") from trouble
