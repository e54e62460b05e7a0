"""The changes of the versions of a crawl since a copy elsewhere was up to date, and the copy itself.

    changed       one row for each change: of a version, or of the row of a page (number 0), in their order
    change_log    one row: the identity of this log, and up to where it was dropped
    copied        in the copy, one row: its position in the log

Triggers write the log in the transaction of the change, whichever process makes it: fetchers, `centime prune`, `centime
repair`. A part for the copy has the present rows, not those at the time of the change, and the dictionaries that were
not sent since the copy was last found. It has all changes that were logged so far, so the copy is consistent after each
part. If there are too many of them, or no log that begins where the copy ends, pages are sent with all their versions,
one after the other, followed by the changes made meanwhile.

Trap: SQLite must not be used in a child that was forked while a connection was open, so connections of a log are closed
before any fork.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

import msgspec

from centime.files.disk import make_folder
from centime.store.versions.database import BESIDE, FILE, naming_trouble, open_to_write, opened_to_read, transaction
from centime.store.versions.dictionary import DictionaryRow, dictionary_rows, store_dictionaries
from centime.store.versions.stored import LEAST_ID

MOST_ROWS = 1_000  # changes that are read at a time
PART_BYTES = 2 << 20  # of frames, after which a part ends; it has one page at least
LONGEST_FETCH_SECONDS = 3_600.0
BEGINNING = LEAST_ID - 1

_LOG = (
    "CREATE TABLE changed (sequence INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL,"
    " number INTEGER NOT NULL)",
    "CREATE TABLE change_log (identity TEXT NOT NULL, forgotten INTEGER NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN"
        f" INSERT INTO changed (document, number) VALUES ({row}.{page}, {f'{row}.number' if page != 'id' else 0}); END"
        for table, page in (("document", "id"), ("version", "document"))
        for event, row in (("insert", "new"), ("update", "new"), ("delete", "old"))
    ),
)
_ANY_LOG = "SELECT 1 FROM sqlite_schema WHERE name = 'change_log'"
_PAGE = "SELECT * FROM document WHERE id = ?"
_VERSIONS = "SELECT * FROM version WHERE document = ?"
_FRAMES = "SELECT sum(length(frame)) FROM version WHERE document = ? AND number = ?"


class Position(NamedTuple):
    """How far a copy has come in a log; `scanned` is the last page that was sent as a whole, None if all were."""

    identity: str
    scanned: int | None
    sequence: int


PageRow = tuple[int, str, int, bytes, float]
VersionRow = tuple[int, int, float, float | None, bytes, int, int, str, int, bytes]


class VersionRows(msgspec.Struct, array_like=True, frozen=True, kw_only=True):
    """A part for a copy."""

    fresh: bool = False  # the copy starts over
    replaced: list[int] = []  # pages of which all rows are here
    pages: list[PageRow] = []
    versions: list[VersionRow] = []
    gone: list[tuple[int, int]] = []  # rows that were deleted
    dictionaries: list[DictionaryRow] = []  # that frames may need
    position: Position  # of the copy, with this part


_logs: "WeakSet[ChangeLog]" = WeakSet()


def _close_all() -> None:
    for log in list(_logs):
        log.close()


os.register_at_fork(before=_close_all)


class ChangeLog:
    """The log of a folder of versions, created if there is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._sent: set[int] = set()  # dictionaries
        _logs.add(self)
        with self._reading() as database:
            begun = database.execute(_ANY_LOG).fetchone()
        if not begun:
            with naming_trouble(folder / FILE, writing=True), transaction(self._database):
                for statement in _LOG:
                    self._database.execute(statement)
                self._database.execute("INSERT INTO change_log VALUES (?, 0)", (secrets.token_hex(8),))

    @property
    def _database(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_to_write(self._folder)
        return self._connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The database as it is at one moment."""
        with naming_trouble(self._folder / FILE):
            database = self._database
            database.execute("BEGIN")
            try:
                yield database
            finally:
                database.execute("COMMIT")

    def close(self) -> None:
        """Closes the database; it is opened again when it is needed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(self, has: Position | None) -> Position:
        """Where to continue for a copy at this position: there, or at the beginning."""
        self._sent.clear()
        with self._reading() as database:
            ((identity, forgotten),) = database.execute("SELECT * FROM change_log").fetchall()
            newest = (database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changed'").fetchone() or (0,))[0]
        if has is not None and has.identity == identity and forgotten <= has.sequence <= newest:
            return has
        return Position(identity, BEGINNING, newest)

    def part(self, at: Position) -> VersionRows | None:
        """The next part for a copy at this position; None if it is up to date."""
        with self._reading() as database:
            found = self._rows(database, at)
            return None if found is None else _with_dictionaries(database, found, self._sent)

    def _rows(self, database: sqlite3.Connection, at: Position) -> VersionRows | None:
        if at.scanned is not None:
            return _scanned(database, at, at.scanned)
        found = database.execute(
            "SELECT sequence, document, number FROM changed WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (at.sequence, MOST_ROWS + 1),
        ).fetchall()
        if not found:
            return None
        rows = {(document, number) for _, document, number in found}
        size = sum(database.execute(_FRAMES, row).fetchone()[0] or 0 for row in rows)
        if len(found) <= MOST_ROWS and size < PART_BYTES:
            return _changed(database, rows, at._replace(sequence=found[-1][0]))
        return _whole(database, ((row[1], at._replace(sequence=row[0])) for row in found[:MOST_ROWS]))

    def forget(self, position: Position) -> None:
        """Drops the part of the log that a copy has stored."""
        with naming_trouble(self._folder / FILE, writing=True), transaction(self._database):
            self._database.execute("DELETE FROM changed WHERE sequence <= ?", (position.sequence,))
            self._database.execute("UPDATE change_log SET forgotten = ?", (position.sequence,))


def _with_dictionaries(database: sqlite3.Connection, rows: VersionRows, sent: set[int]) -> VersionRows:
    """Rows with the dictionaries that were not sent before, which count as sent then."""
    added = dictionary_rows(database, sent)
    sent.update(row[0] for row in added)
    return msgspec.structs.replace(rows, dictionaries=added) if added else rows


def _scanned(database: sqlite3.Connection, at: Position, scanned: int) -> VersionRows:
    """The pages behind the last one that was sent as a whole."""
    found = database.execute(
        "SELECT id FROM document WHERE id >= ? ORDER BY id LIMIT ?", (scanned + 1, MOST_ROWS)
    ).fetchall()
    part = _whole(database, ((page, at._replace(scanned=page)) for (page,) in found)) if found else None
    is_last = part is None or (len(found) < MOST_ROWS and part.position.scanned == found[-1][0])
    fresh = scanned == BEGINNING
    if part is None:
        return VersionRows(fresh=fresh, position=at._replace(scanned=None))
    position = part.position._replace(scanned=None) if is_last else part.position
    return msgspec.structs.replace(part, fresh=fresh, position=position)


def _whole(database: sqlite3.Connection, wanted: Iterable[tuple[int, Position]]) -> VersionRows:
    """The first of these pages with all their versions, as many as a part may have; with the position of the copy after
    them."""
    pages: list[PageRow] = []
    versions: list[VersionRow] = []
    replaced: dict[int, None] = {}
    size, reached = 0, Position("", None, 0)
    for page, position in wanted:
        reached = position
        if page not in replaced:
            replaced[page] = None
            pages += database.execute(_PAGE, (page,)).fetchall()
            versions += (found := database.execute(f"{_VERSIONS} ORDER BY number", (page,)).fetchall())
            size += sum(len(row[-1]) for row in found)
        if size >= PART_BYTES:
            break
    return VersionRows(replaced=list(replaced), pages=pages, versions=versions, position=reached)


def _changed(database: sqlite3.Connection, rows: set[tuple[int, int]], position: Position) -> VersionRows:
    """Rows that have changed, as they are now."""
    pages: list[PageRow] = []
    versions: list[VersionRow] = []
    gone: list[tuple[int, int]] = []
    for document, number in sorted(rows):
        found: list[Any]
        if number:
            found = database.execute(f"{_VERSIONS} AND number = ?", (document, number)).fetchall()
            versions += found
        else:
            found = database.execute(_PAGE, (document,)).fetchall()
            pages += found
        if not found:
            gone.append((document, number))
    return VersionRows(pages=pages, versions=versions, gone=gone, position=position)


class VersionCopy:
    """A copy of the versions of a crawl, in a folder elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None

    def position(self) -> Position | None:
        """Its position in the log; None if it was not begun."""
        if not (self._folder / FILE).exists():
            return None
        with closing(open_to_write(self._folder)) as database, naming_trouble(self._folder / FILE):
            if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'copied'").fetchone():
                return None
            found = database.execute("SELECT identity, scanned, sequence FROM copied").fetchone()
            return Position(*found) if found else None

    def take(self, rows: VersionRows) -> None:
        """Adds a part atomically."""
        if rows.fresh:
            self.drop()
        if self._connection is None:
            make_folder(self._folder)
            self._connection = open_to_write(self._folder)
        database = self._connection
        with naming_trouble(self._folder / FILE, writing=True), transaction(database):
            database.execute(
                "CREATE TABLE IF NOT EXISTS copied (identity TEXT NOT NULL, scanned INTEGER, sequence INTEGER NOT NULL)"
            )
            store_dictionaries(database, rows.dictionaries)
            for page in rows.replaced:
                database.execute("DELETE FROM version WHERE document = ?", (page,))
                database.execute("DELETE FROM document WHERE id = ?", (page,))
            for document, number in rows.gone:
                if number:
                    database.execute("DELETE FROM version WHERE document = ? AND number = ?", (document, number))
                else:
                    database.execute("DELETE FROM document WHERE id = ?", (document,))
            database.executemany("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)", rows.pages)
            database.executemany("INSERT OR REPLACE INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows.versions)
            database.execute("DELETE FROM copied")
            database.execute("INSERT INTO copied VALUES (?, ?, ?)", rows.position)

    def drop(self) -> None:
        """Deletes all of it."""
        self.close()
        for name in (FILE, *(FILE + ending for ending in BESIDE)):
            (self._folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Completes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def last_seen(folder: Path) -> float:
    """When a page of these versions was last seen, minus the time that a fetch may take; 0 if there is none."""
    with opened_to_read(folder) as database:
        ((seen,),) = [(None,)] if database is None else database.execute("SELECT max(seen) FROM document").fetchall()
    return 0.0 if seen is None else float(seen) - LONGEST_FETCH_SECONDS


def seen_since(folder: Path, time: float) -> Iterator[VersionRows]:
    """Pages with all their versions that were seen since a time, for a copy without a log, which keeps pruned
    versions."""
    nowhere = Position("", None, 0)
    sent: set[int] = set()
    with opened_to_read(folder) as database:
        if database is None:
            return
        pages = [row[0] for row in database.execute("SELECT id FROM document WHERE seen >= ?", (time,)).fetchall()]
        while pages:
            part = _whole(database, ((page, nowhere) for page in pages))
            yield _with_dictionaries(database, part, sent)
            del pages[: len(part.replaced)]


def end_log(folder: Path) -> None:
    """Ends the log of a folder, if there is one: there is no copy any more."""
    if not (folder / FILE).exists():
        return
    with closing(open_to_write(folder)) as database, naming_trouble(folder / FILE, writing=True):
        if not database.execute(_ANY_LOG).fetchone():
            return
        with transaction(database):
            for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {name}")
            for name in ("changed", "change_log"):
                database.execute(f"DROP TABLE {name}")
