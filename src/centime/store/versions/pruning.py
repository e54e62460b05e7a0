"""Removes versions that no rule keeps. The oldest version that stays becomes a key frame, so all others stay whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from centime.model.errors import DamagedFile
from centime.store.versions.chain import packed
from centime.store.versions.database import FILE, Database, naming_trouble, open_to_write, transaction
from centime.store.versions.retention import Retention
from centime.store.versions.stored import LEAST_ID, MANY, document_id, restored


@dataclass(slots=True)
class Pruned:
    """The versions that were removed, or would be."""

    pages: int = 0
    versions: int = 0
    bytes: int = 0  # of frames
    damaged: int = 0  # pages of which nothing was removed, because a version is damaged


def prune(database: Database, folder: Path, url: str, retention: Retention, now: float, *, slack: int = 1) -> int:
    """Removes the versions of a page that a rule does not keep, if there are at least `slack`; returns how many. It is
    part of a transaction. If the first one that is kept is damaged, nothing is removed: `centime repair` comes first.
    """
    document = document_id(url)
    first, _, count, _ = _due(database, document, retention, now)
    if count < slack:
        return 0
    ((steps,),) = database.execute("SELECT steps FROM version WHERE document = ? AND number = ?", (document, first))
    if steps:
        try:
            frame = packed(restored(database, folder, url, first), None)
        except DamagedFile:
            return 0
        database.execute(
            "UPDATE version SET steps = 0, frame = ? WHERE document = ? AND number = ?", (frame, document, first)
        )
        database.execute(
            "UPDATE version SET steps = number - :first WHERE document = :document AND number > :first AND number < "
            "coalesce((SELECT min(number) FROM version WHERE document = :document AND number > :first AND steps = 0),"
            " 1 << 62)",
            {"document": document, "first": first},
        )
    database.execute("DELETE FROM version WHERE document = ? AND number < ?", (document, first))
    return count


def _due(database: Database, document: int, retention: Retention, now: float) -> tuple[int, int, int, int]:
    """The first version that is kept, the newest one, how many there are before the first, and the bytes of these."""
    rows = database.execute(
        "SELECT number, time, length(frame) FROM version WHERE document = ? ORDER BY number", (document,)
    ).fetchall()
    newest = rows[-1][0]
    replaced = [(number, later) for (number, _, _), (_, later, _) in pairwise(rows)]
    first = max(retention.first_kept(replaced, newest, now), rows[0][0])
    before = [size for number, _, size in rows if number < first]
    return first, newest, len(before), sum(before)


def prune_all(
    folder: Path,
    retention: Callable[[str], Retention],
    now: float,
    step: Callable[[int], None] = lambda pages: None,
    *,
    dry_run: bool = False,
) -> Pruned:
    """Removes all versions that no rule keeps, and shrinks the file."""
    pruned = Pruned()
    if not (folder / FILE).is_file():
        return pruned
    database = open_to_write(folder)
    try:
        with naming_trouble(folder / FILE):
            for document, url in _documents(database):
                rule = retention(url)
                if not rule.all:
                    _, _, count, size = _due(database, document, rule, now)
                    if count and not dry_run:
                        with transaction(database):
                            removed = prune(database, folder, url, rule, now)
                        pruned.damaged += not removed
                        size, count = (size, removed) if removed else (0, 0)
                    pruned.pages, pruned.versions = pruned.pages + bool(count), pruned.versions + count
                    pruned.bytes += size
                step(1)
            if pruned.versions and not dry_run:
                database.executescript("PRAGMA incremental_vacuum")  # `execute` would take one step of it
    finally:
        database.close()
    return pruned


def _documents(database: Database) -> Iterator[tuple[int, str]]:
    first = LEAST_ID
    while True:
        found = database.execute("SELECT id, url FROM document WHERE id >= ? ORDER BY id LIMIT ?", (first, MANY))
        rows = found.fetchall()
        yield from rows
        if len(rows) < MANY:
            return
        first = rows[-1][0] + 1
