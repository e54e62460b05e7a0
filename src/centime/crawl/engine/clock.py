"""Whether the clock of the machine was set since the last run, and what to say about it.

Every time in the state of a crawl is of the clock of some run. L is the latest of them. If the machine was not
restarted since, the steady time shows how long ago L was, whatever the wall clock says: the journal records how far the
clock of the last run was ahead of it. Otherwise only a clock before L is known to be wrong, and the crawl assumes that
no time has passed.

If the two differ by more than TOLERANCE_SECONDS, a frame moves the times that pages and hosts wait for
(`shard/moving.py`): no page waits longer than before, and no host is contacted too early.
"""

from pathlib import Path

from centime.processes.clock import RunClock
from centime.shard.message import Clocked
from centime.shard.state import ShardState

TOLERANCE_SECONDS = 60.0  # ordinary corrections of a clock are smaller
CLOSE_SECONDS = 1.0  # such a correction need not be in the journal
LONG_AGO_SECONDS = 30 * 86400.0


def clocked(clock: RunClock, state: ShardState) -> Clocked | None:
    """The frame that says which clock the crawl uses from now on, and how times move; None if nothing has changed."""
    now, latest = clock(), state.latest
    same_boot = bool(clock.boot) and clock.boot == state.boot
    passed = max(0.0, now - latest if not same_boot else now - clock.ahead + state.ahead - latest)
    if latest and abs(latest + passed - now) > TOLERANCE_SECONDS:
        return Clocked(now, clock.boot, clock.ahead, latest, passed)
    if clock.boot == state.boot and (not same_boot or abs(clock.ahead - state.ahead) <= CLOSE_SECONDS):
        return None
    return Clocked(now, clock.boot, clock.ahead)


def said_of_clock(folder: Path, frame: Clocked | None, now: float, latest: float) -> str:
    """A sentence for people if the clock was set, or if the last run was long ago by it; empty otherwise."""
    if frame is not None and frame.before:
        by = frame.now - frame.before - frame.passed
        way = "back" if by < 0 else "ahead"
        return (
            f"{folder}: the clock of this machine was set {way} by {_duration(abs(by))} since the last run; times that "
            "pages and hosts wait for were moved with it"
        )
    if latest and now - latest > LONG_AGO_SECONDS:
        return f"{folder}: by the clock of this machine, the last run ended {_duration(now - latest)} ago"
    return ""


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 60:.0f} minutes"
