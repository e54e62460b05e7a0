"""The memory of a crawl: how much its processes use, how much they may use, and what happens when it gets short.

    most-memory     as given, or half of what the machine, or the control group of this process, has
    most-pages      as given, or most-memory / BYTES_PER_PAGE
    above CAUTION   no further URLs are admitted
    above DANGER    the least important unread pages are dropped, an eighth of those that wait at a time
    above all       for PATIENCE_SECONDS although pages were dropped: the run ends cleanly
    below CALM      everything is admitted again

While a snapshot is written, its process needs memory too. That passes, so nothing is dropped or lifted meanwhile unless
all memory is in use, and the run does not end for it.

What counts is memory that only ending or shrinking processes gives back: anonymous pages of this process and of all
processes below it, a page that several share counted once. Pages of mapped files are not counted: the system takes them
back when it needs them. The watch decides with a frame `Bounded`, never inside the shard, so that a replay decides the
same.

Every column of a shard grows by being copied to a larger one. By default, GNU's C library keeps freed blocks of up to
32 MiB for later use: with every such block it raises its "dynamic threshold". That cost 15 to 20 bytes of unused memory
per page. With a fixed threshold, blocks above it are mapped and unmapped one by one (`give_back_large_blocks`).
"""

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from centime.shard.shard import Shard

LARGE_BLOCK = 1 << 20  # bytes
_MMAP_THRESHOLD = -3  # of mallopt(3)

BYTES_PER_PAGE = 192  # 64 of a page, as much for its share of a host, and as much for processes and snapshots
LEAST_PAGES = 100_000  # the machine's bound is never below this
CALM, CAUTION, DANGER = 0.6, 0.7, 0.78  # shares of most-memory: a snapshot takes up to 0.28 more
LOOK_SECONDS = 1.0  # between two looks, at least
LEISURE = 50  # looks take at most a fiftieth of the time
ACT_SECONDS = 5.0  # between two drops, so that the effect of the first is measured
PATIENCE_SECONDS = 60.0
DROPPED_AT_ONCE = 8  # one in this many of the waiting pages

Measure = Callable[[int], int | None]  # the bytes in use; may stop at an upper bound of it that is below the argument


def give_back_large_blocks() -> None:
    """Makes GNU's C library return every large block when it is freed; does nothing with another C library."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)


def half_of_memory() -> int:
    """Half of the bytes that this machine, or the control group of this process, has."""
    return _control_group() // 2


def most_pages_of(most_memory: int) -> int:
    """The number of pages that fit into this many bytes."""
    return max(LEAST_PAGES, most_memory // BYTES_PER_PAGE)


class MemoryWatch:
    """Watches the memory of a crawl and bounds its pages; `measure` replaces the measuring of processes."""

    def __init__(self, shard: Shard, *, measure: Measure | None = None) -> None:
        self._shard = shard
        self._measure = measure or tree_memory
        self._default = half_of_memory()
        self._looked_at = self._acted_at = float("-inf")
        self._pause = LOOK_SECONDS
        self._above_since: float | None = None
        self.used: int | None = None  # bytes at the last look

    @property
    def most(self) -> int:
        """The bytes that all processes may use."""
        given = self._shard.settings.most_memory
        return self._default if given is None else given

    def look(self, now: float, *, writing: bool = False) -> str:
        """Measures, at most once per second, and bounds the pages; returns why the run must end, empty if it need not.
        `writing`: a snapshot is being written.

        A clock that was set back does no harm.
        """
        if 0 <= now - self._looked_at < self._pause:
            return ""
        self._looked_at = now
        most = self.most
        started = time.perf_counter()
        self.used = self._measure(int(CALM * most))
        self._pause = max(LOOK_SECONDS, LEISURE * (time.perf_counter() - started))
        share = 0.0 if self.used is None else self.used / most
        self._bound(now, CAUTION if writing and CAUTION < share < 1.0 else share, most_pages_of(most))
        if share <= 1.0 or writing:
            self._above_since = None
        elif self._above_since is None or now < self._above_since:
            self._above_since = now
        elif now - self._above_since >= PATIENCE_SECONDS:
            return (
                f"memory is short: the processes of the crawl use {share * most / 2**20:.0f} MiB, and --most-memory is "
                f"{most / 2**20:.0f} MiB; give more, or crawl with fewer --workers"
            )
        return ""

    def _bound(self, now: float, share: float, machine: int) -> None:
        """Appends a frame if the bounds must change."""
        bounds = self._shard.bounds
        pressed = bounds.pressed
        live = max(1, self._shard.pages.count - bounds.dropped)
        if share < CALM:
            pressed = 0
        elif share >= DANGER and not 0 <= now - self._acted_at < ACT_SECONDS:
            self._acted_at = now
            pressed = max(1, live - len(self._shard.placement.frontier) // DROPPED_AT_ONCE)
        elif share >= CAUTION and not pressed:
            pressed = live
        if (machine, pressed) != (bounds.machine, bounds.pressed):
            self._shard.bound(now, machine, pressed)


def tree_memory(enough: int = 0) -> int | None:
    """The bytes of this process and of all below it, shared ones counted once; None where /proc is missing.

    Counting shared memory exactly takes some 10 ms per GiB. So if the simple sum, in which shared memory counts for
    each process, is below `enough`, that is returned.
    """
    processes = tree()
    simple = [_field(process, "status", "RssAnon:", "RssShmem:") for process in processes]
    if not any(simple):
        return None
    if sum(simple) < enough:
        return sum(simple)
    return sum(_field(process, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:") for process in processes) or sum(simple)


def tree_memory_above(before: int, enough: int = 0) -> int | None:
    """The same without the memory that the program used before it opened the crawl."""
    used = tree_memory(enough + before)
    return None if used is None else max(0, used - before)


def tree(root: int | None = None) -> list[int]:
    """The process and all below it."""
    found = [os.getpid() if root is None else root]
    for process in found:  # grows meanwhile
        with suppress(OSError):  # it has ended, or there is no /proc
            for thread in Path(f"/proc/{process}/task").iterdir():
                found.extend(map(int, (thread / "children").read_bytes().split()))
    return found


def _field(process: int, name: str, *fields: str) -> int:
    """The sum of fields of a file of /proc, in bytes; 0 if the process has ended or the system has no such file."""
    try:
        with Path(f"/proc/{process}/{name}").open(encoding="ascii") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(fields))
    except OSError:
        return 0


def _physical() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _control_group(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """The least limit of the control groups that this process is in; that of the machine if there is none."""
    limits = [_physical()]
    try:
        groups = [line.split(":", 2)[2].strip("/") for line in own.read_text().splitlines()]
    except (OSError, IndexError):
        return limits[0]
    for group in groups:
        for folder in (root / group, *(root / group).parents, root / "memory" / group):
            if not folder.is_relative_to(root):
                continue
            for name in ("memory.max", "memory.limit_in_bytes"):
                try:
                    limits.append(int((folder / name).read_text()))
                except (OSError, ValueError):  # "max": no limit
                    continue
    return min(limits)
