"""A crawl at one moment, as the reports of the window see it: arrays over all pages are made once, when first needed.

A glance belongs to the thread that made it (`served_crawl.py`) and to one state of the reader: `follow` ends it.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.budgets import BudgetCurve
from centime.crawl.report.changes import Changes, find_changes
from centime.crawl.report.top import hosts_of_all, importance_of_ranked
from centime.crawl.report.visits import Columns, last_visits
from centime.crawl.report.waiting import Waiting
from centime.crawl.search.finding import CrawlSearch

FIELDS = ("kind", "outcome", "status", "visits", "changes", "time", "changed_time", "marks")


class Glance:
    """One state of a crawl."""

    def __init__(self, reader: CrawlReader, now: float) -> None:
        self.reader = reader
        self.now = now

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
    def statistics(self) -> dict[str, Any]:
        """The figures of the whole crawl."""
        return self.reader.statistics(self.now)

    @cached_property
    def budgets(self) -> BudgetCurve:
        """What budgets around the present one would keep fresh."""
        return BudgetCurve(self.reader, self.now)

    @cached_property
    def search(self) -> CrawlSearch:
        """Searches over the full-text index; BadInput if there is none."""
        return CrawlSearch(self.reader)
