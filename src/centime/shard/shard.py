"""The shard: one partition of the crawl as a state machine. Ledger, placement and store in one synchronous object
without network I/O.

    state = fold(journal)        every change is one frame; the same frames give the same state, bit for bit

Time is an argument of every call that needs it, and part of the frame. Inputs: seed URLs (`seed`), visits (`record`),
leases of dead fetchers (`returned`), payments (`settle`), people's commands (`command`), delivered notices
(`delivered`), settings (`configure`), memory (`bound`), visits of other programs (`imported`), and in a cluster batches
of other partitions (`receive`) and orders to close one for them (`flush`). Output: leases, the most important page
among all hosts ready to fetch first. Each call appends its frame to the journal and then does what the frame says;
`fold.py` does the same for a frame that is read back.

Guarantees: a visit is never lost once `journal.sync` has returned for it. The ledger conserves money. A lease ends
once: a visit that arrives after its lease was given to another fetcher is counted and ignored.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from centime.change.noise import Noise
from centime.ledger.protocol import PageLedger
from centime.model.ids import HostId, PageId, host_ids, page_ids
from centime.settings.crawl import CrawlSettings
from centime.shard import queueing
from centime.shard.filing import take_visits
from centime.shard.fold import (
    BOUNDED,
    CLOCKED,
    COMMANDED,
    CONFIGURED,
    DELIVERED,
    FLUSHED,
    GRANTED,
    IMPORTED,
    RECEIVED,
    RETURNED,
    SEEDED,
    SETTLED,
    VISITS,
    bound,
    configure,
    settle,
)
from centime.shard.importing import Taken, take_imported
from centime.shard.joining import take_seeded
from centime.shard.message import (
    Bounded,
    Clocked,
    Commanded,
    Configured,
    Delivered,
    Flushed,
    Granted,
    Imported,
    Lease,
    Received,
    Returned,
    Role,
    Seeded,
    Settled,
    Visit,
    Visits,
    pack,
)
from centime.shard.moving import set_clock
from centime.shard.pages import KnownPages
from centime.shard.people.command import Command, SetCommand, pack_command
from centime.shard.people.commands import carry_out, changed_live
from centime.shard.politeness import doubts, patience_with
from centime.shard.presence import was_present
from centime.shard.state import RULES, ShardState
from centime.shard.transfers.exchanging import apply_batch, close_batch, must_fit, transfers_of
from centime.store.journal import Journal
from centime.store.record import Mark


class Shard(ShardState):
    """One partition of a crawl, with the journal that it writes."""

    def __init__(self, settings: CrawlSettings, journal: Journal, pages: KnownPages, ledger: PageLedger) -> None:
        super().__init__(settings, pages, ledger)
        self.journal = journal

    def configure(self, now: float, settings: CrawlSettings) -> None:
        """Applies new settings; takes all leases back first."""
        self.returned(Returned(now, [], all=True))
        self._append(CONFIGURED, Configured(now, msgspec.json.encode(settings.facts()).decode()))
        configure(self, now, settings)

    def bound(self, now: float, machine: int, pressed: int = 0) -> None:
        """Sets how many pages the machine has memory for, and how many are allowed while memory is short."""
        frame = Bounded(now, machine, pressed)
        self._append(BOUNDED, frame)
        bound(self, frame)

    def seed(self, frame: Seeded) -> int:
        """Adds URLs from outside; returns how many were new."""
        self._append(SEEDED, frame)
        return take_seeded(self, frame)

    def lease(self, now: float, count: int, slots: int = 0) -> list[Lease]:
        """Leases for up to `count` pages to fetch next, the most important first. `slots` is how many leases the
        fetchers can hold, of which slow hosts have only a part; 0 for no bound.
        """
        pages, moved = queueing.lease(self, now, count, slots)
        numbers = page_ids(pages)
        if numbers or moved:
            self._append(GRANTED, Granted(now, count, numbers, slots))
        return [self.lease_of(page, url) for page, url in zip(numbers, self.pages.texts.get_many(pages), strict=True)]

    def lanes_of(self, leases: Sequence[Lease]) -> list[int]:
        """The number by which each lease is assigned to a fetcher: equal for all hosts of an address with a delay, so
        that one fetcher spaces their requests.
        """
        numbers = np.fromiter((lease.page for lease in leases), dtype=np.int64, count=len(leases))
        hosts = host_ids(self.hosts_of_pages(numbers))
        return [self.politeness.lanes.get(host, host) for host in hosts]

    def record(self, now: float, visits: Sequence[bytes]) -> list[Visit]:
        """Records visits as the fetchers packed them; returns those whose lease was still held."""
        self._append(VISITS, Visits(now, [msgspec.Raw(visit) for visit in visits]))
        return take_visits(self, now, visits)

    def imported(self, frame: Imported) -> Taken:
        """Records visits that other programs made; returns the results. No lease may be out."""
        self._append(IMPORTED, frame)
        return take_imported(self, frame)

    def returned(self, frame: Returned) -> None:
        """Takes back leases that no fetcher works on any more; with all of them, the rules of this version apply from
        now on."""
        if frame.all:
            self.rules = RULES
            frame = msgspec.structs.replace(frame, rules=RULES)
        self._append(RETURNED, frame)
        queueing.take_back(self, frame)

    def command(self, now: float, command: Command) -> bool:
        """Carries out a command; returns False if it was carried out before. BadSetting if it is refused: then nothing
        has changed.
        """
        if command.id in self.requests.recent:
            return False
        if isinstance(command, SetCommand):
            changed_live(self.settings, command)  # refuses it before it is in the journal
        self._append(COMMANDED, Commanded(now, pack_command(command)))
        carry_out(self, now, command)
        return True

    def delivered(self, now: float, name: str, up_to: int) -> None:
        """Records that the notices of a subscription up to the number `up_to` were delivered."""
        self._append(DELIVERED, Delivered(now, name, up_to))
        self.requests.subscriptions.delivered(name, up_to, now)

    def set_clock(self, frame: Clocked) -> None:
        """Uses another clock from now on; moves the times that pages and hosts wait for if the clock was set."""
        self._append(CLOCKED, frame)
        set_clock(self, frame)

    def settle(self, error: float, payments: int) -> None:
        """Pays debts until the certified error is at most `error`, with at most `payments` payments."""
        frame = Settled(error, payments)
        self._append(SETTLED, frame)
        settle(self, frame)

    def flush(self, now: float, partition: int, threshold: int = 1) -> bool:
        """Closes a batch of transfers for a partition, with the proxies that have `threshold` units or more to send;
        returns False if there was nothing to send.
        """
        channel = transfers_of(self).outgoing.get(partition)
        if channel is None:
            return False
        frame = Flushed(now, partition, threshold)
        self._append(FLUSHED, frame)
        return close_batch(self, frame, self.frame - 1)

    def receive(self, now: float, partition: int, number: int, batch: bytes) -> None:
        """Applies the next batch of a partition; TransferBroken, and nothing has changed, if it is another one."""
        frame = Received(now, partition, number, batch)
        must_fit(self, frame)
        self._append(RECEIVED, frame)
        apply_batch(self, frame)

    def earliest(self, now: float, slots: int = 0) -> float:
        """When the next page can be leased or becomes due."""
        return queueing.earliest(self, now, slots)

    def _append(self, kind: int, frame: Any) -> None:
        self.journal.append(kind, pack(frame))
        self.see(frame)
        self.frame, self.chain = self.frame + 1, self.journal.chain

    def lease_of(self, page: PageId, url: str) -> Lease:
        """The lease of a page: all that a fetcher must know to visit it."""
        record = self.pages.last(page)
        origin = self.pages.origin(page)
        depth = int(origin["depth"])
        watch = self.requests.subscriptions.with_condition(url)
        host = self.hosts[HostId(int(origin["host"]))]
        patience = patience_with(host)
        role, hops, nesting = Role(int(origin["role"])), int(origin["hops"]), self.requisites.nesting_of(page)
        if page in self.requests.sitemaps:
            role |= Role.SITEMAP
        state = self.pages.compared_by(record) if record is not None else b""
        doubt = doubts(host)
        lease = Lease(
            page,
            url,
            depth,
            watch=watch,
            patience=patience,
            role=role,
            hops=hops,
            nesting=nesting,
            advice=(host.noise or Noise()).advice(page, first=not state, twins=self.settings.refreshes()),
        )
        if record is None or not record.signature:
            return lease
        if Mark.FOREIGN in record.marks:  # only its validators are usable here
            return msgspec.structs.replace(lease, etag=record.etag, modified=record.modified)
        etag, modified = (record.etag, record.modified) if doubt or not host.lies else ("", "")
        if not was_present(record):
            etag = modified = ""  # of an error page or a redirect: a 304 would say nothing about the page
        if role & Role.SITEMAP and Mark.SITEMAP not in record.marks:  # it was read before it was announced as a sitemap
            etag = modified = ""
        if watch and self.requests.subscriptions.unknown(page, watch):
            etag = modified = ""  # the server must send the page, so that the condition is evaluated for the first time
        return msgspec.structs.replace(
            lease,
            etag=etag,
            modified=modified,
            digest=record.digest,
            signature=record.signature,
            state=state,
            doubt=doubt,
            noarchive=Mark.NOARCHIVE in record.marks,
        )
