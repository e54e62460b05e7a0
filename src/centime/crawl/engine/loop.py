"""The engine: leases to the fetchers, visits from them to the shard, everything on disk, until a limit or a stop.

    engine.start()                 takes back old leases, carries out waiting commands, starts the fetchers
    while engine.step(): ...       one turn: lease, hand out, receive, record, sync, snapshot, commands, notices
    engine.finish()                waits for leased pages, settles the ledger, writes the last snapshot

The engine is one thread that never blocks on another process: the shard grants as many leases as the transport and the
budget have room for, and visits are recorded in batches. The engine installs no signal handlers; its caller calls
`stop`, from any thread or signal handler. Commands are taken twice per second; a separate process notifies subscribers.
Each turn writes the journal's frames to the system (a killed process loses none of them) and once per second syncs them
to the disk (a power cut loses at most one second). A forked child writes snapshots. Once per second the engine measures
the memory of all its processes, and bounds the pages that the shard may know (`memory.py`).

Over 400 lines: a run is one sequence of steps over the same facts, and what ends it is decided in one place.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.commands.order_log import log_orders
from centime.crawl.engine.budget import Bucket
from centime.crawl.engine.damage import damage_closes
from centime.crawl.engine.fetchers import Fetchers, Transport
from centime.crawl.engine.figures import FigureWriter
from centime.crawl.engine.hub_list import HubList
from centime.crawl.engine.memory import Measure, MemoryWatch
from centime.crawl.engine.peers import Peers
from centime.crawl.engine.run_log import RunLog
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.notify.delivery import Delivery, write_troubles
from centime.crawl.worker.hook import FAILED
from centime.discover.refusal import Reason
from centime.fetch.address_leases import AddressLease
from centime.fetch.failure import LACKING
from centime.model.address import fingerprint
from centime.model.errors import BadInput, BadSetting, DamagedFile, NoRoom
from centime.model.outcome import Outcome
from centime.processes.spare import Spare
from centime.settings.crawl import fetcher_settings
from centime.settings.secrets import read_secrets, with_secrets
from centime.shard.message import WITHOUT_TLS, Lease, Returned
from centime.shard.people.command import PublishCommand, SetCommand, new_id
from centime.shard.people.commands import changed_live
from centime.shard.politeness import PROMPT_SECONDS
from centime.store.record import NO_PAGE

SYNC_SECONDS = 1.0
HURRIED_SYNC_SECONDS = 0.05  # the same if other partitions wait for it, and no page is leased
PEER_SECONDS = 0.1  # how long messages of other partitions wait at most for visits
VIEW_SECONDS = 0.5
PACE_SECONDS = 12.0  # the window over which pages per second are counted
PATIENCE_SECONDS = 300.0  # how long a run waits for a host that has pages and is not ready
DRAIN_SECONDS = 15.0  # how long a stopping run waits for leased pages
GRACE_SECONDS = 1.0  # the same for a run whose time is over
LAST_DELIVERY_SECONDS = 5.0  # and for notices that are being delivered
FINAL_ERROR = 1e-6
STOPPED = "stopped"  # the reason if `stop` ended the run
READ_ALL = "everything known was read"
FINAL_PAYMENTS_PER_PAGE = 40
NOT_ASKED = frozenset({Outcome.LOST, Outcome.DISALLOWED, Outcome.EXCLUDED, Outcome.NO_ROBOTS, Outcome.REFUSED_ADDRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run of the crawl ends by itself."""

    pages: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Run:
    """The figures of one run so far."""

    started: float
    visits: int = 0
    read: int = 0
    wire_bytes: int = 0
    lacked: bool = False  # whether this machine had no means for a connection
    hook_failures: int = 0  # pages for which `on_page` raised
    ending: str = ""
    nothing_left: str = ""  # why a partition has no page to fetch, while others may still send it some
    notes: list[str] = field(default_factory=list)  # notes for people about visits
    recent: list[tuple[float, int, int]] = field(default_factory=list)  # time, visits, bytes

    def pace(self, now: float) -> tuple[float, float]:
        """Pages and bytes per second, over the last few seconds."""
        self.recent = [
            *(one for one in self.recent if now - one[0] < PACE_SECONDS),
            (now, self.visits, self.wire_bytes),
        ]
        since, visits, sent = self.recent[0]
        passed = max(1e-9, now - since)
        return (self.visits - visits) / passed, (self.wire_bytes - sent) / passed


