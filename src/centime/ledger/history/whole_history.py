"""The history of each page in one or two numbers: OPIC's whole history, and Interpolation.

`TotalHistory` (OPIC, Section 2): H_i is the sum of the cash of page i at its reads, and G = sum of H. The estimate of
its importance is

    (H_i + C_i) / (G + sum of C)                      times the number of pages: mean 1

When G would exceed 2^62, all H and thus G are halved. This changes no share, but from then on old reads count less than
new ones.

`InterpolatedHistory` (BAO, Section 3.3, Figure 1): H_i estimates the cash that page i got in a time T before it was
last read, at G_i:

    H_i = H_i (T - (G - G_i)) / T + C_i       if G - G_i < T
        = C_i T / (G - G_i)                   otherwise

The estimate is the H_i after a read at this moment, divided by the mean of all. H takes 4 bytes and G 4 bytes: 16 bytes
per page with the cash. G counts ticks of 2^-21 T to 2^-20 T, modulo G0 = 2^32 ticks, 2048 to 4096 T: a page must be
read within that time.

A page never read has its default history (see `newcomers`) as a negative number, -1 - H, which marks its next read as
the first.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from centime.ledger.cash import MEAN_CASH, Money
from centime.ledger.column import Column
from centime.ledger.history.clock import TURNOVER, Clock, Ticks
from centime.ledger.history.window import Interpolation
from centime.model.kernel import kernel
from centime.model.row_batch import Pages

LARGEST_SUM = 1 << 62
TICK_WRAP = (1 << 32) - 1

Flags = npt.NDArray[np.bool_]
Vector = npt.NDArray[np.float64]


class History(Protocol):
    """The history of all pages, as the OPIC ledger needs it."""

    def join(self, count: int, importance: float, clock: Clock) -> None:
        """Adds pages with the default history of this importance."""
        ...

    def record(self, pages: Pages, amounts: Money, times: Ticks) -> Flags:
        """Records the cash and time of each read; returns which of them were the first read of a page."""
        ...

    def flows(self, cash: Money, clock: Clock) -> Vector:
        """A number for every page, in proportion to its importance."""
        ...

    def unread(self) -> Flags:
        """Which pages were never read."""
        ...

    def sum(self, clock: Clock) -> float:
        """|H|: the cash on which the estimate is based."""
        ...

    def measures(self, clock: Clock) -> float:
        """The mean number of measures per page."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        ...

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that restore the same history."""
        ...


class TotalHistory:
    """H of OPIC: the sum of a page's cash at all its reads."""

    def __init__(self, arrays: dict[str, npt.NDArray[Any]] | None = None) -> None:
        self._history = Column(np.empty(0, dtype=np.int64) if arrays is None else arrays["history"])
        self._sum = int(self._values().sum())

    def join(self, count: int, importance: float, clock: Clock) -> None:
        """Adds new pages with the default history of this importance."""
        default = int(importance * self._sum / max(1, len(self._history.values)))
        while self._sum + count * default > LARGEST_SUM:
            self._halve()
            default //= 2
        self._history.extend(count, ~default)
        self._sum += count * default

    def record(self, pages: Pages, amounts: Money, times: Ticks) -> Flags:
        """Records the cash of each read; returns which of them were the first read of a page."""
        paid = int(amounts.sum())
        while self._sum + paid > LARGEST_SUM:
            self._halve()
        self._sum += paid
        first = np.empty(len(pages), dtype=np.bool_)
        add_to_history(self._history.values, pages, amounts, first)
        return first

    def flows(self, cash: Money, clock: Clock) -> Vector:
        """H + C."""
        return self._values().astype(np.float64) + cash

    def unread(self) -> Flags:
        """Which pages were never read."""
        return self._history.values < 0

    def sum(self, clock: Clock) -> float:
        """G."""
        return float(self._sum)

    def measures(self, clock: Clock) -> float:
        """One sum is kept for a page."""
        return 1.0

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self._history.nbytes

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make the same history again."""
        return {"history": self._history.values}

    def _values(self) -> Money:
        history = self._history.values
        return np.where(history < 0, ~history, history)

    def _halve(self) -> None:
        halved = self._values() >> 1
        self._history.values[:] = np.where(self.unread(), ~halved, halved)
        self._sum = int(halved.sum())


class InterpolatedHistory:
    """H and G of Interpolation."""

    def __init__(self, window: Interpolation, arrays: dict[str, npt.NDArray[Any]] | None = None) -> None:
        ticks = window.turnovers * TURNOVER
        self._shift = int(ticks).bit_length() - 21
        self._length = ticks / (1 << self._shift)
        self._turnovers = window.turnovers
        self._history = Column(np.empty(0, dtype=np.float32) if arrays is None else arrays["history"])
        self._last = Column(np.empty(0, dtype=np.uint32) if arrays is None else arrays["last"])

    def join(self, count: int, importance: float, clock: Clock) -> None:
        """Adds new pages with the default history of this importance."""
        default = importance * MEAN_CASH * min(self._turnovers, clock.turnovers)
        self._history.extend(count, -1.0 - default)
        self._last.extend(count, self._ticks(clock.now))

    def record(self, pages: Pages, amounts: Money, times: Ticks) -> Flags:
        """Records the cash and time of each read; returns which of them were the first read of a page."""
        first = np.empty(len(pages), dtype=np.bool_)
        interpolate(
            self._history.values,
            self._last.values,
            self._length,
            pages,
            amounts,
            (times >> self._shift) & TICK_WRAP,
            first,
        )
        return first

    def flows(self, cash: Money, clock: Clock) -> Vector:
        """The H of each page after a read at this moment."""
        age = (np.uint32(self._ticks(clock.now)) - self._last.values).astype(np.float64)
        inside = self._values() * ((self._length - age) / self._length) + cash
        return np.where(age < self._length, inside, cash * (self._length / np.maximum(age, 1.0)))

    def unread(self) -> Flags:
        """Which pages were never read."""
        return self._history.values < 0

    def sum(self, clock: Clock) -> float:
        """The sum of H."""
        return float(self._values().sum())

    def measures(self, clock: Clock) -> float:
        """One measure is kept for a page."""
        return 1.0

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self._history.nbytes + self._last.nbytes

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make the same history again."""
        return {"history": self._history.values, "last": self._last.values}

    def _ticks(self, time: int) -> int:
        return (time >> self._shift) & TICK_WRAP

    def _values(self) -> Vector:
        history = self._history.values.astype(np.float64)
        return np.where(history < 0, -1.0 - history, history)


@kernel
def add_to_history(history: Money, pages: Pages, amounts: Money, first: Flags) -> None:
    """Adds the cash of reads to the history of their pages; sets `first` for the first read of a page."""
    for k in range(len(pages)):
        page = np.uintp(pages[k])
        past = history[page]
        first[k] = past < 0
        history[page] = (~past if past < 0 else past) + amounts[k]


@kernel
def interpolate(
    history: npt.NDArray[np.float32],
    last: npt.NDArray[np.uint32],
    length: float,
    pages: Pages,
    amounts: Money,
    times: Ticks,
    first: Flags,
) -> None:
    """The same for Interpolation."""
    for k in range(len(pages)):
        page = np.uintp(pages[k])
        past = np.float64(history[page])
        first[k] = past < 0
        past = -1.0 - past if past < 0 else past
        age = (times[k] - np.int64(last[page])) & TICK_WRAP
        inside = age < length
        history[page] = np.float32(
            past * ((length - age) / length) + amounts[k] if inside else amounts[k] * (length / age)
        )
        last[page] = np.uint32(times[k])
