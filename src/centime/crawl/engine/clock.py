"""Whether the clock of the machine was set since the last run, and what to say about it.

Every time in the state of a crawl is of the clock of some run. L is the latest of them. If the machine was not
restarted since, the steady time tells how long ago L was, whatever the wall clock says; the folder keeps the steady
time of each run for that (`clock.json`; if it is missing or damaged, the machine counts as restarted). Otherwise
only a clock before L is known to be wrong, and no time has passed as far as anybody can know.

If the two differ by more than TOLERANCE_SECONDS, a frame moves the times that pages and hosts wait for
(`shard/moving.py`): nobody waits longer than before, and no host is asked too soon.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from centime.files.replacement import replace_file
from centime.model.errors import NoRoom
from centime.processes.clock import RunClock
from centime.shard.message import ClockMoved

NAME = "clock.json"
TOLERANCE_SECONDS = 60.0
LONG_AGO_SECONDS = 30 * 86400.0


def clock_moved(folder: Path, clock: RunClock, latest: float) -> ClockMoved | None:
    """The frame that moves times after the clock was set, or None; `latest` is the latest time in the crawl's state."""
    now = clock()
    ahead = _ahead_of_last_run(folder, clock.boot)
    passed = max(0.0, now - latest) if ahead is None else max(0.0, now - clock.ahead + ahead - latest)
    if abs(latest + passed - now) <= TOLERANCE_SECONDS:
        return None
    return ClockMoved(now, latest, passed)


def keep_clock(folder: Path, clock: RunClock) -> None:
    """Keeps what the next run needs to know of the clock of this one."""
    if clock.boot:
        kept = {"boot": clock.boot, "ahead": clock.ahead}
        with suppress(NoRoom):  # the crawl does without
            replace_file(folder / NAME, json.dumps(kept | {"checksum": _checksum(kept)}).encode(), durable=False)


def said_of_clock(folder: Path, moved: ClockMoved | None, now: float, latest: float) -> str:
    """A sentence for people if the clock was set, or if the last run was long ago by it; empty otherwise."""
    if moved is not None:
        by = moved.now - moved.before - moved.passed
        way = "back" if by < 0 else "ahead"
        return (
            f"{folder}: the clock of this machine was set {way} by {_duration(abs(by))} since the last run; times that "
            "pages and hosts wait for were moved with it"
        )
    if latest and now - latest > LONG_AGO_SECONDS:
        return f"{folder}: by the clock of this machine, the last run ended {_duration(now - latest)} ago"
    return ""


def _ahead_of_last_run(folder: Path, boot: str) -> float | None:
    """How far the clock of the last run was ahead of the steady time; None if the machine was restarted since."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        kept = json.loads((folder / NAME).read_bytes())
        if boot and kept["boot"] == boot and kept.pop("checksum") == _checksum(kept):
            return float(kept["ahead"])
    return None


def _checksum(kept: dict[str, Any]) -> str:
    return xxh3_64_hexdigest(json.dumps(kept, sort_keys=True).encode())


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 60:.0f} minutes"
