"""The refresh book's memory: a record of 16 bytes per page, 12 bytes per host, and sums.

Each sum exists twice: the current one, and the new one that the running pass (`sweep.py`) computes. Everything is in
arrays, so the state of a book is its arrays and nothing else.

Trap: arrays grow in place (`ndarray.resize`), so no view of them may outlive a call. They have spare room: only
elements below LIMIT (pages) and HOST_LIMIT (hosts) count.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.refresh.calendar import RECORD
from centime.refresh.curves import COLUMNS, ROWS
from centime.refresh.demand import POINTS

# flags of a record
INSIDE: Final = 1  # it is refreshed
FILED: Final = 2  # it lies in a slot; undefined for pages that the running pass has not reached
HANDED: Final = 4  # `inspect` returned it since it was last read
CLASS_BIT: Final = 8  # of the class of its importance: 1 to CLASSES - 1, 0 if unknown
CLASSES: Final = 32

GRID_POINTS: Final = 73  # of rates, half an octave apart (`learning/posterior.py`)

TICKS: Final = 8.0  # per second, in `read`
COST_STEPS: Final = 8.0  # per octave, in `cost`

# elements of facts
RULE: Final = 0
ALPHA: Final = 1
BETA: Final = 2
LEAST_INTERVAL: Final = 3
BY_BYTES: Final = 4
NEXT_BEND: Final = 5  # of the next pass
MEAN: Final = 6  # m, the usual rate, of hosts without one of their own
THRESHOLD: Final = 7
HIGHEST_THRESHOLD: Final = 8  # that any page was filed under since the last pass began
NEXT_SLOPE: Final = 9  # of the next pass: octaves of the usual rate by a class of importance
NEXT_MEAN: Final = 10
CLOCK: Final = 11  # the latest time of an inspection
LEVEL: Final = 12  # the threshold when the last pass began; beliefs are exact near the ages that it demands
ASKED: Final = 13  # Σ cost / due age of the pages that the pass has reached: their exact demand
GUESSED: Final = 14  # the demand of the same pages by the sums, under the same thresholds
EXACT: Final = 15  # ASKED / GUESSED of the last complete pass: the factor of the sums
PROBING: Final = 16  # the mean seconds between two probes of a page of importance 1; 0 before the first pass
PROBED: Final = 17  # sum of cost·sqrt(x) of the pages that the pass has reached
DEATHS: Final = 18  # per page and second, in decisions
NEXT_DEATHS: Final = 19  # of the next pass
DOUBTING: Final = 20  # per second: how soon a page that was judged too fast is treated like any other
DOUBTS: Final = 21  # reads that such a judgement explains badly (`learning/doubt.py`)
DOUBTED: Final = 22  # the seconds in which they were seen
FACTS: Final = 23

# columns of sums; row 0 holds the current ones, row 1 the new ones
ROOTS: Final = 0  # Σ sqrt(x λ)
COSTS: Final = 1  # Σ cost
SUMS: Final = 2
# elements of pooled, which the pass computes
RATES: Final = 0  # Σ E log2 λ less the octaves of the class
RATED: Final = 1  # number of pages with evidence
MOVES: Final = 2  # Σ E log2 λ less log2 of the usual rate
POOLED: Final = 4

# elements of counts
LIMIT: Final = 0  # all page numbers are below
HOST_LIMIT: Final = 1  # all host numbers are below
PAGE_COUNT: Final = 2
CURSOR: Final = 3  # the next page of the running pass, or NO_PASS
OBSERVED: Final = 4  # observations since the last pass began
SOUND: Final = 5  # whether the rule stayed the same during the pass
STALE: Final = 6  # whether the sums belong to an earlier rule
URGENT: Final = 7  # whether a pass should begin at once
MOVED: Final = 8  # whether the next priors differ from the current ones: 0, 1, or FAR
PASSES: Final = 9
OBSERVATIONS: Final = 10
COUNTS: Final = 11

NO_PASS: Final = -1
FAR: Final = 2

_MOST_AHEAD = 1 << 14  # the kernel moves a large array by its page table without a copy, so steps may be small


class RefreshTables(NamedTuple):
    """All arrays of a book except its calendar."""

    records: npt.NDArray[np.void]
    means: npt.NDArray[np.float32]  # by host: the usual rate, 0 if it has none
    host_rates: npt.NDArray[np.float32]  # by host: Σ E log2 λ less the octaves of the class, of the last pass
    host_pages: npt.NDArray[np.int32]
    factors: npt.NDArray[np.float64]  # by class of importance: of the usual rate
    class_rates: npt.NDArray[np.float64]  # by class: Σ E log2 λ less log2 of the host's rate, of the last pass
    class_pages: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]  # the prior on the grid
    next_weights: npt.NDArray[np.float64]  # of the next pass
    shares: npt.NDArray[np.float64]  # the sum of the posteriors, of the running pass
    log_weights: npt.NDArray[np.float64]
    prior: npt.NDArray[np.float64]  # how fresh a copy is by the prior, by age
    ratios: npt.NDArray[np.float64]  # of the rates of the grid to the usual one
    logs: npt.NDArray[np.float64]  # of 1 - e^(-x)
    gains: npt.NDArray[np.float64]  # of tests (`learning/information.py`)
    window: npt.NDArray[np.int64]  # where the posterior of one page is not 0
    scratch: npt.NDArray[np.float64]  # the posterior of one page
    explained: npt.NDArray[np.float64]  # how well it and the prior explain a read
    curves: npt.NDArray[np.float64]
    demand: npt.NDArray[np.float64]  # rows as in sums
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
        factors=np.ones(CLASSES),
        class_rates=np.zeros(CLASSES),
        class_pages=np.zeros(CLASSES),
        weights=np.zeros(GRID_POINTS),
        next_weights=np.zeros(GRID_POINTS),
        shares=np.zeros(GRID_POINTS),
        log_weights=np.zeros(GRID_POINTS),
        prior=np.zeros((3, 0)),
        ratios=np.zeros(0),
        logs=np.zeros(0),
        gains=np.zeros(0),
        window=np.zeros(2, dtype=np.int64),
        scratch=np.zeros(GRID_POINTS),
        explained=np.zeros((2, 3)),
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
    """Makes room for the records of pages below `need`; new records are 0."""
    _make_room(tables.records, need)
    tables.counts[LIMIT] = max(need, tables.counts[LIMIT])


def make_room_for_hosts(tables: RefreshTables, need: int) -> None:
    """Makes room for the priors of hosts below `need`."""
    for array in (tables.means, tables.host_rates, tables.host_pages):
        _make_room(array, need)
    tables.counts[HOST_LIMIT] = max(need, tables.counts[HOST_LIMIT])
