"""All pages of a crawl in partitions in one numbering, with all links: page k of partition p is number first(p) + k.

A link to a page of another partition is a proxy in the row of its source. Its owner knows the page by its fingerprint,
unless the batch that names it has not arrived yet; then the link is left out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import rows_of
from centime.crawl.report.graph import LinkFacts, Rows, link_facts
from centime.crawl.report.visits import batches
from centime.ledger.accounts import PROXY
from centime.model.address import fingerprint, partition_of
from centime.model.row_batch import Pages
from centime.shard.state import ShardState
from centime.shard.transfers.exchanging import transfers_of
from centime.shard.transfers.transfers import owners_of

UNKNOWN = -1


class _Placed(NamedTuple):
    """Links whose target pages are known to their owners: their places in the rows of a partition, and these pages."""

    links: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]


class GlobalRows:
    """The pages and rows of shards that are partitions of one crawl."""

    def __init__(self, shards: Sequence[ShardState]) -> None:
        self._shards = shards
        counts = [shard.pages.count for shard in shards]
        self._firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._by_partition = {transfers_of(shard).partition: place for place, shard in enumerate(shards)}

    @property
    def count(self) -> int:
        """The number of pages."""
        return int(self._firsts[-1])

    @property
    def have_kinds(self) -> bool:
        """Whether the crawl weighs links by kind."""
        return any(shard.link_kinds is not None for shard in self._shards)

    def rows(self) -> Iterator[Rows]:
        """All rows, as `rows_of` gives them, the links of each sorted."""
        for first, _, (pages, lengths, _), placed in self._placed():
            rows = np.repeat(np.arange(len(pages)), lengths)[placed.links]
            yield first + pages, np.bincount(rows, minlength=len(pages)), placed.numbers.astype(np.int32)

    def kinds(self) -> Iterator[LinkFacts]:
        """The facts of the links of the same rows."""
        for _, shard, rows, placed in self._placed():
            facts = link_facts(shard, rows)
            yield LinkFacts(
                facts.weights[placed.links], None if facts.nofollow is None else facts.nofollow[placed.links]
            )

    def _placed(self) -> Iterator[tuple[int, ShardState, Rows, "_Placed"]]:
        """The rows of each partition, with the number of its first page, and their links in the numbering of all."""
        for place, shard in enumerate(self._shards):
            pages_of_proxies = self._pages_of_proxies(shard)
            for pages, lengths, targets in rows_of(shard, remote=True):
                numbers = self._firsts[place] + targets.astype(np.int64)
                away = targets >= PROXY
                numbers[away] = pages_of_proxies[targets[away] - PROXY]
                known = np.flatnonzero(numbers != UNKNOWN)
                order = np.lexsort((numbers[known], np.repeat(np.arange(len(pages)), lengths)[known]))
                links = known[order]
                yield int(self._firsts[place]), shard, (pages, lengths, targets), _Placed(links, numbers[links])

    def urls(self) -> Iterator[list[str]]:
        """The URLs of all pages, some at a time."""
        for shard in self._shards:
            for pages in batches(shard.pages.count):
                yield shard.pages.texts.get_many(pages)

    # ---- for the report of a page

    def payers(self, url: str) -> list[tuple[ShardState, int]]:
        """The partitions that do not own a page and have a proxy of it, and its number in their rows."""
        found = []
        for shard in self._shards:
            transfers = transfers_of(shard)
            proxy = transfers.table.find_one(fingerprint(url))
            if proxy is not None and partition_of(url, transfers.partitions) != transfers.partition:
                found.append((shard, PROXY + proxy))
        return found

    def pages(self, shard: ShardState, numbers: Pages) -> list[tuple[float, str]]:
        """The importance and the URLs of the pages that proxies stand for."""
        found = self._pages_of_proxies(shard)[numbers - PROXY]
        return [self._page(number) for number in found.tolist() if number != UNKNOWN]

    def url(self, wanted: int) -> str | None:
        """The URL of the page with a fingerprint; None if no partition knows it."""
        for shard in self._shards:
            page = shard.pages.table.find_one(wanted)
            if page is not None:
                return shard.pages.texts.get(page)
        return None

    def needed_by(self, parent: int) -> list[tuple[ShardState, int]]:
        """The requisites that a page, by its fingerprint, was the first to need in other partitions."""
        return [
            (shard, page) for shard in self._shards for page in shard.requisites.first_needed_by_other(parent).tolist()
        ]

    def _page(self, number: int) -> tuple[float, str]:
        place = int(np.searchsorted(self._firsts, number, side="right")) - 1
        page = np.array([number - self._firsts[place]], dtype=np.int64)
        shard = self._shards[place]
        return float(shard.ledger.importance(page)[0]), shard.pages.texts.get_many(page)[0]

    def _pages_of_proxies(self, shard: ShardState) -> npt.NDArray[np.int64]:
        """The number of the page that each proxy of a partition stands for; UNKNOWN if its owner does not know it."""
        transfers = transfers_of(shard)
        fingerprints = transfers.table.fingerprints[: transfers.table.count]
        owners = owners_of(fingerprints, transfers.partitions)
        numbers = np.full(len(fingerprints), UNKNOWN, dtype=np.int64)
        for owner in np.unique(owners).tolist():
            place = self._by_partition.get(owner)
            if place is not None:
                mine = np.flatnonzero(owners == owner)
                pages = self._shards[place].pages.table.find(fingerprints[mine]).astype(np.int64)
                numbers[mine] = np.where(pages < 0, UNKNOWN, self._firsts[place] + pages)
        return numbers
