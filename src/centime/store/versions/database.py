"""The file of versions, a SQLite database: `versions/versions.sqlite` in the folder of a crawl.

    document    one row for each page: its newest version, and when that was last seen
    version     one row for each version: when it was first seen, and its frame (`chain.py`)
    crawl       one row: the identity of the crawl that opened it first; missing in files of older versions
    dictionary, dictionary_copy
                for the key frames of small pages (`dictionary.py`); missing until there are some pages

Versions are written in transactions, so a killed process leaves all of one or nothing; several fetchers write, and
readers see a consistent state meanwhile (write-ahead log). After a power failure the last transactions may be missing.
That costs a read and no version: a fetcher asks "has it changed?" only if the newest version here is the one that the
crawl knows (`VersionWriter.holds`).

Numbers of versions begin with 1 and have no gaps. The oldest one that is left is a key frame.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from centime.files.disk import create_file, make_folder
from centime.files.listing import not_a_file
from centime.model.errors import DamagedFile, FileGone, InUse, NewFormat, NoRoom

FILE = "versions.sqlite"
BESIDE = ("-wal", "-shm")  # files of SQLite beside it while it is open, and after a kill or the last reader
FORMAT = 2  # the newest one that is read; a file without dictionaries is of format 1
OURS = 0x43744D65  # the application id, "CtMe"
PAGE_BYTES = 8192  # of a new file: three frames of a KB would not fill 4096
PATIENCE = 60.0  # seconds that a process waits for another one that writes

_SCHEMA = f"""
PRAGMA application_id = {OURS};
PRAGMA user_version = 1;
CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    newest INTEGER NOT NULL,
    digest BLOB NOT NULL,
    seen REAL NOT NULL
);
CREATE TABLE version (
    document INTEGER NOT NULL,
    number INTEGER NOT NULL,
    time REAL NOT NULL,
    before_seen REAL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    type TEXT NOT NULL,
    status INTEGER NOT NULL,
    frame BLOB NOT NULL,
    PRIMARY KEY (document, number)
);
"""


class Database(sqlite3.Connection):
    """A connection to the file, with the dictionaries that were read through it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.dictionaries: dict[int, Any] = {}


