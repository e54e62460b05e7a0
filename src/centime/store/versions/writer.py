"""Keeps the bodies that a fetcher reads as versions of their pages.

A transaction takes longer than all other work on a small page. So a fetcher gathers bodies, and writes them all at once
before it reports that the pages were read (`flush`).
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from centime.files.presence import OTHER, must_lead_to
from centime.model.document import Document
from centime.model.errors import DamagedFile, FileGone, UnknownPage
from centime.model.response import Response
from centime.store.versions.chain import KEY_EVERY, Dictionary, packed
from centime.store.versions.database import BESIDE, FILE, naming_trouble, open_to_write, transaction
from centime.store.versions.dictionary import (
    AGAIN,
    FIRST_AFTER,
    SAMPLES,
    add_dictionary,
    newest_dictionary,
    trained,
)
from centime.store.versions.pruning import prune
from centime.store.versions.retention import EVERYTHING, Retention
from centime.store.versions.stored import document_id, restored

MOST_GATHERED = 4 << 20  # bytes of bodies
_KNOWN = "SELECT newest, digest, seen FROM document WHERE id = ?"
_STEPS = "SELECT steps FROM version WHERE document = ? AND number = ?"
_SEEN = "UPDATE document SET seen = ? WHERE id = ? AND seen < ?"


@dataclass(slots=True)
class _Gathered:
    """A version to write: the known facts of its page, and its frame."""

    response: Response
    digest: bytes
    newest: int
    seen: float | None
    steps_before: int
    steps: int
    frame: bytes


class VersionWriter:
    """Writes to the versions of a crawl; other processes may write to them as well. A writer that `gathers` writes when
    `flush` is called.
    """

    def __init__(
        self,
        folder: Path | str,
        retention: Callable[[str], Retention] = lambda url: EVERYTHING,
        *,
        obeys_noarchive: bool = True,
        gathers: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self.obeys_noarchive = obeys_noarchive
        self._retention = retention
        self._gathers = gathers
        self._gathered: dict[int, _Gathered] = {}
        self._gathered_bytes = 0
        self._seen_again: dict[int, float] = {}
        self._database = open_to_write(self.folder)
        self._handle = os.open(self.path, os.O_RDONLY)
        self._dictionary: Dictionary | None = None
        self._train_after = FIRST_AFTER
        with naming_trouble(self.path):
            self._dictionary = newest_dictionary(self._database)

    def holds(self, url: str, digest: bytes) -> bool:
        """Whether the newest version of a page has this digest: only then may a request be conditional ("not changed
        since")."""
        document = document_id(url)
        if (waits := self._gathered.get(document)) is not None:
            return waits.digest == digest
        with naming_trouble(self.path):
            known = self._database.execute(_KNOWN, (document,)).fetchone()
        return known is not None and known[1] == digest

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> None:
        """Keeps a body as a new version, or notes that the newest one was seen again. NoRoom leaves everything as it
        was.
        """
        with naming_trouble(self.path, writing=True):
            self._gather(response, document.digest)
        self._flush_unless_gathering()

    def verified(self, response: Response) -> None:
        """Notes that the server reported the newest version as unchanged (304)."""
        self._seen(document_id(response.url), response.asked_at)
        self._flush_unless_gathering()

    def answered(self, response: Response) -> None:
        """Does nothing: a redirect, an error or a robots.txt is not a version of a page."""

    def flush(self) -> None:
        """Writes all that was gathered; if that fails, none of it is kept."""
        gathered, seen_again = self._gathered, self._seen_again
        if not gathered and not seen_again:
            return
        self._gathered, self._seen_again, self._gathered_bytes = {}, {}, 0
        with naming_trouble(self.path, writing=True):
            last = 0
            with transaction(self._database):
                for document, one in gathered.items():
                    last = self._write(document, one)
                self._database.executemany(_SEEN, [(time, document, time) for document, time in seen_again.items()])
            if last >= self._train_after:
                self._train(last)

    def _flush_unless_gathering(self) -> None:
        if not self._gathers or self._gathered_bytes > MOST_GATHERED:
            self.flush()

    def _gather(self, response: Response, digest: bytes) -> None:
        document = document_id(response.url)
        if document in self._gathered:
            self.flush()
        newest, known, seen = self._known(document)
        if known == digest:
            self._seen(document, response.asked_at)
            return
        before = self._steps(document, newest)
        steps, frame = self._frame(response.url, newest, before, response.body)
        self._gathered[document] = _Gathered(response, digest, newest, seen, before, steps, frame)
        self._gathered_bytes += len(response.body)

    def _write(self, document: int, one: _Gathered) -> int:
        """Writes a version, as a part of a transaction; returns the number of its row."""
        response, database = one.response, self._database
        url, time = response.url, response.asked_at
        newest, seen, steps, frame = one.newest, one.seen, one.steps, one.frame
        if self._known(document)[0] != newest or self._steps(document, newest) != one.steps_before:
            newest, _, seen = self._known(document)  # another process may have pruned or written meanwhile
            steps, frame = self._frame(url, newest, self._steps(document, newest), response.body)
        database.execute(
            "INSERT INTO document VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " newest = excluded.newest, digest = excluded.digest, seen = excluded.seen",
            (document, url, newest + 1, one.digest, time),
        )
        row = (document, newest + 1, time, seen, one.digest, len(response.body), steps)
        added = database.execute(
            "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, response.content_type, response.status, frame),
        )
        place = added.lastrowid or 0
        retention = self._retention(url)
        if newest and not retention.all:
            prune(database, self.folder, url, retention, time, slack=retention.slack())
        return place

    def _train(self, count: int) -> None:
        """Takes the dictionary that is trained on this many versions, or trains it if no other process has."""
        after = self._train_after
        while self._train_after <= count:
            after, self._train_after = self._train_after, self._train_after * AGAIN
        found = newest_dictionary(self._database, after)
        if found is None and (made := trained(self._samples())) is not None:
            found = add_dictionary(self._database, made, after)
        self._dictionary = found or self._dictionary

    def _samples(self) -> Iterator[bytes]:
        """The newest versions of some pages; the order of their numbers, which are hashes, is random."""
        found = self._database.execute("SELECT url, newest FROM document ORDER BY id LIMIT ?", (SAMPLES,))
        for url, newest in found.fetchall():
            with suppress(DamagedFile, UnknownPage):
                yield restored(self._database, self.folder, url, newest)

    def _known(self, document: int) -> tuple[int, bytes, float | None]:
        """Number and digest of the newest version of a page, and when it was last seen."""
        return self._database.execute(_KNOWN, (document,)).fetchone() or (0, b"", None)

    def _steps(self, document: int, newest: int) -> int:
        """How many steps the newest version of a page is from its key frame; too many if there is none."""
        if not newest:
            return KEY_EVERY
        (steps,) = self._database.execute(_STEPS, (document, newest)).fetchone() or (KEY_EVERY,)
        return int(steps)

    def _frame(self, url: str, newest: int, steps: int, body: bytes) -> tuple[int, bytes]:
        """How many steps the next version of a page is from its key frame, and its frame."""
        if steps + 1 < KEY_EVERY:
            with suppress(DamagedFile, UnknownPage):  # a damaged version stays damaged, and a new chain begins
                return steps + 1, packed(body, restored(self._database, self.folder, url, newest))
        return 0, packed(body, None, self._dictionary)

    def _seen(self, document: int, time: float) -> None:
        self._seen_again[document] = max(time, self._seen_again.get(document, time))

    def write_back(self) -> str:
        """Writes the database again if it was deleted or replaced; returns what was wrong, or ""."""
        try:
            must_lead_to(self.path, self._handle)
        except FileGone as gone:
            self._write_back()
            return str(gone)
        return ""

    def _write_back(self) -> None:
        """Copies the content that the open connection still sees into a new file."""
        for path in (self.path, *(self.path.with_name(FILE + ending) for ending in BESIDE)):
            with suppress(FileNotFoundError):
                path.rename(path.with_name(path.name + OTHER))
        fresh = open_to_write(self.folder)
        with naming_trouble(self.path):
            fresh.execute("PRAGMA journal_mode = DELETE")
            self._database.backup(fresh)
            fresh.close()
        self._close()
        self._database = open_to_write(self.folder)
        self._handle = os.open(self.path, os.O_RDONLY)

    def close(self) -> None:
        """Closes the database; the last process to do so completes the file."""
        if self._handle >= 0:
            try:
                self.write_back()
                self.flush()
            finally:
                self._close()

    def _close(self) -> None:
        os.close(self._handle)
        self._handle = -1
        with suppress(sqlite3.Error):  # of a file that is gone
            self._database.close()
