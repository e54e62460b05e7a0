"""The clock of the papers: G, the sum of all payments, as a measure of time.

The total cash of the papers is 1, so their G counts turnovers: in one turnover, as much is paid as there is. Here every
page brings cash, so a visit that pays C advances the clock by C / total, in whole ticks of 2^-40 turnovers. In this way
a window keeps its length while the graph grows.

G is kept modulo G0 = 2^62 ticks, four million turnovers. Times are compared by their difference modulo G0, so an
overflow of the clock has no effect. Trap: a page that is not read for a whole G0 looks as if it had just been read.
"""

import numpy as np
import numpy.typing as npt

TURNOVER = 1 << 40
G0 = 1 << 62
WRAP = G0 - 1  # x & WRAP is x modulo G0

Ticks = npt.NDArray[np.int64]


class Clock:
    """The sum of all payments since the start, in ticks."""

    def __init__(self, origin: int = 0, elapsed: int = 0) -> None:
        self.origin = origin
        self.elapsed = elapsed

    @property
    def now(self) -> int:
        """The time, modulo G0."""
        return (self.origin + self.elapsed) & WRAP

    @property
    def turnovers(self) -> float:
        """The time since the start, in turnovers."""
        return self.elapsed / TURNOVER

    def pass_by(self, amounts: npt.NDArray[np.int64], total: int) -> Ticks:
        """Advances the clock by payments in their order; returns the time of each payment."""
        ticks = (amounts * (TURNOVER / total)).astype(np.int64)
        after = np.cumsum(ticks)
        times: Ticks = (self.now + after - ticks) & WRAP
        self.elapsed += int(ticks.sum())
        return times
