"""Writes the figures of a run over time (`store/figures.py`), as often as costs little."""

import math
import time
from collections.abc import Callable
from contextlib import suppress

from centime.crawl.engine.state import CrawlState
from centime.model.errors import NoRoom
from centime.store.figures import RINGS, FiguresFile

LEISURE = 200.0  # computing figures takes at most this part of the time

EVERY = float(RINGS[0][0])


class FigureWriter:
    """The figures of one run. Figures that cannot be written are left out: a crawl does not depend on them."""

    def __init__(self, opened: CrawlState, certified: Callable[[], float | None] | None = None) -> None:
        self._opened = opened
        self._certified = certified  # the error of all partitions together, which one partition does not know
        self._next = 0.0
        self._took = 0.0  # the CPU time of the last figures; those before them may have compiled kernels
        self._file: FiguresFile | None = None
        with suppress(OSError, NoRoom):
            self._file = FiguresFile(opened.folder.path)

    def look(self, now: float, *, must: bool = False) -> None:
        """Writes the current figures if it is time, or if they `must` be written."""
        if self._file is None or (now < self._next and not must):
            return
        begun = time.thread_time()
        facts = self._opened.statistics(now)
        shard = self._opened.shard
        _, share = shard.refreshing.fresh(now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)
        error = facts["certified_error"] if self._certified is None else self._certified()
        with suppress(OSError, NoRoom):
            self._file.write(
                {
                    "time": now,
                    "known": facts["known"],
                    "read": facts["read"],
                    "visits": facts["visits"],
                    "errors": sum(facts["errors"].values()),
                    "wire_bytes": facts["wire_bytes"],
                    "fresh_share": share,
                    "certified_error": math.nan if error is None else error,
                    "frontier": facts["frontier"],
                    "hosts": facts["hosts"],
                }
            )
        taken = time.thread_time() - begun
        self._next = now + max(EVERY, LEISURE * min(taken, self._took))
        self._took = taken

    def close(self, now: float) -> None:
        """Writes the last figures and closes the file."""
        self.look(now, must=True)
        if self._file is not None:
            self._file.close()
            self._file = None
