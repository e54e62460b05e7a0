"""The dictionaries of a database of versions: common parts of the small pages of a crawl, such as their template.

A key frame of a small page that is compressed with a dictionary takes half to two thirds of the room, in no more time
(docs/decisions/trees-and-chains.md). Pages beyond SHORT bytes take up to twice the time, so a dictionary is used for
them only if they have much in common: one template, say. It is trained on pages that are stored already, again when
there are many times as many, and never changed. Every key frame needs its own, so each is stored twice, on different
pages of the database; damage to one of them loses nothing.
"""

import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from xxhash import xxh3_128_digest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.model.errors import DamagedFile
from centime.store.versions.chain import Dictionaries, Dictionary, packed
from centime.store.versions.database import FORMAT, Database, transaction

FIRST_AFTER, AGAIN = 500, 16  # versions until the first one is trained, and how many times as many until the next
SAMPLES, LONGEST_SAMPLE, MOST_SAMPLED = 300, 1 << 16, 3 << 20  # pages, bytes of each, and of all
HELD_OUT = 6  # one in this many samples is not trained on, to measure the gain
SIZE = 1 << 16  # bytes
SHORT, LONG = 1 << 14, 1 << 18  # bytes of pages
WORTH = 0.75  # a dictionary is used for pages beyond SHORT if they take at most this share of their room with it
TABLES = ("dictionary", "dictionary_copy")

_TABLE = "(id INTEGER PRIMARY KEY, after INTEGER NOT NULL, longest INTEGER NOT NULL, digest BLOB, content BLOB)"


def newest_dictionary(database: Database, after: int = 0) -> Dictionary | None:
    """The newest dictionary that was trained on at least `after` versions; None if no whole one exists."""
    for trained_after, number in sorted(_listed(database), reverse=True):
        if trained_after >= after:
            with suppress(DamagedFile):
                return dictionary_in(database, number)
    return None


def _listed(database: sqlite3.Connection) -> set[tuple[int, int]]:
    """After how many versions each dictionary was trained, and its number, from either of the two tables."""
    found: set[tuple[int, int]] = set()
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE name IN (?, ?)", TABLES).fetchall():
        with suppress(sqlite3.Error):
            rows = database.execute(f"SELECT after, id FROM {table}").fetchall()
            found.update((after, number) for after, number in rows if isinstance(after, int))
    return found


def dictionaries_of(database: Database) -> Dictionaries:
    """The dictionaries of a database, by their numbers."""
    return partial(dictionary_in, database)


def dictionary_in(database: Database, number: int) -> Dictionary:
    """The dictionary with a number; DamagedFile if no copy of it is whole."""
    known = database.dictionaries.get(number)
    if known is None:
        for found in _copies(database, number):
            if found is not None:
                known = database.dictionaries[number] = Dictionary(*found)
                break
    if known is None:
        raise lost_dictionary(number)
    return known


def lost_dictionary(number: int) -> DamagedFile:
    """The exception to raise if no copy of a dictionary is whole."""
    return DamagedFile(f"the dictionary {number}, which it needs, is lost")


def _copies(database: sqlite3.Connection, number: int) -> Iterator[tuple[bytes, int] | None]:
    """The content of each copy, and the longest page that it is used for; None if it is damaged or missing."""
    for table in TABLES:
        whole = None
        with suppress(sqlite3.Error):
            found = database.execute(f"SELECT digest, content, longest FROM {table} WHERE id = ?", (number,)).fetchone()
            whole = whole_copy(*found) if found is not None else None
        yield whole


def whole_copy(digest: Any, content: Any, longest: Any) -> tuple[bytes, int] | None:
    """The content of a copy, and the longest page that it is used for; None if it is damaged."""
    if isinstance(content, bytes) and isinstance(longest, int) and _digest(content, longest) == digest:
        return content, longest
    return None


def _digest(content: bytes, longest: int) -> bytes:
    return xxh3_128_digest(b"%d " % longest + content)


def troubles_in(database: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the dictionaries of a database."""
    for number in sorted({number for _, number in _listed(database)}):
        damaged = sum(copy is None for copy in _copies(database, number))
        if damaged:
            yield f"{damaged} of the {len(TABLES)} copies of dictionary {number} are damaged or missing"


def trained(bodies: Iterable[bytes]) -> Dictionary | None:
    """A dictionary of the common parts of bodies; None if they have too little in common."""
    samples: list[bytes] = []
    size = 0
    for body in bodies:
        samples.append(body[:LONGEST_SAMPLE])
        size += len(samples[-1])
        if size >= MOST_SAMPLED:
            break
    held_out, learned = samples[::HELD_OUT], [one for at, one in enumerate(samples) if at % HELD_OUT]
    try:
        made = Dictionary(zstd.train_dict(learned, SIZE).dict_content, LONG)
    except (ValueError, zstd.ZstdError):
        return None
    long = [sample for sample in held_out if len(sample) > SHORT]
    alone, beside = (sum(len(packed(one, None, how)) for one in long) for how in (None, made))
    return made if beside < WORTH * alone else Dictionary(made.content, SHORT)


DictionaryRow = tuple[int, int, int, bytes, bytes]


def dictionary_rows(database: sqlite3.Connection, known: set[int]) -> list[DictionaryRow]:
    """The whole dictionaries that a copy of the database does not have yet, as rows."""
    rows: list[DictionaryRow] = []
    for after, number in sorted(_listed(database)):
        if number in known:
            continue
        if whole := next(filter(None, _copies(database, number)), None):
            rows.append((number, after, whole[1], _digest(*whole), whole[0]))
    return rows


def store_dictionaries(database: sqlite3.Connection, rows: Iterable[DictionaryRow]) -> None:
    """Stores dictionaries, each twice; it is part of a transaction."""
    for row in rows:
        for table in TABLES:
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} {_TABLE}")
            database.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)", row)
        database.execute(f"PRAGMA user_version = {FORMAT}")


def add_dictionary(database: Database, made: Dictionary, after: int) -> Dictionary:
    """Stores a dictionary, unless another process has stored one meanwhile; returns the one that is stored."""
    with transaction(database):
        if (other := newest_dictionary(database, after)) is not None:
            return other
        row = made.number, after, made.longest, _digest(made.content, made.longest), made.content
        store_dictionaries(database, [row])
    database.dictionaries[made.number] = made
    return made
