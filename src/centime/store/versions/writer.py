"""Keeps the bodies that a fetcher reads as versions of their pages."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from centime.files.presence import OTHER, must_lead_to
from centime.model.document import Document
from centime.model.errors import DamagedFile, FileGone, UnknownPage
from centime.model.response import Response
from centime.store.versions.chain import KEY_EVERY, packed
from centime.store.versions.database import BESIDE, FILE, naming_trouble, open_to_write, transaction
from centime.store.versions.pruning import prune
from centime.store.versions.retention import EVERYTHING, Retention
from centime.store.versions.stored import document_id, restored

_KNOWN = "SELECT newest, digest, seen FROM document WHERE id = ?"
_STEPS = "SELECT steps FROM version WHERE document = ? AND number = ?"


class VersionWriter:
    """Writes to the versions of a crawl; other processes may write to them as well."""

    def __init__(
        self,
        folder: Path | str,
        retention: Callable[[str], Retention] = lambda url: EVERYTHING,
        *,
        obeys_noarchive: bool = True,
    ) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self.obeys_noarchive = obeys_noarchive
        self._retention = retention
        self._database = open_to_write(self.folder)
        self._handle = os.open(self.path, os.O_RDONLY)

    def holds(self, url: str, digest: bytes) -> bool:
        """Whether the newest version of a page has this digest: only then "not changed since" is an answer."""
        with naming_trouble(self.path):
            known = self._database.execute(_KNOWN, (document_id(url),)).fetchone()
        return known is not None and known[1] == digest

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> None:
        """Keeps a body as a new version, or notes that the newest one was seen again. NoRoom leaves everything as it
        was.
        """
        with naming_trouble(self.path, writing=True):
            self._keep(response, document.digest)

    def verified(self, response: Response) -> None:
        """Notes that the server reported the newest version as unchanged (304)."""
        with naming_trouble(self.path, writing=True):
            self._seen(document_id(response.url), response.asked_at)

    def answered(self, response: Response) -> None:
        """Does nothing: a redirect, an error or a robots.txt is no version of a page."""

    def _keep(self, response: Response, digest: bytes) -> None:
        url, time, database = response.url, response.asked_at, self._database
        document = document_id(url)
        newest, known, seen = self._known(document)
        if known == digest:
            self._seen(document, time)
            return
        before = self._steps(document, newest)
        steps, frame = self._frame(url, newest, before, response.body)
        with transaction(database):
            if self._known(document)[0] != newest or self._steps(document, newest) != before:
                newest, _, seen = self._known(document)  # somebody has pruned meanwhile, or written
                steps, frame = self._frame(url, newest, self._steps(document, newest), response.body)
            row = (document, newest + 1, time, seen, digest, len(response.body), steps)
            database.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " newest = excluded.newest, digest = excluded.digest, seen = excluded.seen",
                (document, url, newest + 1, digest, time),
            )
            database.execute(
                "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, response.content_type, response.status, frame),
            )
            retention = self._retention(url)
            if newest and not retention.all:
                prune(database, self.folder, url, retention, time, slack=retention.slack())

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
            with suppress(DamagedFile, UnknownPage):  # what is damaged stays so, and the chain begins anew
                return steps + 1, packed(body, restored(self._database, self.folder, url, newest))
        return 0, packed(body, None)

    def _seen(self, document: int, time: float) -> None:
        self._database.execute("UPDATE document SET seen = ? WHERE id = ? AND seen < ?", (time, document, time))

    def write_back(self) -> str:
        """Writes the database again if it was deleted or replaced; returns what was wrong, or ""."""
        try:
            must_lead_to(self.path, self._handle)
        except FileGone as gone:
            self._write_back()
            return str(gone)
        return ""

    def _write_back(self) -> None:
        """Copies what the open connection still sees into a new file."""
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
        """Ends writing; the last process that does so completes the file."""
        if self._handle >= 0:
            self.write_back()
            self._close()

    def _close(self) -> None:
        os.close(self._handle)
        self._handle = -1
        with suppress(sqlite3.Error):  # of a file that is gone
            self._database.close()
