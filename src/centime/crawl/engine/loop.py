"""The crawl at work: leases to the fetchers, visits from them to the shard, everything on disk, until a limit or a word
from outside.

One thread and no waiting for anybody: the shard is asked for as many leases as the fetchers and the budget have room
for, what comes back is recorded in batches. Orders from outside are taken twice a second, notices for subscribers are
handed to a process of their own. Journal frames are handed to the system with every turn (a killed process loses none
of them) and synced to the disk once a second (a power cut loses a second). Snapshots are written by a forked child.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.budget import Bucket
from centime.crawl.engine.fetchers import Fetchers
from centime.crawl.engine.opening import OpenCrawl
from centime.crawl.notify.delivery import Delivery, write_troubles
from centime.model.address import fingerprint
from centime.model.errors import BadInput, BadSetting, NoRoom
from centime.model.outcome import Outcome
from centime.settings.crawl import fetcher_settings
from centime.shard.command import PublishCommand, SetCommand
from centime.shard.commands import changed_live
from centime.shard.message import Returned

LEASES_PER_FETCHER = 96
SYNC_SECONDS = 1.0
VIEW_SECONDS = 0.5
PACE_SECONDS = 12.0  # pages a second are counted over so long
PATIENCE_SECONDS = 300.0  # a crawl waits so long for a host that has pages and cannot be asked now
DRAIN_SECONDS = 15.0  # when it is to stop, it waits so long for pages that are being read
LAST_DELIVERY_SECONDS = 5.0  # and so long for subscribers that are being told
FINAL_ERROR = 1e-6
FINAL_PAYMENTS_PER_PAGE = 40
NOT_ASKED = frozenset({Outcome.LOST, Outcome.DISALLOWED, Outcome.NO_ROBOTS, Outcome.REFUSED_ADDRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run of the crawl ends by itself."""

    pages: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Run:
    """What one run of the crawl has done so far."""

    started: float
    visits: int = 0
    read: int = 0
    wire_bytes: int = 0
    ending: str = ""
    recent: list[tuple[float, int, int]] = field(default_factory=list)  # time, visits, bytes

    def pace(self, now: float) -> tuple[float, float]:
        """Pages and bytes a second, over the last few seconds."""
        self.recent = [
            *(one for one in self.recent if now - one[0] < PACE_SECONDS),
            (now, self.visits, self.wire_bytes),
        ]
        since, visits, sent = self.recent[0]
        passed = max(1e-9, now - since)
        return (self.visits - visits) / passed, (self.wire_bytes - sent) / passed


