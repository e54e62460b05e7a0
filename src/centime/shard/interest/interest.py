"""Interest: the data of all pages in a crawl that wants some pages (`--want`), and the value that decides about each
page.

    value of a wanted page                 x                          its importance
    value of another page that was read    s · (y - e)                what it leads to (`flow.py`)
    value of a page never read             P · (x + s · L) + (1 - P) · s · Y    what it probably is, what its read
                                           teaches about its siblings, and what it leads to (`evidence.py`)

and FLOOR · x for every page, so that a page that leads nowhere yet is read eventually, and a crawl that has found no
wanted page yet goes by importance. s is the mean importance of the wanted pages at their last visits: y counts wanted
pages, and x is importance.

Guarantee: everything follows from the calls and their order, bit for bit, and is part of every snapshot. `check`
computes all counts again from the rows and the records.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch, RowStore
from centime.settings.want import Want
from centime.shard.interest import flow
from centime.shard.interest.evidence import estimate_pages
from centime.shard.interest.groups import Groups
from centime.shard.interest.tables import COUNTED, GROUP_COLUMNS, MATCHES, PAGE_COLUMNS, WANTED, Tables
from centime.shard.interest.verifier import verify
from centime.store.columns import Columns

FLOOR = 0.001  # of its importance, that every page is worth
BATCH = 65_536
LEAST_SWEPT, MOST_SWEPT = 64, 512  # pages of the sweep per visit
MOST_SWEEPS = 4  # over all pages, at a time
SWEEP_SHARE = 8.0  # the number of sweeps while the number of visits grows e-fold

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Shown(NamedTuple):
    """Results of visits: whether pages are wanted, and their importance at the last visit and at this one."""

    pages: Pages
    wanted: Flags
    before: Vector
    now: Vector


class Interest:
    """The interest of all pages of a shard, and which pages are wanted."""

    def __init__(self, want: Want, damping: float, state: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        self.want = want
        self.damping = damping
        self.groups = Groups({name: state[f"group_{name}"] for name in ("hashes", *GROUP_COLUMNS)} if state else None)
        self._columns = Columns(PAGE_COLUMNS, state)
        self._total = np.array(state["total"] if state else [0.0])
        self._wanted_importance = float(state["wanted_importance"][0]) if state else 0.0
        self._wanted_read = int(state["wanted_read"][0]) if state else 0
        self._cursor = int(state["cursor"][0]) if state else 0

    @property
    def pages(self) -> int:
        """The number of known pages."""
        return self._columns.count

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._columns.nbytes + self.groups.nbytes

    # ---- changes

    def join(self, pages: Pages, urls: Sequence[str]) -> None:
        """Adds pages, whose numbers follow those of the known ones."""
        self._columns.reach(int(pages.max()) + 1)
        groups = self.groups.number_many(urls, self.want)
        tables = self._tables()
        tables.group[pages] = groups
        if self.want.pattern is not None:
            found = np.array([self.want.matches(url) for url in urls], dtype=np.bool_)
            tables.marks[pages] = np.where(found, MATCHES | WANTED, 0)
            tables.interest[pages] = found
            tables.total[0] += int(found.sum())

    def relink(self, pages: Pages, old: RowBatch, new: RowBatch) -> None:
        """Replaces the rows of pages that were read, and computes their interest."""
        tables = self._tables()
        flow.relink(tables, pages, old, new)
        flow.compute(tables, pages, new, self.damping, True)

    def observe(self, shown: Shown, counts: Flags) -> Pages:
        """Records the results of visits; `counts` says which visits show the kind of a page. Returns the parents whose
        children must be valued again.
        """
        tables = self._tables()
        self._wanted_importance -= float(shown.before[self._is_found(shown.pages)].sum())
        self._wanted_read -= int(self._is_found(shown.pages).sum())
        pages = shown.pages[counts]
        first = pages[tables.marks[pages] & COUNTED == 0]
        flow.observe(tables, pages, shown.wanted[counts], self.damping, self.want.pattern is not None)
        found = self._is_found(shown.pages)
        self._wanted_importance += float(shown.now[found].sum())
        self._wanted_read += int(found.sum())
        parents = np.unique(tables.parent[first].astype(np.int64))
        parents = parents[parents > 0] - 1
        children = tables.child_read[parents].astype(np.int64)
        doubled: Pages = parents[children & (children - 1) == 0]  # when there are twice as many: O(log) times
        return doubled

    def sweep(self, rows: RowStore, visits: int, visited: int) -> Pages:
        """Computes the interest of the next pages again, in proportion to the visits since the last call; returns
        those of them that were not read. `visited` is the number of pages that were visited.

        Sweeps go from the last page to the first, because pages mostly link to pages that were found later: one sweep
        carries interest a long way.
        """
        each = min(max(LEAST_SWEPT, int(SWEEP_SHARE * self.pages / max(1, visited))), MOST_SWEPT)
        swept: list[Pages] = []
        left = visits * each
        while left > 0 and len(swept) < MOST_SWEEPS:
            end = self._cursor if 0 < self._cursor <= self.pages else self.pages
            self._cursor = max(0, end - left)
            swept.append(self._computed(rows, self._cursor, end))
            left -= end - self._cursor
        pages = swept[0] if len(swept) == 1 else np.arange(self.pages, dtype=np.int64)
        return pages[~self.were_counted(pages)]

    def settle(self, rows: RowStore, sweeps: int, error: float = 0.0) -> None:
        """Computes the interest of all pages this many times, or until the certified error is at most `error`."""
        for _ in range(sweeps):
            if error > 0.0 and (self.error(rows) or 0.0) <= error:
                return
            for begin in range((self.pages - 1) // BATCH * BATCH, -1, -BATCH):
                self._computed(rows, begin, min(begin + BATCH, self.pages))

    def _computed(self, rows: RowStore, begin: int, end: int) -> Pages:
        """Computes the interest of the pages from `end` - 1 down to `begin`, and returns them."""
        pages = np.arange(end - 1, begin - 1, -1, dtype=np.int64)
        flow.compute(self._tables(), pages, rows.gather(pages), self.damping, False)
        return pages

    # ---- queries

    def value(self, pages: Pages, importance: Vector) -> Vector:
        """The values that decide about pages, in units of importance."""
        tables = self._tables()
        marks = tables.marks[pages]
        wanted, interest, lesson = self.expected(pages)
        scale = self.scale
        unread = wanted * (importance + scale * lesson) + (1.0 - wanted) * scale * interest
        read = np.where(marks & WANTED, importance, scale * np.maximum(tables.interest[pages], 0.0))
        return np.where(marks & COUNTED, read, unread) + FLOOR * importance

    def expected(self, pages: Pages) -> tuple[Vector, Vector, Vector]:
        """P, Y and L of pages that were not read yet."""
        found = np.empty(len(pages)), np.empty(len(pages)), np.empty(len(pages))
        estimate_pages(self._tables(), pages, self.want.pattern is not None, *found)
        return found

    def leads_to(self, pages: Pages) -> Vector:
        """y - e: the number of wanted pages that each page leads to."""
        tables = self._tables()
        return tables.interest[pages] - (tables.marks[pages] & WANTED)

    def scores(self) -> Vector:
        """The interest of all pages as `centime rank --vector interest` has it: the mean over all pages is 1."""
        total = self._sum()
        return self._tables().interest * (self.pages / total) if total > 0.0 else np.zeros(self.pages)

    def error(self, rows: RowStore) -> float | None:
        """The certified error of `scores`: the sum of all errors divided by the number of pages is at most this. None
        if no page is wanted. Reads all links.
        """
        tables, left, total = self._tables(), 0.0, self._sum()
        if total <= 0.0:
            return None
        for begin in range(0, self.pages, BATCH):
            pages = np.arange(begin, min(begin + BATCH, self.pages), dtype=np.int64)
            left += flow.residual(tables, pages, rows.gather(pages), self.damping)
        return 2.0 * left / ((1.0 - self.damping) * total)

    def _sum(self) -> float:
        """The sum of the interest of all pages; 0 if none is wanted, even before sweeps have removed the interest of
        the past."""
        return float(self._tables().interest.sum()) if self.are_wanted().any() else 0.0

    def are_wanted(self, pages: Pages | None = None) -> Flags:
        """Which of these pages, or of all, are wanted."""
        marks = self._tables().marks
        return (marks if pages is None else marks[pages]) & WANTED > 0

    def were_counted(self, pages: Pages) -> Flags:
        """Which of these pages were read, or found to be no page."""
        return self._tables().marks[pages] & COUNTED > 0

    @property
    def scale(self) -> float:
        """s: the mean importance of the wanted pages that were read; 1 before the first."""
        return max(0.0, self._wanted_importance) / self._wanted_read if self._wanted_read else 1.0

    # ---- for snapshots, and proofs

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot."""
        return {
            **self._columns.state(),
            **{f"group_{name}": array for name, array in self.groups.state().items()},
            "total": self._total.copy(),
            "wanted_importance": np.array([self._wanted_importance]),
            "wanted_read": np.array([self._wanted_read], dtype=np.int64),
            "cursor": np.array([self._cursor], dtype=np.int64),
        }

    def check(self, rows: RowStore, wanted: Flags, importance: Vector) -> None:
        """Raises InterestBroken unless everything follows from the rows and the wanted pages (`verifier.py`);
        `importance` is that of all pages at their last visits.
        """
        verify(self._tables(), rows, wanted, importance, (self._wanted_read, self._wanted_importance))

    def _is_found(self, pages: Pages) -> Flags:
        found: Flags = self._tables().marks[pages] & (WANTED | COUNTED) == WANTED | COUNTED
        return found

    def _tables(self) -> Tables:
        pages, groups = self._columns, self.groups.columns
        columns = [*(pages[name] for name in PAGE_COLUMNS), *(groups[name] for name in GROUP_COLUMNS)]
        return Tables._make([*columns, self._total])


def no_rows(count: int) -> RowBatch:
    """Rows of this many pages without links."""
    nothing = np.zeros(count, dtype=np.int64)
    return RowBatch(nothing, nothing, np.empty(0, dtype=np.int32), NO_WEIGHTS)
