"""The versions of a page that a crawl keeps, and the changes between two of them.

A version is a body that differs from the one before; a visit that found the same body again belongs to its version.
The archive and the stored versions have digests of different kinds. Where one follows the other, because --keep was
changed, bodies are read to compare them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from xxhash import xxh3_128_hexdigest

from centime.crawl.report.bodies import (
    Stored,
    body_of,
    capture_at,
    captures_of,
    first_seen,
    is_time,
    last_seen,
    last_seen_seconds,
    typed_body_of,
    when,
)
from centime.model.errors import BadInput, DamagedCrawl, UnknownPage
from centime.store.versions.database import keeping_open
from centime.store.versions.stored import StoredVersion
from centime.warehouse.comparison import Document, TreeChange, changed_sentences, tree_change
from centime.warehouse.node_history import node_history
from centime.warehouse.tree import NotWellFormed
from centime.warehouse.written_delta import operations

LONGEST_VISIT = 900.0  # seconds between the request of a visit, which a version has, and its record
_NUMBER = re.compile("[0-9]{1,9}")
_YEAR = re.compile("199[0-9]|20[0-9]{2}")  # the year at the beginning of a time without hyphens


@dataclass(frozen=True, slots=True)
class Version:
    """A body of a page, and the visits that found it one after the other."""

    number: int  # from 1 on; it stays the same when older versions are removed
    first: Stored
    last: Stored

    @property
    def time(self) -> str:
        """When it was seen first, in ISO 8601."""
        return when(self.first)


class Versions:
    """The versions of a page, oldest first."""

    def __init__(self, path: Path, url: str) -> None:
        self._path = path
        self._all: list[Version] = []
        for capture in captures_of(path, url):
            if self._all and self._is_same(self._all[-1].last, capture):
                last = self._all.pop()
                self._all.append(Version(last.number, last.first, max(last.last, capture, key=last_seen)))
            else:
                self._all.append(Version(self._next_number(capture), capture, capture))
        self.url = self._all[0].first.url

    def __len__(self) -> int:
        return len(self._all)

    def _is_same(self, before: Stored, after: Stored) -> bool:
        """Whether two stored bodies are equal; a body that cannot be read counts as another one."""
        if isinstance(before, StoredVersion) == isinstance(after, StoredVersion):
            return before.digest == after.digest
        version, capture = (before, after) if isinstance(before, StoredVersion) else (after, before)
        try:
            return xxh3_128_hexdigest(body_of(self._path, capture)) == version.digest
        except DamagedCrawl:
            return False

    def _next_number(self, stored: Stored) -> int:
        """The number of the next version: one more than the last, or the number under which it was stored."""
        following = self._all[-1].number + 1 if self._all else 1
        return max(following, stored.number) if isinstance(stored, StoredVersion) else following

    def at(self, named: str | None) -> Version:
        """The newest version, the one with this number, or the one that the page had at this time.

        Digits alone are a number. If no version has it, those that begin with a year (1990 to 2099) are a time.
        """
        if named is not None and _NUMBER.fullmatch(named):
            is_number = any(version.number == int(named) for version in self._all)
            if is_number or not (_YEAR.match(named) and is_time(named)):
                return self.numbered(int(named))
        stored = capture_at([version.first for version in self._all], named)
        return next(version for version in self._all if version.first is stored)

    def numbered(self, number: int) -> Version:
        """The version with a number."""
        found = next((version for version in self._all if version.number == number), None)
        if found is None:
            raise UnknownPage(f"{self.url}: there is no version {number}; it has {self._numbers()}")
        return found

    def _numbers(self) -> str:
        """The numbers of the versions, in words."""
        first, last = self._all[0].number, self._all[-1].number
        return f"{first} to {last}" if last > first else f"only {first}"

    def pair(self, old: str | None, new: str | None) -> tuple[Version, Version]:
        """Two versions to compare: by default the newest and the one before it."""
        after = self.at(new)
        place = self._all.index(after)
        if old is None and place == 0:
            raise UnknownPage(f"{self.url}: {after.time} is its first version, there is nothing to compare it with")
        before = self.at(old) if old is not None else self._all[place - 1]
        if before.number > after.number:
            raise BadInput(f"version {before.number} ({before.time}) is newer than version {after.number}")
        return before, after

    def around(
        self, before_first: float, before_last: float, seen: float, *, was_gone: bool = False
    ) -> tuple[Version, Version] | None:
        """The version before a change, or before several, and the one after it; None if one of them is not stored.

        `before_first` and `before_last` are the times of the visits before the first and before the last change, `seen`
        that of the visit that saw the last one: the new version must be one that this visit has stored, and the old one
        that of the visit before the first change, unless the page was gone at that time.
        """
        place, after = self._place_at(before_first), self._place_at(seen)
        if place < 0 or after <= place:
            return None
        old, new = self._all[place], self._all[after]
        is_old = was_gone or last_seen_seconds(old.last) >= before_first - LONGEST_VISIT
        return (old, new) if is_old and first_seen(new.first) > before_last - 1.0 else None

    def pairs_since(self, since: float) -> list[tuple[float, Version, Version]]:
        """Each version that was first seen since a time, with that time and the version before it."""
        pairs = ((first_seen(new.first), old, new) for old, new in pairwise(self._all))
        return [pair for pair in pairs if pair[0] >= since]

    def before(self, visited: float) -> Version | None:
        """The version that a visit found; None if it is not stored."""
        place = self._place_at(visited)
        return self._all[place] if place >= 0 else None

    def seen_by(self, visited_before: float, visited: float) -> Version | None:
        """The version that a visit stored; None if it stored none."""
        found = self.before(visited)
        return found if found is not None and first_seen(found.first) > visited_before - 1.0 else None

    def confirmed_by(self, visited: float) -> Version | None:
        """The version that a visit found again; None if it is not stored."""
        found = self.before(visited)
        is_seen = found is not None and last_seen_seconds(found.last) >= visited - LONGEST_VISIT
        return found if is_seen else None

    def _place_at(self, time: float) -> int:
        """The place of the newest version that was seen until a time; -1 if there is none."""
        return sum(first_seen(version.first) <= time for version in self._all) - 1

    def around_change(self, row: Mapping[str, Any]) -> tuple[Version, Version] | None:
        """The versions around a change of a report (`changes.py`)."""
        before = row["last_seen_before_seconds"] or 0.0
        return self.around(before, before, row["seen_seconds"], was_gone=row["change"] == "back")

    def read(self, version: Version) -> Document:
        """The document of a version."""
        body, content_type = typed_body_of(self._path, version.first)
        return Document(body, content_type, self.url)

    def trees(self, old: Version, new: Version) -> TreeChange:
        """The changes of the tree; NotWellFormed if one of the two versions has no tree."""
        first, last = self._all.index(old), self._all.index(new)
        return tree_change([self.read(version) for version in self._all[: last + 1]], first, last)

    def history(self, node: str) -> list[dict[str, object]]:
        """The history of a node of the tree, version by version; the node is named by its identifier or a path."""
        moments = node_history([self.read(version) for version in self._all], node)
        named = [self._all[one.version] for one in moments]
        return [
            {
                "version": version.number,
                "time": version.time,
                "what": one.what,
                "path": one.path,
                "content": one.content,
            }
            for version, one in zip(named, moments, strict=True)
        ]

    def facts(self) -> list[dict[str, object]]:
        """The facts of all versions, for a report."""
        documents = map(self.read, self._all)
        return [
            listed | {"bytes": len(document.body), "type": document.content_type, "digest": version.first.digest}
            for listed, document, version in zip(self.listed(), documents, self._all, strict=True)
        ]

    def listed(self) -> list[dict[str, object]]:
        """The numbers and times of all versions; no body is read."""
        return [
            {"version": version.number, "time": version.time, "last_seen": last_seen(version.last)}
            for version in self._all
        ]

    def report(self, old: Version, new: Version) -> dict[str, object]:
        """The changes between two versions: sentences, and the delta if both have trees."""
        documents = self.read(old), self.read(new)
        made: dict[str, object] = {"url": self.url}
        for name, version, document in zip(("from", "to"), (old, new), documents, strict=True):
            times = {"version": version.number, "time": version.time}
            made[name] = times | {"bytes": len(document.body), "digest": version.first.digest}
        steps = changed_sentences(*documents)
        made["sentences"] = [{"old": list(step.old), "new": list(step.new)} for step in steps if not step.equal]
        try:
            made["delta"] = operations(self.trees(old, new))
        except NotWellFormed as trouble:
            made |= {"delta": None, "no_delta": str(trouble)}
        return made


def with_sentences(path: Path, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of `changes`, each with the sentences that differ from the version before; None if these are not stored."""
    with keeping_open():
        for row in rows:
            is_compared = row["change"] in ("changed", "back")
            yield row | {"sentences": _sentences_of(path, row) if is_compared else None}


def _sentences_of(path: Path, row: dict[str, Any]) -> list[dict[str, list[str]]] | None:
    with suppress(UnknownPage):
        versions = Versions(path, row["url"])
        if (pair := versions.around_change(row)) is not None:
            steps = changed_sentences(*map(versions.read, pair))
            return [{"old": list(step.old), "new": list(step.new)} for step in steps if not step.equal]
    return None
