"""A clock with faults, for programs that take time as an argument: it jumps, stops and runs fast on demand."""

import time
from collections.abc import Callable


class FaultClock:
    """A callable like `time.time` whose time the test sets. By default it follows the given clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, start: float = 1_767_225_600.0) -> None:
        self._clock = clock
        self._speed = 1.0
        self._since = clock()
        self._time = start

    def __call__(self) -> float:
        """The time now, in seconds since the epoch."""
        return self._time + self._speed * (self._clock() - self._since)

    def jump(self, seconds: float) -> None:
        """Sets the clock forward, or back if `seconds` is negative."""
        self._settle()
        self._time += seconds

    def run(self, speed: float) -> None:
        """Lets time pass `speed` times as fast from now on; 0 stops the clock."""
        self._settle()
        self._speed = speed

    def _settle(self) -> None:
        self._time, self._since = self(), self._clock()
