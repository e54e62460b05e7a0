"""The time of a run: the wall clock as it was at the start, plus the time that has passed since.

    now = ahead + steady time            ahead = wall clock - steady time, once, when the run begins

The steady time is that of the machine since it was started. It cannot be set, and it is the same in all processes, so
a wall clock that is set during a run changes nothing: every process of a run gets the same `ahead`. The times of two
runs can be compared as long as the machine was not restarted in between (`boot`).
"""

import time
from collections.abc import Callable
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def steady_time() -> float:
    """Seconds since the machine was started; on Linux those during which it was suspended count too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def boot_of_machine() -> str:
    """An id that the machine gets whenever it starts; empty if it has none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class RunClock:
    """Seconds since the epoch, by the wall clock at the start of a run and the steady time since."""

    def __init__(
        self,
        ahead: float | None = None,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = steady_time,
        boot: str | None = None,
    ) -> None:
        """The clock of a run that begins now, or one that is `ahead` of the steady time as another process has it."""
        self._steady = steady
        self.ahead = wall() - steady() if ahead is None else ahead
        self.boot = boot_of_machine() if boot is None else boot

    def __call__(self) -> float:
        """The time now."""
        return self.ahead + self._steady()