@contextmanager
def naming_trouble(path: Path, *, writing: bool = False) -> Iterator[None]:
    """Turns errors of SQLite about a file into exceptions of ours that name the file. Obstacles to writing (a quota,
    `ulimit -f`, a disk that has become read-only) become NoRoom, which ends the crawl.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as trouble:  # SQLite quotes damaged text
        code = getattr(trouble, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_READONLY_DBMOVED:
            raise FileGone(f"{path}: this file was moved or deleted while the crawl wrote to it") from trouble
        match code & 0xFF:
            case sqlite3.SQLITE_FULL:
                raise NoRoom(f"{path}: the disk is full ({trouble})") from trouble
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                raise InUse(f"{path}: another process has been writing to it for {PATIENCE:.0f} seconds") from trouble
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY if writing:
                raise NoRoom(
                    f"{path}: cannot be written: the disk is full or read-only, or the file too large ({trouble})"
                ) from trouble
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                raise OSError(0, f"cannot be read or written ({trouble})", str(path)) from trouble
        raise DamagedFile(f"{path}: damaged ({trouble})") from trouble


def open_to_write(folder: Path) -> Database:
    """The database of a folder, created if it is missing."""
    path = folder / FILE
    make_folder(folder)
    if trouble := not_a_file(path):
        raise DamagedFile(trouble)
    os.close(create_file(path, os.O_RDWR))  # before SQLite does, so that only its owner can read it
    with naming_trouble(path):
        database = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, factory=Database)
        try:
            database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA wal_autocheckpoint = 4000")
            with transaction(database):
                if not database.execute("SELECT 1 FROM sqlite_schema").fetchone():
                    for statement in _SCHEMA.split(";"):
                        database.execute(statement)
            must_be_ours(database, path)
        except BaseException:
            database.close()
            raise
    return database


@contextmanager
def opened_to_read(folder: Path) -> Iterator[Database | None]:
    """The database of a folder, which cannot be changed through it; None if there is none."""
    kept: dict[str, _Kept] | None = getattr(_keeping, "kept", None)
    if kept is not None and (found := _still_open(kept, folder)) is not None:
        with naming_trouble(found.path):
            yield found.database
        return
    path = folder / FILE
    if trouble := not_a_file(path):
        raise DamagedFile(trouble)
    if not path.exists() or not path.stat().st_size:
        yield None
        return
    if kept is not None:
        with naming_trouble(path):
            yield _kept_open(kept, folder)
        return
    with naming_trouble(path), closing(_connect_to_read(path)) as database:
        must_be_ours(database, path)
        yield database


@contextmanager
def keeping_open() -> Iterator[None]:
    """Lets `opened_to_read` keep its databases open until the last such block of this thread ends: for every pass over
    many versions. After a kill, each opening of a database reads the whole log beside it, which takes milliseconds.
    A database that was replaced meanwhile is opened again.
    """
    blocks = getattr(_keeping, "blocks", 0)
    if not blocks:
        _keeping.kept = {}
    _keeping.blocks = blocks + 1
    try:
        yield
    finally:
        _keeping.blocks = max(0, _keeping.blocks - 1)  # a child that leaves a block of its parent's is in none
        if not _keeping.blocks:
            _close_kept()
            _keeping.kept = None


class _Kept(NamedTuple):
    """An open database, and which file it is."""

    database: Database
    path: Path
    file: tuple[int, int]


_keeping = threading.local()


def _close_kept() -> None:
    """Closes what is kept open: SQLite can do nothing with it in a forked child. It is opened again if needed."""
    kept = getattr(_keeping, "kept", None) or {}
    while kept:
        kept.popitem()[1].database.close()


def _begin_anew() -> None:
    """A child is in no block."""
    _keeping.blocks, _keeping.kept = 0, None


os.register_at_fork(before=_close_kept, after_in_child=_begin_anew)


def _still_open(kept: dict[str, _Kept], folder: Path) -> _Kept | None:
    """The database of a folder that is kept open, if it is still the one with this name."""
    found = kept.get(str(folder))
    if found is None:
        return None
    try:
        about = os.lstat(found.path)
    except OSError:
        return None
    return found if about.st_size and (about.st_dev, about.st_ino) == found.file else None


def _kept_open(kept: dict[str, _Kept], folder: Path) -> Database:
    path = folder / FILE
    about = path.stat()
    file = about.st_dev, about.st_ino
    found = kept.get(str(folder))
    if found is None or found.file != file:
        if found is not None:
            kept.pop(str(folder)).database.close()
        database = _connect_to_read(path)
        kept[str(folder)] = _Kept(database, path, file)
        must_be_ours(database, path)
    return kept[str(folder)].database


def _connect_to_read(path: Path) -> Database:
    # In a folder without permission to write, SQLite opens a database only with the promise that no process writes.
    alone = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + BESIDE[0]).exists()
    place = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    return sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None, factory=Database)


def must_be_ours(database: sqlite3.Connection, path: Path) -> None:
    """Raises DamagedFile or NewFormat if a database is not one of versions, or is a newer one."""
    (identity,) = database.execute("PRAGMA application_id").fetchone()
    (number,) = database.execute("PRAGMA user_version").fetchone()
    if identity != OURS:
        raise DamagedFile(f"{path}: damaged, or not written by Centime")
    if number > FORMAT:
        raise NewFormat(f"{path}: made by a newer Centime (format {number}); this version reads {FORMAT}")


def belong_to(folder: Path, identity: int) -> None:
    """Creates the database of a folder if it is missing, and records its crawl unless that is done."""
    with closing(open_to_write(folder)) as database, naming_trouble(folder / FILE, writing=True):
        if owner_of(database) is None:
            with transaction(database):
                database.execute("CREATE TABLE IF NOT EXISTS crawl (identity TEXT NOT NULL)")
                database.execute("INSERT INTO crawl SELECT ? WHERE NOT EXISTS (SELECT 1 FROM crawl)", (str(identity),))


def owner_of(database: sqlite3.Connection) -> int | None:
    """The identity of the crawl that has these versions; None if it was never noted."""
    if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'crawl'").fetchone():
        return None
    found = database.execute("SELECT identity FROM crawl").fetchone()
    return int(found[0]) if found and str(found[0]).isdecimal() else None


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Makes all that the block writes visible at once, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
