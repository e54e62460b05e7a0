"""The history of each page as a list of measures: the windows of Section 3.3 that keep the cash and the time of each
read.

A page keeps the measures (C_1, G_1) .. (C_n, G_n), oldest first, that are younger than T, but at least its last
`minimum`:

    FixedWindow            T, minimum 0
    ImprovedFixedWindow    T, minimum 3
    VariableWindow         T = 0, minimum k: the last k measures of any age

The estimate, with C the page's cash now and G the time, is in proportion to

    (C_1 + .. + C_n) / T                  X = H_(t-T,t) / T (Section 3.2): always for FixedWindow, and for
                                          ImprovedFixedWindow if G_1 is within T; T is the age of the ledger while that
                                          is less
    (C_2 + .. + C_n + C) / (G - G_1)      otherwise: the cash since G_1, known to the unit, over the time since G_1
    (C_1 + C) / age of the ledger         for pages read once or never

Old measures are dropped when the page is read or an estimate is made. Rings of 1, 2, 4, .. places share one pool, and a
free ring is reused. As the paper suggests for very large histories, consecutive measures are grouped into one: a page
with 4096 measures in its window continues with at most 2050, so it never needs more than 64 kB. Times are modulo G0 =
2^62 ticks, see `clock`.

A default history (see `newcomers`) is two measures, as if the page had been read when it joined and T before (k
turnovers for VariableWindow), or at the start of the ledger if that is later.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.ledger.cash import MEAN_CASH, Money
from centime.ledger.column import Column
from centime.ledger.history.clock import TURNOVER, WRAP, Clock, Ticks
from centime.ledger.history.whole_history import Flags, Vector
from centime.ledger.history.window import FixedWindow, ImprovedFixedWindow, VariableWindow
from centime.model.kernel import Whole, inlined, kernel
from centime.model.row_batch import Pages

LARGEST_SIZE = 13  # a ring of size s has 2^(s-1) places; of size 0, none
NEVER_READ = 64  # added to the size of a page that was never read
NOTHING = -1
COLUMNS = ("start", "oldest", "kept", "size")


class Measures(NamedTuple):
    """The arrays for kernels: the place of each page's ring, its oldest entry and number of entries; the pool, and its
    free rings by size.
    """

    start: npt.NDArray[np.int64]
    oldest: npt.NDArray[np.uint16]
    kept: npt.NDArray[np.uint16]
    size: npt.NDArray[np.uint8]
    amounts: Money
    times: Ticks
    free: npt.NDArray[np.int64]  # the first free ring of each size; the last place is the end of the pool's used part


class MeasuredHistory:
    """The measures of all pages."""

    def __init__(
        self,
        window: FixedWindow | ImprovedFixedWindow | VariableWindow,
        arrays: dict[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        turnovers = 0.0 if isinstance(window, VariableWindow) else window.turnovers
        self._minimum = 0
        self._default_turnovers = turnovers
        if isinstance(window, ImprovedFixedWindow):
            self._minimum = window.minimum
        elif isinstance(window, VariableWindow):
            self._minimum = window.measures
            self._default_turnovers = float(window.measures)
        self._length = int(turnovers * TURNOVER)
        if arrays is None:
            arrays = {name: np.empty(0, dtype=kind) for name, kind in _KINDS.items()}
            arrays["free"] = np.full(LARGEST_SIZE + 2, NOTHING, dtype=np.int64)
            arrays["free"][-1] = 0
        self._columns = {name: Column(arrays[name]) for name in COLUMNS}
        self._amounts, self._times, self._free = arrays["amounts"], arrays["times"], arrays["free"]

    def join(self, count: int, importance: float, clock: Clock) -> None:
        """Adds pages with the default history of this importance."""
        first = len(self._columns["start"].values)
        for column in self._columns.values():
            column.extend(count, 0)
        ticks = min(clock.elapsed, int(self._default_turnovers * TURNOVER))
        default = int(importance * MEAN_CASH * ticks / TURNOVER)
        if default:
            pages = np.arange(first, first + count, dtype=np.int64)
            for amount, time in ((0, (clock.now - ticks) & WRAP), (default, clock.now)):
                self.record(pages, np.full(count, amount, dtype=np.int64), np.full(count, time, dtype=np.int64))
        self._columns["size"].values[first:] += NEVER_READ

    def record(self, pages: Pages, amounts: Money, times: Ticks) -> Flags:
        """Records the cash and time of each read; returns which of them were the first read of a page."""
        first = np.zeros(len(pages), dtype=np.bool_)
        done = 0
        while True:
            done = add_measures(self._measures(), self._length, self._minimum, pages, amounts, times, first, done)
            if done == len(pages):
                return first
            room = len(self._times) // 4 + (1 << LARGEST_SIZE)
            self._amounts = np.concatenate([self._amounts, np.zeros(room, dtype=np.int64)])
            self._times = np.concatenate([self._times, np.zeros(room, dtype=np.int64)])

    def flows(self, cash: Money, clock: Clock) -> Vector:
        """The estimates, unscaled."""
        flows = np.empty(len(cash))
        weigh(self._measures(), self._length, self._minimum, cash, clock.now, min(clock.elapsed, WRAP), flows)
        return flows

    def unread(self) -> Flags:
        """Which pages were never read."""
        return self._columns["size"].values >= NEVER_READ

    def sum(self, clock: Clock) -> float:
        """The sum of all measures."""
        return tidy(self._measures(), self._length, self._minimum, clock.now)

    def measures(self, clock: Clock) -> float:
        """The mean number of measures per page."""
        self.sum(clock)
        count = self._columns["kept"].values
        return float(count.mean()) if len(count) else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return (
            sum(column.nbytes for column in self._columns.values())
            + self._amounts.nbytes
            + self._times.nbytes
            + self._free.nbytes
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make the same history again."""
        used = int(self._free[-1])
        return self._measures()._replace(amounts=self._amounts[:used], times=self._times[:used])._asdict()

    def _measures(self) -> Measures:
        start, oldest, kept, size = (self._columns[name].values for name in COLUMNS)
        return Measures(start, oldest, kept, size, self._amounts, self._times, self._free)


