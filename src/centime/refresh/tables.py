"""The refresh book's memory: a record of 16 bytes a page, 12 bytes a host, and sums.

Each sum is there twice: as it holds now, and as the pass under way (`sweep.py`) makes it anew. Everything lies in
arrays, so that the state of a book is its arrays and nothing else.

Trap: arrays grow in place (`ndarray.resize`), so no view of them may outlive a call. Room ahead means nothing: only
what lies below LIMIT and below HOST_LIMIT counts.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.refresh.calendar import RECORD
from centime.refresh.curves import COLUMNS, ROWS
from centime.refresh.demand import POINTS

# flags of a record
INSIDE: Final = 1  # it is refreshed
FILED: Final = 2  # it lies in a slot; says nothing of pages that the pass under way has yet to reach
HANDED: Final = 4  # it was handed out since it was last read

TICKS: Final = 8.0  # a second, in `read`
COST_STEPS: Final = 8.0  # an octave, in `cost`

# facts
RULE: Final = 0
ALPHA: Final = 1
BETA: Final = 2
LEAST_INTERVAL: Final = 3
BY_BYTES: Final = 4
SHAPE: Final = 5  # k of the prior
MEAN: Final = 6  # m where the host has none
THRESHOLD: Final = 7
HIGHEST_THRESHOLD: Final = 8  # that any page was filed under since the pass began
NEXT_SHAPE: Final = 9  # what the next pass begins with
NEXT_MEAN: Final = 10
CLOCK: Final = 11  # the latest time of an inspection
LEVEL: Final = 12  # the threshold when the pass began
ASKED: Final = 13  # Σ cost / due age of the pages that the pass has reached
GUESSED: Final = 14  # what the kept sums say of the same pages under the same thresholds
EXACT: Final = 15  # ASKED over GUESSED of the last whole pass: what the kept sums are multiplied with
FACTS: Final = 16

# sums, now (row 0) and in the making (row 1)
ROOTS: Final = 0  # Σ sqrt(x λ)
COSTS: Final = 1  # Σ cost
SUMS: Final = 2
# of the pass alone
RATES: Final = 0  # Σ S/B
RATED: Final = 1  # of so many pages with evidence
SPREAD: Final = 2  # Σ log m - E log λ
SPREAD_COUNT: Final = 3
POOLED: Final = 4

# counts
LIMIT: Final = 0  # all pages lie below
HOST_LIMIT: Final = 1
PAGE_COUNT: Final = 2
CURSOR: Final = 3  # where the pass is, or NO_PASS
OBSERVED: Final = 4  # since the pass began
SOUND: Final = 5  # whether the pass saw one rule only
STALE: Final = 6  # whether the sums are of another rule
URGENT: Final = 7  # whether a pass is to begin at once
MOVED: Final = 8  # whether the next priors are others: 0, 1, or FAR
PASSES: Final = 9
OBSERVATIONS: Final = 10
COUNTS: Final = 11

NO_PASS: Final = -1
FAR: Final = 2

_MOST_AHEAD = 1 << 16  # a large array is moved by its page table, not copied, so that steps may be small


class RefreshTables(NamedTuple):
    """All arrays of a book but its calendar."""

    records: npt.NDArray[np.void]
    means: npt.NDArray[np.float32]  # by host: pooled mean rate, 0 for none
    host_rates: npt.NDArray[np.float32]  # by host: Σ S/B of the pass, under way or last
    host_pages: npt.NDArray[np.int32]
    curves: npt.NDArray[np.float64]
    demand: npt.NDArray[np.float64]  # rows as of sums
    sums: npt.NDArray[np.float64]
    pooled: npt.NDArray[np.float64]
    facts: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


def empty_refresh_tables() -> RefreshTables:
    """The tables of a book without pages."""
    counts = np.zeros(COUNTS, dtype=np.int64)
    counts[CURSOR] = NO_PASS
    return RefreshTables(
        records=np.zeros(0, dtype=RECORD),
        means=np.zeros(0, dtype=np.float32),
        host_rates=np.zeros(0, dtype=np.float32),
        host_pages=np.zeros(0, dtype=np.int32),
        curves=np.zeros((ROWS, COLUMNS)),
        demand=np.zeros((2, POINTS)),
        sums=np.zeros((2, SUMS)),
        pooled=np.zeros(POOLED),
        facts=np.zeros(FACTS),
        counts=counts,
    )


def _make_room(array: npt.NDArray[Any], need: int) -> None:
    if need > len(array):
        ahead = min(max(len(array) // 8, 64), _MOST_AHEAD)
        array.resize(max(need, len(array) + ahead), refcheck=False)


def make_room_for_records(tables: RefreshTables, need: int) -> None:
    """Lets there be records of pages below `need`; new ones are nought."""
    _make_room(tables.records, need)
    tables.counts[LIMIT] = max(need, tables.counts[LIMIT])


def make_room_for_hosts(tables: RefreshTables, need: int) -> None:
    """Lets hosts below `need` have a prior."""
    for array in (tables.means, tables.host_rates, tables.host_pages):
        _make_room(array, need)
    tables.counts[HOST_LIMIT] = max(need, tables.counts[HOST_LIMIT])
