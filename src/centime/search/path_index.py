"""The index of paths: which documents have a term (`path_terms.py`), as sorted arrays in segments.

    DIR/index/paths/manifest.json   the segments in use, the oldest first; up to where the bodies were read
    DIR/index/paths/NUMBER.seg      some documents: a page that a newer segment has counts there alone

    head of a segment   8 bytes of magic, the numbers of pages, terms and postings, and an xxh3-64 of what follows
    digests             of the bodies that are indexed (uint64)
    pages               the numbers of the pages, sorted (uint32)
    terms               the first HASH_BITS bits of the hashes of all terms, sorted (uint64)
    lengths             how many postings each term has (uint32)
    postings            places in `pages`, sorted for each term (uint32)

All but the digests are written as differences, byte by byte (all first bytes, all second ones ...), and compressed by
Zstandard: most terms are values that one document has, which take 5 bytes instead of 16. In memory the columns are
plain arrays.

A segment is written before the manifest that names it, and never changed. So a killed process leaves a consistent
index. All of it is derived: a damaged index, or one of another version, is rebuilt.
"""

import json
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.files.disk import make_folder
from centime.files.replacement import replace_file
from centime.search.path_terms import EVERYTHING, Terms, hashes_of
from centime.search.xpath_condition import AnyOf, Condition

FORMAT = 3
HASH_BITS = 40  # of a hash that are kept: with a million terms, one of a million queries has a candidate too many
MOST_SEGMENTS = 8  # then all become one
SEGMENT_POSTINGS = 4_000_000  # that are gathered in memory before they are written

Places = npt.NDArray[np.uint32]
Kind = TypeVar("Kind", bound=np.unsignedinteger[Any])

_MAGIC = b"CTMPATH2"
_LEVEL = 3
_HEAD = struct.Struct("<8sQQQQ")
_LENGTH = struct.Struct("<Q")
_NONE = np.zeros(0, dtype=np.uint32)


class BrokenPaths(Exception):
    """The index of paths cannot be used and must be rebuilt."""