def refused_in_words(refused: Mapping[str, int], outcomes: Mapping[Outcome, int], folder: Path) -> str:
    """How many links were refused, in words; empty if none."""
    counts = Counter(refused)
    counts[Reason.ROBOTS.label] = outcomes.get(Outcome.DISALLOWED, 0)
    counts[Reason.EXCLUDE.label] += outcomes.get(Outcome.EXCLUDED, 0)
    some = ", ".join(f"{count} {label}" for label, count in counts.most_common() if count)
    listed = f"`centime refused {folder}` lists them"
    urls = "URL that pages link to was" if counts.total() == 1 else "URLs that pages link to were"
    return f"; {counts.total()} {urls} refused: {some}; {listed}" if some else ""


class Engine:
    """One run of a crawl. `transport` opens the connection to the fetchers; by default it starts fetcher processes, and
    `spares` become the first of them. `clock` is the time, by default that of the opened crawl. `peers` are the other
    partitions if the crawl is one of many.
    """

    def __init__(
        self,
        opened: CrawlWriter,
        limits: Limits | None = None,
        *,
        transport: Callable[[], Transport] | None = None,
        clock: Callable[[], float] | None = None,
        on_page: str = "",
        spares: list[Spare] | None = None,
        measure: Measure | None = None,
        peers: Peers | None = None,
    ) -> None:
        self.opened = opened
        self._peers = peers
        self._granted: list[tuple[int, list[Lease]]] = []  # by the frame up to which the replica must have them
        self.shard = opened.shard
        self._clock = clock or opened.clock
        self._on_page = on_page
        self._spares = spares or []
        self._open_transport = transport or self._start_fetchers
        self._transport: Transport | None = None
        self._stop = 0
        settings = opened.settings
        self.fetching = with_secrets(settings, read_secrets(opened.folder.path))
        now = self._clock()
        self.run_facts = Run(now)
        self.limit(limits or Limits())
        self._pages = Bucket(settings.rate, now)
        self._bytes = Bucket(settings.bandwidth, now, room_seconds=10.0)
        self._budget(now)
        self._page_bytes = 20_000.0  # the mean cost of a page, learned as the crawl runs
        self._synced = now
        self._viewed = 0.0
        self._memory = MemoryWatch(opened.shard, measure=measure)
        self._short_of_memory = ""
        self._figures = FigureWriter(opened, None if peers is None else lambda: peers.certified)
        self._hubs = HubList(opened.folder.path, opened.shard.pages)
        self._log = RunLog(self)
        self._inbox = CommandInbox(opened.folder.path)
        folder = opened.folder
        self._source = f"{settings.partition}." if settings.partitions > 1 else ""  # of notices
        self._delivery = Delivery(settings.fetch_settings(), crawl=folder.path, foreign=bool(folder.foreign))

    def limit(self, limits: Limits) -> None:
        """Bounds the turns to come: pages and seconds count from now."""
        self.limits, self._visits_before, self._limited_at = limits, self.run_facts.visits, self._clock()

    def run(self, view: Callable[["Engine", float], None] = lambda engine, now: None) -> str:
        """Crawls until a limit is reached, nothing is left or `stop` is called; returns the reason in words."""
        try:
            self.start()
            shown = 0.0
            while self.step():
                now = self._clock()
                if abs(now - shown) >= VIEW_SECONDS:
                    shown = now
                    view(self, now)
            self._drain()
        finally:
            self.abandon()
        self._close()
        view(self, self._clock())
        return self.run_facts.ending

    def start(self) -> None:
        """Takes back the leases of earlier runs, carries out waiting commands and starts the fetchers."""
        self._log.began(self._clock())
        self._transport = self._open_transport()
        self.shard.returned(Returned(self._clock(), [], all=True))
        self._memory.look(self._clock())
        while self._inbox.waiting() and not self._stop:
            self._take_commands(self._clock())
            self.opened.keep_snapshots()

    def step(self, timeout: float = VIEW_SECONDS) -> bool:
        """One turn, waiting up to `timeout` seconds for visits; False when the run has come to its end."""
        if self._transport is None:
            self.start()
        now = self._clock()
        self.run_facts.ending = self._limit(now)
        wait = None if self.run_facts.ending else self._lease(now)
        if wait is None:
            return False
        self._receive(min(wait, timeout, VIEW_SECONDS, max(0.0, self._synced + self._sync_seconds - now)))
        self._keep()
        return True

    def finish(self) -> str:
        """Ends the run cleanly: waits for leased pages and writes a snapshot; returns the reason in words."""
        try:
            if self._transport is not None:
                self._drain()
        finally:
            self.abandon()
        self._close()
        return self.run_facts.ending or STOPPED

    def pause(self) -> None:
        """Waits for leased pages, returns the remaining leases and ends the fetchers; the next `step` starts others."""
        if self._transport is not None:
            try:
                self._drain()
            finally:
                self.abandon()
            self.shard.returned(Returned(self._clock(), [], all=True))
            self.shard.journal.sync()

    def abandon(self) -> None:
        """Ends the fetchers and the delivering process at once; the journal has everything that was recorded."""
        self._granted.clear()
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self._delivery.close()

    def stop(self, *_: object) -> None:
        """Asks the run to end; a second call ends it without waiting for leased pages."""
        self._stop += 1

    def resume(self) -> None:
        """Makes the engine continue after `stop`."""
        self._stop = 0

    @property
    def transport(self) -> Transport:
        """The connection to the fetchers; there is one while the run lasts."""
        if self._transport is None:
            raise RuntimeError("the run has not been started, or has ended")
        return self._transport

    def _start_fetchers(self) -> Transport:
        opened = self.opened
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(self._clock()))
        if opened.settings.partitions > 1:  # the archives of all partitions may be joined
            stamp += f"-{opened.settings.partition:04}"
        return Fetchers(
            opened.settings.worker_count,
            lambda number: fetcher_settings(
                opened.settings,
                self.fetching,
                f"{stamp}-{number:04d}",
                opened.folder,
                self._on_page,
                opened.clock.ahead,
                asks_for_addresses=self._peers is not None,
            ),
            self._spares,
            *([] if self._peers is None else [self._peers.request_addresses]),
        )

    @property
    def under_way(self) -> int:
        """How many pages are leased to fetchers."""
        waiting = sum(len(leases) for _, leases in self._granted)
        return waiting + (0 if self._transport is None else self._transport.outstanding)

    def grant(self, fetcher: int, leases: Mapping[str, AddressLease]) -> None:
        """Grants a fetcher the addresses that it has requested."""
        if isinstance(self._transport, Fetchers):
            self._transport.grant(fetcher, leases)

    def set(self, now: float, values: Mapping[str, float | None]) -> None:
        """Applies new settings as `centime set` does, and keeps them for the next run."""
        command = SetCommand(id=new_id(), time=now, values={**values})
        self._keep_settings(command)
        self.shard.command(now, command)

    def now(self) -> float:
        """The time of this run."""
        return self._clock()

    def statistics(self, now: float) -> dict[str, Any]:
        """Figures for people while the crawl runs."""
        pages, sent = self.run_facts.pace(now)
        return self.opened.statistics(now) | {
            "pages_per_second": pages,
            "bytes_per_second": sent,
            "seconds": now - self.run_facts.started,
            "memory_bytes_in_use": self._memory.used,
        }

    def top(self, count: int) -> list[dict[str, Any]]:
        """The most important pages."""
        return self.opened.top(count)

    def _limit(self, now: float) -> str:
        run, limits = self.run_facts, self.limits
        if self._stop:
            return STOPPED
        if self._peers is not None and self._peers.ending:
            return self._peers.ending
        if self._short_of_memory:
            return self._short_of_memory
        if limits.pages is not None and run.visits - self._visits_before >= limits.pages:
            return f"read the {limits.pages} pages asked for"
        if limits.seconds is not None and self._is_over(now):
            return f"the {limits.seconds:g} seconds are over"
        return ""

    def is_hurried(self) -> bool:
        """Whether the run was stopped, or its time is over: remaining work should end soon."""
        return bool(self._stop) or self.run_facts.ending == STOPPED or self._is_over(self._clock())

    def _is_over(self, now: float) -> bool:
        """Whether the time of this run is over."""
        return self.limits.seconds is not None and now - self._limited_at >= self.limits.seconds

    def _lease(self, now: float) -> float | None:
        """Hands out leases; returns how long to wait for the next ones, None when nothing is left to do."""
        self._budget(now)
        transport = self.transport
        if self._granted:
            self._hand_out()
        outstanding = self.under_way
        room = float(transport.capacity - outstanding)
        if self.limits.pages is not None:
            room = min(room, self.limits.pages + self._visits_before - self.run_facts.visits - outstanding)
        if self._peers is not None:
            room = min(room, self._peers.pages_left(self.run_facts.visits + outstanding))
        allowed = min(self._pages.left(now), self._pages_of_bytes(now, outstanding))
        count = int(min(room, allowed))
        if count > 0:
            leases = self.shard.lease(now, count, transport.capacity)
            if leases:
                self._pages.spend(len(leases))
                self.run_facts.nothing_left = ""
                # before any host is contacted: after a kill, the next run must know which hosts to leave alone
                self.shard.journal.flush()
                self._granted.append((self.shard.frame, leases))
                self._hand_out()
                return 0.0 if len(leases) == count else 0.05
        if room > 0 and allowed < 1:
            return max(0.001, self._pages.wait(), self._bytes.wait(self._page_bytes))
        ready = self.shard.earliest(now, transport.capacity)
        if outstanding == 0 and count > 0 and ready - now > PATIENCE_SECONDS and not self._is_due_in_time(now, ready):
            self.run_facts.nothing_left = self._nothing_left(now, ready)
            if self._peers is not None:
                return VIEW_SECONDS
            self.run_facts.ending = self.run_facts.nothing_left
            return None
        return max(0.001, ready - now) if count > 0 else VIEW_SECONDS

    def _hand_out(self) -> None:
        """Hands out the leases that are stored elsewhere too, so that a successor of this partition would know them."""
        stored = float("inf") if self._peers is None else self._peers.stored
        while self._granted and self._granted[0][0] <= stored:
            _, leases = self._granted.pop(0)
            self.transport.hand_out(leases, self.shard.lanes_of(leases))

    def _budget(self, now: float) -> None:
        """Follows the budget, or the fill rate until the first fill is over."""
        settings, filling = self.shard.settings, self.shard.is_filling
        self._pages.change(settings.fill_rate if filling else settings.rate, now)
        self._bytes.change(None if filling else settings.bandwidth, now)

    def _pages_of_bytes(self, now: float, outstanding: int) -> float:
        """How many more pages the budget of bytes allows. A leased page has its share reserved, but only as long as
        a prompt host needs: a host that sends nothing must not stop the others.
        """
        left = self._bytes.left(now) / self._page_bytes
        return left - outstanding + self.shard.placement.leases.older(PROMPT_SECONDS, now)

    def _is_due_in_time(self, now: float, ready: float) -> bool:
        """Whether to wait: the crawl refreshes what it has read, also pages that are gone and may return, or a page is
        due before the run's time is over.
        """
        if self.shard.settings.refreshes() and self.shard.ever_read:
            return True
        return (
            self.limits.seconds is not None
            and min(ready, self.shard.placement.retries.earliest()) <= self._limited_at + self.limits.seconds
        )

    def _nothing_left(self, now: float, ready: float) -> str:
        waiting, again = len(self.shard.placement.frontier), len(self.shard.placement.retries)
        if waiting:
            wait = f"{ready - now:.0f} s"
            return f"no host is ready: {waiting} pages wait for their hosts, the first for {wait}; run again later"
        if again:
            due = self.shard.placement.retries.earliest() - now
            failed = "1 page failed and is" if again == 1 else f"{again} pages failed and are"
            failed += f" due again, the first in {due:.0f} s"
            return f"everything known was read, but {failed}; run again later{self._refused()}"
        if not self.shard.ever_read:
            return f"nothing could be read: {self.first_seed()}"
        return f"{READ_ALL}{self._kept_out()}{self._refused()}"

    def _kept_out(self) -> str:
        """How many pages the bound on pages dropped, in words; empty if none."""
        dropped = self.shard.bounds.dropped
        return f", but {dropped} pages were dropped because of --most-pages or --most-memory" if dropped else ""

    def _refused(self) -> str:
        """How many links were refused, in words; empty if none."""
        return refused_in_words(self.shard.refusals.facts()["refused"], self.shard.outcomes, self.opened.folder.path)

    def first_seed(self) -> str:
        """The outcome of the first seed, in words."""
        seed, pages = self.shard.settings.seeds[0], self.shard.pages
        page = pages.table.find_one(fingerprint(seed))
        record = pages.last(page) if page is not None else None
        if record is not None and record.redirect not in (NO_PAGE, page) and pages.last(record.redirect) is not None:
            seed, record = pages.texts.get(record.redirect), pages.last(record.redirect)
        if record is None:
            return f"{seed} was not fetched"
        return f"{seed}: {record.outcome.name.lower().replace('_', ' ')}: {record.detail}".removesuffix(": ")

    def _end_if_lost(self, detail: str) -> None:
        """Ends the crawl if a visit was lost because of a full disk or a damaged file: the next one would be lost
        too."""
        name, _, sentence = detail.partition(": ")
        with damage_closes(self.opened.folder.path):
            for kind in (NoRoom, DamagedFile):
                if name == kind.__name__:
                    raise kind(sentence)

    def _receive(self, timeout: float) -> None:
        transport = self.transport
        if self._peers is not None:
            if not transport.outstanding:
                self._peers.wait(timeout)
            timeout = min(timeout, PEER_SECONDS) if transport.outstanding else 0.0
        packed, lost = transport.receive(timeout)
        now = self._clock()
        if lost:
            self._log.lost(len(lost))
            self.shard.returned(Returned(now, sorted(lost)))
        if not packed:
            return
        visits = self.shard.record(now, packed)
        transport.release([visit.page for visit in visits])
        self._log.visited(visits)
        run = self.run_facts
        for visit in visits:
            self._hubs.note(visit)
            if visit.outcome is Outcome.LOST:
                self._end_if_lost(visit.detail)
            if visit.outcome is Outcome.LOST and visit.detail.startswith(LACKING) and not run.lacked:
                run.lacked = True
                run.notes.append(f"{visit.detail}; pages wait, and no server is counted as failed")
            if visit.outcome not in NOT_ASKED:
                run.visits += 1
                run.read += visit.outcome == Outcome.READ
                if visit.detail.startswith(WITHOUT_TLS):
                    run.notes.append(visit.detail)
                run.hook_failures += visit.detail.startswith(FAILED)
                run.wire_bytes += visit.wire_bytes
                self._bytes.spend(visit.wire_bytes)
                self._page_bytes += (visit.wire_bytes - self._page_bytes) / 50

    def _keep(self) -> None:
        """Writes frames to disk, starts snapshots that are due, and takes commands now and then."""
        now = self._clock()
        synced = now - self._synced >= self._sync_seconds
        if synced:
            self.opened.must_be_there()
            self.shard.journal.sync()
            self._synced = now
        else:
            self.shard.journal.flush()
        if self._peers is not None:
            self._peers.turn(now, synced=synced)
        self.opened.keep_snapshots()
        self._short_of_memory = self._memory.look(now, writing=self.opened.is_writing)
        self._figures.look(now)
        if now - self._viewed >= VIEW_SECONDS:
            self._viewed = now
            self._take_commands(now)

    @property
    def _sync_seconds(self) -> float:
        hurries = self._peers is not None and self._peers.hurries and not self.transport.outstanding
        return HURRIED_SYNC_SECONDS if hurries else SYNC_SECONDS

    def _take_commands(self, now: float) -> None:
        """Carries out the commands that have come, and hands due notices to the delivering process."""
        taken = [
            one for one in self._inbox.take() if not (isinstance(one[1], PublishCommand) and self.opened.is_behind)
        ]
        orders = []
        for path, command in taken:
            reason = ""
            try:
                if isinstance(command, SetCommand) and command.id not in self.shard.requests.recent:
                    self._keep_settings(command)
                self.shard.command(now, command)
            except (BadInput, BadSetting) as trouble:
                reason = str(trouble)
                self._inbox.refuse(path, reason)
            orders.append((command, reason))
        if taken:
            self.shard.journal.sync()
            log_orders(self.opened.folder.path, orders, now)
            self._log.ordered(orders, now)
            self._inbox.done(path for path, _ in taken if path.exists())
        self._hubs.write()
        self._deliver(now)

    def _deliver(self, now: float, timeout: float = 0.0) -> None:
        self._delivery.deliver(self.shard.requests.subscriptions.due(now, self._source), now)
        for name, up_to in self._delivery.receive(now, timeout):
            self.shard.delivered(now, name, up_to)
        write_troubles(self.opened.folder.path, self._delivery.troubles)
        self._log.look(now, self._delivery.troubles)

    def _keep_settings(self, command: SetCommand) -> None:
        """Keeps new settings in the folder before the shard applies them, so that the next run begins with them."""
        self.opened.folder.keep_settings(changed_live(self.shard.settings, command).facts())

    def _drain(self) -> None:
        now = self._clock()
        until = now + (GRACE_SECONDS if self._is_over(now) else DRAIN_SECONDS)
        while self.transport.outstanding and self._clock() < until and self._stop < 2:
            self._receive(0.1)
            self._keep()
        until = self._clock() + LAST_DELIVERY_SECONDS
        self._deliver(self._clock())
        while self._delivery.in_hand and self._clock() < until and self._stop < 2:
            self._deliver(self._clock(), timeout=0.1)

    def _close(self) -> None:
        self.shard.returned(Returned(self._clock(), [], all=True))
        if self._peers is None:
            self.shard.settle(FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE * max(1, self.shard.ledger.pages))
        else:
            self._peers.settle()
        self._figures.close(self._clock())
        self._hubs.write()
        self._log.ended(self._clock())
        self.opened.close()