_KINDS = {
    "start": np.int64,
    "oldest": np.uint16,
    "kept": np.uint16,
    "size": np.uint8,
    "amounts": np.int64,
    "times": np.int64,
}


@inlined
def place_of(measures: Measures, page: Whole, number: Whole) -> Whole:
    """Where in the pool a measure of a page is, its oldest having number 0."""
    places = np.int64(1) << ((np.int64(measures.size[page]) & (NEVER_READ - 1)) - 1)
    place: Whole = measures.start[page] + ((np.int64(measures.oldest[page]) + number) & (places - 1))
    return place


@inlined
def drop_old(measures: Measures, length: int, keep: int, page: Whole, now: Whole) -> None:
    """Drops the measures of a page that are older than the window, except for the last `keep`."""
    while measures.kept[page] > keep:
        if (now - measures.times[place_of(measures, page, 0)]) & WRAP < length:
            break
        measures.oldest[page] = (np.int64(measures.oldest[page]) + 1) & 4095
        measures.kept[page] -= 1


@inlined
def enlarge(measures: Measures, page: Whole) -> bool:
    """Moves a page's measures to a ring twice as large; returns whether the pool had space."""
    mark = np.int64(measures.size[page]) & NEVER_READ
    size = np.int64(measures.size[page]) - mark
    start = measures.free[size + 1]
    if start == NOTHING:
        start = measures.free[-1]
        if start + (np.int64(1) << size) > len(measures.times):
            return False
        measures.free[-1] = start + (np.int64(1) << size)
    else:
        measures.free[size + 1] = measures.times[start]
    for number in range(np.int64(measures.kept[page])):
        place = place_of(measures, page, number)
        measures.amounts[start + number] = measures.amounts[place]
        measures.times[start + number] = measures.times[place]
    if size > 0:
        measures.times[measures.start[page]] = measures.free[size]
        measures.free[size] = measures.start[page]
    measures.start[page] = start
    measures.oldest[page] = 0
    measures.size[page] = size + 1 + mark
    return True


@inlined
def group(measures: Measures, length: int, page: Whole) -> None:
    """Merges consecutive measures of a page that are close together, so that at most 2050 are left.

    A group has the time of its last measure and spans at most 1/1024 of the window, and two in a row span more than
    that. So a measure leaves the window too late by at most 1/1024 of its length, however often measures are grouped.
    """
    groups = np.int64(1)
    before = measures.times[place_of(measures, page, 0)]  # the time of the group before the current one
    for number in range(1, np.int64(measures.kept[page])):
        place, last = place_of(measures, page, number), place_of(measures, page, groups - 1)
        if (measures.times[place] - before) & WRAP <= length // 1024:
            measures.amounts[last] += measures.amounts[place]
        else:
            before = measures.times[last]
            last = place_of(measures, page, groups)
            measures.amounts[last] = measures.amounts[place]
            groups += 1
        measures.times[last] = measures.times[place]
    measures.kept[page] = groups


@kernel
def add_measures(
    measures: Measures, length: int, minimum: int, pages: Pages, amounts: Money, times: Ticks, first: Flags, done: int
) -> int:
    """Adds measures from number `done` on; returns the number done, which is not all if the pool is too small."""
    for k in range(done, len(pages)):
        page = np.uintp(pages[k])
        drop_old(measures, length, max(0, minimum - 1), page, times[k])
        size = np.int64(measures.size[page]) & (NEVER_READ - 1)
        if measures.kept[page] == (np.int64(1) << size) >> 1:
            if size == LARGEST_SIZE:
                group(measures, length, page)
            elif not enlarge(measures, page):
                return k
        place = place_of(measures, page, np.int64(measures.kept[page]))
        measures.amounts[place] = amounts[k]
        measures.times[place] = times[k]
        measures.kept[page] += 1
        if measures.size[page] >= NEVER_READ:
            measures.size[page] -= NEVER_READ
            first[k] = True
    return len(pages)


@kernel
def tidy(measures: Measures, length: int, minimum: int, now: int) -> float:
    """Drops all old measures; returns the sum of the others."""
    total = 0.0
    for page in range(len(measures.start)):
        drop_old(measures, length, minimum, page, now)
        for number in range(np.int64(measures.kept[page])):
            total += measures.amounts[place_of(measures, page, number)]
    return total


@kernel
def weigh(measures: Measures, length: int, minimum: int, cash: Money, now: int, elapsed: int, flows: Vector) -> None:
    """Computes each page's flow of cash in its window."""
    for page in range(len(measures.start)):
        drop_old(measures, length, minimum, page, now)
        count = np.int64(measures.kept[page])
        total = 0.0
        for number in range(count):
            total += measures.amounts[place_of(measures, page, number)]
        age = np.int64(0)
        if count > 0:
            age = (now - measures.times[place_of(measures, page, 0)]) & WRAP
        if minimum == 0 or (count > 0 and age < length):
            flows[page] = total / max(1, min(length, elapsed))
        elif count > 1:
            flows[page] = (total - measures.amounts[place_of(measures, page, 0)] + cash[page]) / max(1, age)
        else:
            flows[page] = (total + cash[page]) / max(1, elapsed)
