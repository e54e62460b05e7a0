"""Which version of which page is in the index, and how far the archive was read: `pages.bin`.

    head      8 bytes of magic, the lengths of the two parts that follow, and an xxh3-64 of everything behind it
    facts     JSON: the number of the commit (`opstamp`), the time up to which the crawl was seen, where to continue
    digests   for each page the first 8 bytes of the digest of its body, 0 if it is not in the index
    times     for each page the time of the newest capture that was seen, in seconds

It is written after the commit that it belongs to, so it is never ahead of the index. If a process was killed between
the two, the index decides: `digest` is one of its fields.
"""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tantivy
from xxhash import xxh3_64_intdigest

from centime.files.replacement import replace_file

_MAGIC = b"CTMINDX1"
_HEAD = struct.Struct("<8sQQQ")
_CHUNK = 1 << 16  # pages that are looked up at once


class BrokenIndex(Exception):
    """The index cannot be used; it is to be built again."""


@dataclass
class IndexedPages:
    """The versions in an index, by page."""

    digests: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    times: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, dtype=np.uint32))
    opstamp: int = 0
    seen_until: float = 0.0
    position: dict[str, Any] = field(default_factory=dict)

    def reserve(self, count: int) -> None:
        """Makes room for this many pages."""
        more = count - len(self.digests)
        if more > 0:
            self.digests = np.concatenate([self.digests, np.zeros(more, dtype=np.uint64)])
            self.times = np.concatenate([self.times, np.zeros(more, dtype=np.uint32)])

    def write(self, path: Path) -> None:
        """Replaces the file atomically."""
        facts = json.dumps({"opstamp": self.opstamp, "seen_until": self.seen_until, "position": self.position}).encode()
        rest = b"".join((facts, self.digests.tobytes(), self.times.tobytes()))
        head = _HEAD.pack(_MAGIC, len(facts), len(self.digests), xxh3_64_intdigest(rest))
        replace_file(path, head + rest)

    @classmethod
    def read(cls, path: Path) -> "IndexedPages":
        """The content of a file; empty if there is none, BrokenIndex if it is damaged."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return cls()
        try:
            magic, size, count, checksum = _HEAD.unpack_from(data)
            rest = memoryview(data)[_HEAD.size :]
            if magic != _MAGIC or len(rest) != size + 12 * count or xxh3_64_intdigest(rest) != checksum:
                raise BrokenIndex("the list of its pages is damaged")
            facts = json.loads(bytes(rest[:size]))
            return cls(
                np.frombuffer(rest, dtype=np.uint64, count=count, offset=size).copy(),
                np.frombuffer(rest, dtype=np.uint32, count=count, offset=size + 8 * count).copy(),
                **facts,
            )
        except (struct.error, ValueError, TypeError) as trouble:
            raise BrokenIndex("the list of its pages is damaged") from trouble

    def take_from(self, index: tantivy.Index, count: int) -> None:
        """Takes the digests from the index itself, for pages below `count`: after a kill between the two writes."""
        self.reserve(count)
        self.digests[:] = 0
        index.reload()
        searcher = index.searcher()
        for begin in range(0, len(self.digests), _CHUNK):
            some = tantivy.Query.range_query(index.schema, "page", tantivy.FieldType.Integer, begin, begin + _CHUNK - 1)
            places = [place for _, place in searcher.search(some, 2 * _CHUNK, count=False).hits]
            pages = np.array(searcher.fast_field_values("page", places), dtype=np.int64)
            digests = np.array(searcher.fast_field_values("digest", places), dtype=np.int64).view(np.uint64)
            self.digests[pages] = digests
