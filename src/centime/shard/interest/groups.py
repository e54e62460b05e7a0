"""The groups of URLs that are evidence for each other: the same suffix; on one host; in one directory.

A group is identified by a 64-bit hash of the part that its URLs share. Beyond MOST_GROUPS, no more are kept: further
directories count as their host, and further hosts as their suffix.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from centime.discover.suffixes import suffix_of
from centime.model.address import host_of
from centime.settings.want import Want
from centime.shard.interest.evidence import OF_ANOTHER, OF_THE_KIND
from centime.shard.interest.tables import GROUP_COLUMNS
from centime.store.columns import Columns
from centime.store.url_table import UrlTable

MOST_GROUPS = 1 << 20
_is_plain = re.compile("[a-z0-9]{1,6}").fullmatch

Numbers = npt.NDArray[np.int64]


class Groups:
    """The groups of all known pages."""

    def __init__(self, state: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        self._table = UrlTable(state["hashes"].copy() if state else None)
        self.columns = Columns(GROUP_COLUMNS, state)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._table.nbytes + self.columns.nbytes

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot."""
        return {"hashes": self._table.fingerprints, **self.columns.state()}

    def number_many(self, urls: Sequence[str], want: Want) -> Numbers:
        """The narrowest group of each URL; groups that are new are added."""
        suffixes = [suffix if _is_plain(suffix) else "" for suffix in map(suffix_of, urls)]
        usual = [OF_THE_KIND if suffix in want.suffixes else OF_ANOTHER for suffix in suffixes]
        found = self._numbers(suffixes, None, np.array(usual))
        for names in (map(host_of, urls), map(directory_of, urls)):
            texts = [f"{name} {suffix}" for name, suffix in zip(names, suffixes, strict=True)]
            found = self._numbers(texts, found, None)
        return found

    def _numbers(self, texts: Sequence[str], above: Numbers | None, priors: npt.NDArray[np.float64] | None) -> Numbers:
        """The groups with these names, which lie in the groups `above`."""
        hashes = np.array([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], dtype=np.uint64)
        if above is not None and self._table.count + len(texts) > MOST_GROUPS:
            known = self._table.find(hashes)
            return np.where(known >= 0, known, above)
        numbers, new = self._table.find_or_add(hashes)
        self.columns.reach(self._table.count)
        if above is not None:
            self.columns["above"][numbers[new]] = above[new] + 1
        if priors is not None:
            self.columns["prior"][numbers[new]] = priors[new]
        return numbers


def directory_of(url: str) -> str:
    """The URL without the last segment of its path.

    >>> directory_of("http://a.example/b/c?d=e"), directory_of("http://a.example/b/c/"), directory_of("http://a.example/")
    ('http://a.example/b/', 'http://a.example/b/', 'http://a.example/')
    """
    end = url.find("?")
    path = url[: end if end >= 0 else len(url)]
    first = path.find("/", 8)
    return path[: max(first, path.rfind("/", 0, len(path) - 1)) + 1]
