"""A crawl at one moment, as the reports of the window see it: arrays over all pages are made once, when first needed.

A glance belongs to the thread that made it (`served_crawl.py`) and to one state of the readers: `follow` ends it.
Values that are slow to compute and change slowly last longer: they are passed from glance to glance for LASTS seconds.

A crawl in one folder has one part, a crawl in partitions one for each of them. Pages and hosts of all parts are
numbered one after the other: `first_page` and `first_host` are the numbers of the first ones of a part.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from centime.cluster.report.parts import AllChanges, AllSearches, Parts
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.changes import Changes, find_changes
from centime.crawl.report.planning.budgets import BudgetCurve
from centime.crawl.report.planning.waiting import Waiting
from centime.crawl.report.sorting import hosts_of_all
from centime.crawl.report.top import importance_of_ranked
from centime.crawl.report.visits import Columns, last_visits
from centime.model.errors import BadInput
from centime.model.ids import HostId
from centime.settings.crawl import CrawlSettings

FIELDS = ("kind", "outcome", "status", "visits", "changes", "time", "changed_time", "marks")

LASTS = 60.0

Value = TypeVar("Value")


class Lasting:
    """Values that are passed from one glance to the next."""

    def __init__(self, now: float, before: "Lasting | None") -> None:
        self.now = now
        self._lasting: dict[str, tuple[float, Any]] = {} if before is None else before._lasting

    def _last(self, name: str, made: Callable[[], Value]) -> Value:
        """The value of a function, or its value for an earlier glance."""
        found = self._lasting.get(name)
        if found is None or not 0.0 <= self.now - found[0] < LASTS:
            found = self._lasting[name] = (self.now, made())
        value: Value = found[1]
        return value


class PartGlance(Lasting):
    """One state of a part of a crawl."""

    def __init__(
        self, reader: CrawlReader, now: float, before: "PartGlance | None", first_page: int, first_host: int
    ) -> None:
        super().__init__(now, before)
        self.reader = reader
        self.first_page = first_page
        self.first_host = first_host

    @cached_property
    def importance(self) -> npt.NDArray[np.float64]:
        """The importance of every page, 0 for requisites."""
        return importance_of_ranked(self.reader)

    @cached_property
    def ranked(self) -> npt.NDArray[np.bool_]:
        """Whether each page is ranked: all but requisites."""
        ranked = np.ones(self.reader.shard.pages.count, dtype=np.bool_)
        ranked[self.reader.shard.requisites.every()] = False
        return ranked

    @cached_property
    def visits(self) -> Columns:
        """Fields of the last visit of every page."""
        return last_visits(self.reader.shard.pages, *FIELDS)

    @cached_property
    def hosts(self) -> npt.NDArray[np.int64]:
        """The number of the host of every page."""
        return hosts_of_all(self.reader)

    @cached_property
    def waiting(self) -> Waiting:
        """The pages that wait in the frontier."""
        return Waiting(self.reader.shard)

    @cached_property
    def changes(self) -> Changes:
        """All changes that visits saw, the oldest first."""
        return find_changes(self.reader)

    @cached_property
    def fresh_share(self) -> float:
        """The estimated share of the copy that is fresh, by importance."""
        shard = self.reader.shard
        return shard.refreshing.fresh(self.now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)[1]

    @cached_property
    def fresh_hosts(self) -> dict[int, float]:
        """The estimated share of each host's copies that are fresh, for hosts that have copies."""
        return self._last("fresh hosts", self._fresh_hosts)

    def _fresh_hosts(self) -> dict[int, float]:
        book = self.reader.shard.refreshing.book
        pages = np.flatnonzero(book.contains(np.arange(self.reader.shard.pages.count, dtype=np.int64)))
        if not len(pages):
            return {}
        shape, scale = book.beliefs(pages, self.importance[pages])
        age = np.maximum(0.0, self.now - book.read_times(pages))
        hosts = self.hosts[pages]
        fresh = np.bincount(hosts, weights=np.exp(-shape * np.log1p(age / scale)))
        copies = np.bincount(hosts)
        return {host: float(fresh[host] / copies[host]) for host in np.flatnonzero(copies).tolist()}


class Glance(Lasting):
    """One state of a crawl: of all its parts."""

    def __init__(self, parts: Parts, now: float, before: "Glance | None" = None) -> None:
        super().__init__(now, before)
        self.parts = parts
        hosts = accumulate((len(reader.shard.hosts) for reader in parts.readers), initial=0)
        olds: list[PartGlance | None] = [None] * len(parts.readers)
        if before is not None and len(before.each) == len(olds):
            olds = [*before.each]
        self.each: list[PartGlance] = [
            PartGlance(reader, now, old, page, host)
            for reader, old, page, host in zip(parts.readers, olds, parts.firsts, hosts, strict=False)
        ]

    @property
    def path(self) -> Path:
        """The folder of the crawl."""
        return self.parts.path

    @cached_property
    def settings(self) -> CrawlSettings:
        """The settings of the whole crawl."""
        return self.parts.settings

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """The figures of the whole crawl."""
        return self.parts.figures(self.now)

    @cached_property
    def budgets(self) -> BudgetCurve:
        """The freshness under budgets around the present one."""
        return self._last("budgets", lambda: BudgetCurve(self.parts.believed(self.now)))

    @cached_property
    def fresh_share(self) -> float:
        """The estimated share of the copy that is fresh, by importance."""
        weights = [one.reader.shard.pages.count for one in self.each]  # the share of a part counts by its known pages
        return sum(one.fresh_share * weight for one, weight in zip(self.each, weights, strict=True)) / (
            sum(weights) or 1
        )

    @cached_property
    def changes(self) -> AllChanges:
        """All changes that visits saw."""
        return AllChanges(self.parts, [one.changes for one in self.each])

    @cached_property
    def search(self) -> AllSearches:
        """Searches over the full-text indexes; BadInput if there is none."""
        return self.parts.searches()

    def owner(self, url: str) -> PartGlance:
        """The part that has a page, or would have it."""
        reader = self.parts.owner(url)
        return next(one for one in self.each if one.reader is reader)

    def with_host(self, name: str) -> tuple[PartGlance, HostId]:
        """The part that has a host, and its number there; BadInput if none has it."""
        for one in self.each:
            number = one.reader.shard.hosts.find(name)
            if number is not None:
                return one, number
        raise BadInput(f"no host is called {name[:200]}: a host is written as in https://museum.example")