class Segment:
    """Some documents and their terms."""

    def __init__(self, pages: Places, digests: Terms, terms: Terms, starts: Places, postings: Places) -> None:
        self.pages, self.digests = pages, digests
        self._terms, self._starts, self._postings = terms, starts, postings

    @classmethod
    def of(cls, documents: Mapping[int, tuple[int, Terms]]) -> "Segment":
        """A segment of documents: by page, the digest and the terms."""
        pages = np.array(sorted(documents), dtype=np.uint32)
        rows = [documents[page] for page in pages.tolist()]
        digests = np.array([digest for digest, _ in rows], dtype=np.uint64)
        lengths = np.array([len(terms) for _, terms in rows], dtype=np.int64)
        all_terms = shortened(np.concatenate([np.zeros(0, dtype=np.uint64), *(terms for _, terms in rows)]))
        return cls._sorted(pages, digests, all_terms, np.repeat(np.arange(len(pages), dtype=np.uint32), lengths))

    @classmethod
    def _sorted(cls, pages: Places, digests: Terms, terms: Terms, places: Places) -> "Segment":
        order = np.lexsort((places, terms))
        terms, places = terms[order], places[order]
        if len(terms):  # two terms of a document may have the same hash
            is_first = np.concatenate([[True], (terms[1:] != terms[:-1]) | (places[1:] != places[:-1])])
            terms, places = terms[is_first], places[is_first]
        firsts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])) if len(terms) else _NONE
        starts = np.append(firsts, len(terms)).astype(np.uint32)
        return cls(pages, digests, terms[firsts], starts, places)

    @classmethod
    def merged(cls, segments: "list[Segment]") -> "Segment":
        """One segment of several, the oldest first; pages whose digest is 0 are left out."""
        owners = owners_of(segments)
        pages, digests, terms, places, count = [], [], [], [], 0
        for number, segment in enumerate(segments):
            kept = (owners[segment.pages] == number) & (segment.digests != 0)
            renumbered = np.cumsum(kept) - 1 + count
            lengths = segment._starts[1:].astype(np.int64) - segment._starts[:-1]
            stays = kept[segment._postings]
            terms.append(np.repeat(segment._terms, lengths)[stays])
            places.append(renumbered[segment._postings[stays]].astype(np.uint32))
            pages.append(segment.pages[kept])
            digests.append(segment.digests[kept])
            count += int(np.count_nonzero(kept))
        all_pages = np.concatenate(pages)
        order = np.argsort(all_pages, kind="stable")
        rank = np.empty(count, dtype=np.uint32)
        rank[order] = np.arange(count, dtype=np.uint32)
        return cls._sorted(
            all_pages[order], np.concatenate(digests)[order], np.concatenate(terms), rank[np.concatenate(places)]
        )

    def having(self, term: int) -> Places:
        """The places of the documents that have a term, sorted."""
        wanted = shortened(np.uint64(term))
        at = int(np.searchsorted(self._terms, wanted))
        if at == len(self._terms) or self._terms[at] != wanted:
            return _NONE
        return self._postings[self._starts[at] : self._starts[at + 1]]

    def _fulfilling(self, condition: Condition, hashes: Mapping[str, int]) -> Places | None:
        """The places of the documents that fulfil a condition, sorted; None for all of them."""
        if isinstance(condition, str):
            return self.having(hashes[condition])
        parts = [self._fulfilling(part, hashes) for part in condition.parts]
        some = sorted((part for part in parts if part is not None), key=len)
        if isinstance(condition, AnyOf):
            return None if len(some) < len(parts) else self._either(some)
        if not some:
            return None
        found = some[0]
        for part in some[1:]:
            found = found[_are_in(found, part)]
        return found

    def _either(self, parts: "list[Places]") -> Places:
        """The places that one of several parts has, sorted."""
        has = np.zeros(len(self.pages), dtype=np.bool_)
        for part in parts:
            has[part] = True
        return np.flatnonzero(has).astype(np.uint32)

    def candidates(self, condition: Condition) -> Places:
        """The pages in which something may be found."""
        terms = [EVERYTHING, *_terms_in(condition)]
        hashes = dict(zip(terms, hashes_of(terms).tolist(), strict=True))  # at once, because there may be hundreds
        places = self._fulfilling(condition, hashes)
        if places is None:
            return self.pages
        always = self.having(hashes[EVERYTHING])
        return self.pages[self._either([places, always]) if len(always) else places]

    def packed(self) -> bytes:
        """The segment as a file."""
        parts = [np.ascontiguousarray(self.digests).tobytes()]
        parts += [_packed(_steps(column)) for column in (self.pages, self._terms)]
        parts += [_packed(self._starts[1:] - self._starts[:-1]), _packed(_steps(self._postings))]
        rest = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
        counts = len(self.pages), len(self._terms), len(self._postings)
        return _HEAD.pack(_MAGIC, *counts, xxh3_64_intdigest(rest)) + rest

    @classmethod
    def read(cls, path: Path) -> "Segment":
        """The segment of a file; BrokenPaths if it is damaged."""
        try:
            data = path.read_bytes()
            magic, pages, terms, postings, checksum = _HEAD.unpack(data[: _HEAD.size])
        except (OSError, ValueError, struct.error) as trouble:
            raise BrokenPaths(f"{path.name} cannot be read") from trouble
        rest = memoryview(data)[_HEAD.size :]
        if magic != _MAGIC or xxh3_64_intdigest(rest) != checksum:
            raise BrokenPaths(f"{path.name} is damaged")
        parts: list[memoryview] = []
        while rest:
            (size,) = _LENGTH.unpack(rest[: _LENGTH.size])
            parts.append(rest[_LENGTH.size : _LENGTH.size + size])
            rest = rest[_LENGTH.size + size :]
        digests = np.frombuffer(parts[0], dtype=np.uint64)
        numbers = np.cumsum(_unpacked(parts[1], pages, np.uint32), dtype=np.uint32)
        hashes = np.cumsum(_unpacked(parts[2], terms, np.uint64), dtype=np.uint64)
        starts = np.zeros(terms + 1, dtype=np.uint32)
        np.cumsum(_unpacked(parts[3], terms, np.uint32), out=starts[1:])
        places = np.cumsum(_unpacked(parts[4], postings, np.uint32), dtype=np.uint32)
        return cls(numbers, digests, hashes, starts, places)


def _terms_in(condition: Condition) -> Iterator[str]:
    """The terms that a condition names."""
    if isinstance(condition, str):
        yield condition
    else:
        for part in condition.parts:
            yield from _terms_in(part)


def _are_in(few: Places, many: Places) -> npt.NDArray[np.bool_]:
    """Which of some sorted places others have."""
    if not len(many):
        return np.zeros(len(few), dtype=np.bool_)
    at = np.searchsorted(many, few)
    return np.asarray(many[np.minimum(at, len(many) - 1)] == few)


def shortened(terms: Any) -> Any:
    """The part of hashes that the index has."""
    return terms >> np.uint64(64 - HASH_BITS)