class Crawl:
    """A run of a crawl in its folder."""

    def __init__(self, opened: OpenCrawl, limits: Limits, *, clock: Callable[[], float] = time.time) -> None:
        self.opened = opened
        self.shard = opened.shard
        self.limits = limits
        self._clock = clock
        self._stop = 0
        settings = opened.settings
        now = clock()
        self.run_facts = Run(now)
        self._pages = Bucket(settings.rate, now)
        self._bytes = Bucket(settings.bandwidth, now, room_seconds=10.0)
        self._page_bytes = 20_000.0  # what a page costs, learned as the crawl goes
        self._synced = now
        self._viewed = 0.0
        self._inbox = CommandInbox(opened.folder.path)
        self._delivery = Delivery(settings.fetch_settings(), crawl=opened.folder.path)

    def run(self, view: Callable[["Crawl", float], None]) -> str:
        """Crawls until a limit is reached, nothing is left or somebody stops it; in words, why it ended."""
        opened = self.opened
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(self._clock()))
        fetchers = Fetchers(
            opened.settings.worker_count,
            lambda number: fetcher_settings(opened.settings, f"{stamp}-{number:04d}", opened.folder.bodies),
        )
        try:
            with self._signals():
                self.shard.returned(Returned(self._clock(), [], all=True))
                while self._inbox.waiting() and not self._stop:
                    self._hear(self._clock())
                    opened.keep_snapshots()
                while not self._turn(fetchers, view):
                    pass
                self._drain(fetchers, view)
        finally:
            fetchers.close()
            self._delivery.close()
        self._close(view)
        return self.run_facts.ending

    def stop(self, *_: object) -> None:
        """Asks the crawl to end; a second time: at once."""
        self._stop += 1

    def statistics(self, now: float) -> dict[str, Any]:
        """What people want to see while it runs."""
        pages, sent = self.run_facts.pace(now)
        return self.opened.statistics(now) | {
            "pages_per_second": pages,
            "bytes_per_second": sent,
            "seconds": now - self.run_facts.started,
        }

    def _turn(self, fetchers: Fetchers, view: Callable[["Crawl", float], None]) -> bool:
        now = self._clock()
        ending = self._limit(now)
        if ending:
            self.run_facts.ending = ending
            return True
        wait = self._lease(fetchers, now)
        if wait is None:
            return True
        self._receive(fetchers, min(wait, VIEW_SECONDS, max(0.0, self._synced + SYNC_SECONDS - now)))
        self._keep(view)
        return False

    def _limit(self, now: float) -> str:
        run, limits = self.run_facts, self.limits
        if self._stop:
            return "stopped"
        if limits.pages is not None and run.visits >= limits.pages:
            return f"read the {limits.pages} pages asked for"
        if limits.seconds is not None and now - run.started >= limits.seconds:
            return f"the {limits.seconds:g} seconds are over"
        return ""

    def _lease(self, fetchers: Fetchers, now: float) -> float | None:
        """Hands out what may be handed out; how long to wait for the next, or nothing when there is no more to do."""
        outstanding = fetchers.outstanding
        room = float(LEASES_PER_FETCHER * len(fetchers.all) - outstanding)
        if self.limits.pages is not None:
            room = min(room, self.limits.pages - self.run_facts.visits - outstanding)
        allowed = min(self._pages.left(now), self._bytes.left(now) / self._page_bytes - outstanding)
        count = int(min(room, allowed))
        if count > 0:
            leases = self.shard.lease(now, count)
            if leases:
                self._pages.spend(len(leases))
                # before anybody is asked: whoever goes on after a kill must know whom to leave alone
                self.shard.journal.flush()
                fetchers.hand_out(leases, self.shard.lanes_of(leases))
                return 0.0 if len(leases) == count else 0.05
        if room > 0 and allowed < 1:
            return max(0.001, self._pages.wait(), self._bytes.wait(self._page_bytes))
        ready = self.shard.earliest(now)
        if outstanding == 0 and count > 0 and ready - now > PATIENCE_SECONDS and not self._is_due_in_time(now, ready):
            self.run_facts.ending = self._nothing_left(now, ready)
            return None
        return max(0.001, ready - now) if count > 0 else VIEW_SECONDS

    def _is_due_in_time(self, now: float, ready: float) -> bool:
        """Whether it is worth waiting: the run has a time, and something is due before it is over, or pages are read
        again for ever.
        """
        settings = self.shard.settings
        if (settings.continuous or settings.refresh_after is not None) and self.shard.read_count:
            return True
        return (
            self.limits.seconds is not None
            and min(ready, self.shard.placement.retries.earliest()) <= self.run_facts.started + self.limits.seconds
        )

    def _nothing_left(self, now: float, ready: float) -> str:
        waiting, again = len(self.shard.placement.frontier), len(self.shard.placement.retries)
        if waiting:
            return f"nothing can be asked now: {waiting} pages wait for their hosts, the first for {ready - now:.0f} s; run again later"
        if again:
            due = self.shard.placement.retries.earliest() - now
            return f"everything known was read, but {again} pages failed and are due again, the first in {due:.0f} s; run again later"
        return "everything known was read" if self.shard.read_count else f"nothing could be read: {self._first_seed()}"

    def _first_seed(self) -> str:
        """What came of the first seed, in words."""
        seed, pages = self.shard.settings.seeds[0], self.shard.pages
        page = int(pages.table.find(np.array([fingerprint(seed)], dtype=np.uint64))[0])
        record = pages.last(page) if page >= 0 else None
        if record is None:
            return f"{seed} was not asked for"
        return f"{seed}: {record.outcome.name.lower().replace('_', ' ')}: {record.detail}".removesuffix(": ")

    def _receive(self, fetchers: Fetchers, timeout: float) -> None:
        packed, lost = fetchers.receive(timeout)
        now = self._clock()
        if lost:
            self.shard.returned(Returned(now, sorted(lost)))
        if not packed:
            return
        visits = self.shard.record(now, packed)
        fetchers.release([visit.page for visit in visits])
        run = self.run_facts
        for visit in visits:
            if visit.outcome is Outcome.LOST and visit.detail.startswith(
                NoRoom.__name__
            ):  # reading it again would end in the same way
                raise NoRoom(visit.detail.partition(": ")[2])
            if visit.outcome not in NOT_ASKED:
                run.visits += 1
                run.read += visit.outcome == Outcome.READ
                run.wire_bytes += visit.wire_bytes
                self._bytes.spend(visit.wire_bytes)
                self._page_bytes += (visit.wire_bytes - self._page_bytes) / 50

    def _keep(self, view: Callable[["Crawl", float], None]) -> None:
        """Everything on disk, snapshots when it is time, and a look for people."""
        now = self._clock()
        if now - self._synced >= SYNC_SECONDS:
            self.shard.journal.sync()
            self._synced = now
        else:
            self.shard.journal.flush()
        self.opened.keep_snapshots()
        if now - self._viewed >= VIEW_SECONDS:
            self._viewed = now
            self._hear(now)
            view(self, now)

    def _hear(self, now: float) -> None:
        """Carries out orders that have come, and tells subscribers what they are to be told."""
        taken = [
            one for one in self._inbox.take() if not (isinstance(one[1], PublishCommand) and self.opened.is_behind)
        ]
        for path, order in taken:
            try:
                if isinstance(order, SetCommand) and order.id not in self.shard.requests.recent:
                    self._set(now, order)
                self.shard.command(now, order)
            except (BadInput, BadSetting) as trouble:
                self._inbox.refuse(path, str(trouble))
        if taken:
            self.shard.journal.sync()
            self._inbox.done(path for path, _ in taken if path.exists())
        self._deliver(now)

    def _deliver(self, now: float, timeout: float = 0.0) -> None:
        self._delivery.deliver(self.shard.requests.subscriptions.due(now), now)
        for name, up_to in self._delivery.receive(now, timeout):
            self.shard.delivered(now, name, up_to)
        write_troubles(self.opened.folder.path, self._delivery.troubles)

    def _set(self, now: float, order: SetCommand) -> None:
        """Other settings, kept in the folder before the shard is told: the next run begins with them."""
        settings = changed_live(self.shard.settings, order)
        self.opened.folder.keep_settings(settings.facts())
        self.opened.settings = settings
        self._pages.change(settings.rate, now)
        self._bytes.change(settings.bandwidth, now)

    def _drain(self, fetchers: Fetchers, view: Callable[["Crawl", float], None]) -> None:
        until = self._clock() + DRAIN_SECONDS
        while fetchers.outstanding and self._clock() < until and self._stop < 2:
            self._receive(fetchers, 0.1)
            self._keep(view)
        until = self._clock() + LAST_DELIVERY_SECONDS
        self._deliver(self._clock())
        while self._delivery.in_hand and self._clock() < until and self._stop < 2:
            self._deliver(self._clock(), timeout=0.1)

    def _close(self, view: Callable[["Crawl", float], None]) -> None:
        self.shard.returned(Returned(self._clock(), [], all=True))
        self.shard.settle(FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE * max(1, self.shard.ledger.pages))
        self.opened.close()
        view(self, self._clock())

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {name: signal.signal(name, self.stop) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)