def _steps(column: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """The differences between the numbers of a column, modulo the size of its numbers."""
    return np.diff(column, prepend=column.dtype.type(0))


def _packed(column: npt.NDArray[Kind]) -> bytes:
    """A column, byte by byte, compressed."""
    rows = np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)
    return zstd.compress(np.ascontiguousarray(rows.T).tobytes(), level=_LEVEL)


def _unpacked(packed: memoryview, count: int, kind: type[Kind]) -> npt.NDArray[Kind]:
    """The column that `_packed` has packed."""
    rows = np.frombuffer(zstd.decompress(packed), dtype=np.uint8).reshape(np.dtype(kind).itemsize, count)
    return np.ascontiguousarray(rows.T).view(kind).reshape(count)


def owners_of(segments: Iterable[Segment]) -> npt.NDArray[np.int32]:
    """By page, the newest segment that has it; -1 for none."""
    every = list(segments)
    count = max((int(segment.pages[-1]) + 1 for segment in every if len(segment.pages)), default=0)
    owners = np.full(count, -1, dtype=np.int32)
    for number, segment in enumerate(every):
        owners[segment.pages] = number
    return owners


class PathIndex:
    """The index of a crawl, as described by its manifest."""

    def __init__(self, folder: Path, identity: int) -> None:
        self._folder = folder
        self._identity = identity
        self.position: dict[str, Any] = {}
        self._numbers: list[int] = []
        self.segments: list[Segment] = []

    @property
    def _manifest(self) -> Path:
        return self._folder / "manifest.json"

    def load(self) -> bool:
        """Reads the index; returns whether there is one. BrokenPaths if it cannot be used."""
        try:
            said = json.loads(self._manifest.read_bytes())
            if (said["format"], said["crawl"]) != (FORMAT, self._identity):
                raise BrokenPaths("it belongs to another crawl or version")
            numbers, position = list(map(int, said["segments"])), dict(said["position"])
        except FileNotFoundError:
            return False
        except (OSError, ValueError, TypeError, KeyError) as trouble:
            raise BrokenPaths("its manifest is damaged") from trouble
        known = dict(zip(self._numbers, self.segments, strict=True))
        self.segments = [known.get(one) or Segment.read(self._folder / f"{one}.seg") for one in numbers]
        self._numbers, self.position = numbers, position
        return True

    def state(self) -> tuple[int, int] | None:
        """A value that changes whenever the index is written; None if there is none."""
        with suppress(OSError):
            about = self._manifest.stat()
            return about.st_mtime_ns, about.st_ino
        return None

    def digests(self, count: int) -> Terms:
        """By page, the digest of the body that is indexed; 0 for none."""
        found = np.zeros(count, dtype=np.uint64)
        for segment in self.segments:
            known = segment.pages < count
            found[segment.pages[known]] = segment.digests[known]
        return found

    def candidates(self, condition: Condition) -> Places:
        """The pages in which something may be found, sorted."""
        if len(self.segments) == 1:
            return self.segments[0].candidates(condition)
        owners = owners_of(self.segments)
        found = [segment.candidates(condition) for segment in self.segments]
        own = [pages[owners[pages] == number] for number, pages in enumerate(found)]
        return np.sort(np.concatenate([_NONE, *own]))

    def add(self, documents: Mapping[int, tuple[int, Terms]]) -> None:
        """Writes a segment of documents; merges all segments if there are too many."""
        self._write(Segment.of(documents), replaces_all=False)
        if len(self.segments) > MOST_SEGMENTS:
            self.merge()

    def merge(self) -> None:
        """Merges all segments into one."""
        self._write(Segment.merged(self.segments), replaces_all=True)

    def clear(self) -> None:
        """Empties the index."""
        self._manifest.unlink(missing_ok=True)
        self._numbers, self.segments, self.position = [], [], {}
        self.tidy()

    def save(self) -> None:
        """Writes the manifest."""
        make_folder(self._folder)
        facts = {
            "format": FORMAT,
            "crawl": self._identity,
            "segments": self._numbers,
            "position": self.position,
        }
        replace_file(self._manifest, json.dumps(facts).encode())

    def tidy(self) -> None:
        """Removes segments that are not in use."""
        for path in self._folder.glob("*.seg"):
            if path.stem not in map(str, self._numbers):
                path.unlink(missing_ok=True)

    def _write(self, segment: Segment, *, replaces_all: bool) -> None:
        make_folder(self._folder)
        number = max(self._numbers, default=0) + 1
        replace_file(self._folder / f"{number}.seg", segment.packed())
        if replaces_all:
            self._numbers, self.segments = [], []
        self._numbers.append(number)
        self.segments.append(segment)
        self.save()
        self.tidy()
