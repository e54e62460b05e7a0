"""The shard: one partition of the crawl as a state machine. Ledger, schedule and store in one synchronous object
without network I/O.

    state = fold(journal)        every change is one frame; the same frames give the same state, bit for bit

Time is an argument of whatever needs it and part of the frame. What goes in: URLs found (`found`), visits (`record`),
leases of fetchers that died (`returned`), debts to be paid (`settle`), orders from outside (`order`), notices that
arrived (`delivered`). What comes out: leases, the most important page of all hosts that may be asked first. A call
appends its frame to the journal and then does what the frame says; `fold` does the same for a frame that is read back.

Guarantees: a visit that `sync` returned for is never lost. Money is conserved by the ledger. A lease ends once: a visit
that comes after its lease was given to somebody else is counted and left alone.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.errors import JournalMismatch
from centime.settings.crawl import CrawlSettings, settings_from
from centime.shard import queueing
from centime.shard.command import Command, SetCommand, decode_command, pack_command
from centime.shard.commands import carry_out, changed_live
from centime.shard.filing import take_visits
from centime.shard.joining import take_seeded
from centime.shard.message import (
    Commanded,
    Configured,
    Delivered,
    Granted,
    Lease,
    Returned,
    Seeded,
    Settled,
    Visit,
    Visits,
    pack,
)
from centime.shard.pages import KnownPages
from centime.shard.state import ShardState
from centime.store.journal import Journal

SEEDED, VISITS, GRANTED, RETURNED, SETTLED, CONFIGURED, COMMANDED, DELIVERED = 1, 2, 3, 4, 5, 6, 7, 8  # kinds of frames
_FRAMES: dict[int, Any] = {
    SEEDED: Seeded,
    VISITS: Visits,
    GRANTED: Granted,
    RETURNED: Returned,
    SETTLED: Settled,
    CONFIGURED: Configured,
    COMMANDED: Commanded,
    DELIVERED: Delivered,
}


class Shard(ShardState):
    """One partition of a crawl, with its journal."""

    def __init__(
        self, settings: CrawlSettings, journal: Journal, pages: KnownPages, ledger: ExactLedger | OpicLedger
    ) -> None:
        super().__init__(settings, pages, ledger)
        self.journal = journal

    # ---- what goes in

    def configure(self, now: float, settings: CrawlSettings) -> None:
        """Goes on with other settings from now on; leases that are out are taken back."""
        self.returned(Returned(now, [], all=True))
        self.journal.append(CONFIGURED, pack(Configured(now, msgspec.json.encode(settings.facts()).decode())))
        self.apply_settings(settings)

    def seed(self, frame: Seeded) -> int:
        """Makes URLs known that came from outside; how many were new."""
        self.journal.append(SEEDED, pack(frame))
        return take_seeded(self, frame)

    def lease(self, now: float, count: int) -> list[Lease]:
        """The next pages to be read, the most important first."""
        pages, moved = queueing.lease(self, now, count)
        if len(pages) or moved:
            self.journal.append(GRANTED, pack(Granted(now, count, pages.tolist())))
        return [
            self._lease_of(page, url)
            for page, url in zip(pages.tolist(), self.pages.texts.get_many(pages), strict=True)
        ]

    def hosts_of(self, leases: Sequence[Lease]) -> list[int]:
        """The numbers of the hosts of leases."""
        numbers = np.fromiter((lease.page for lease in leases), dtype=np.int64, count=len(leases))
        return self.hosts_of_pages(numbers).tolist()

    def lanes_of(self, leases: Sequence[Lease]) -> list[int]:
        """Numbers by which leases are divided among fetchers: the same for all hosts of an address that must be spared,
        so that one fetcher keeps its requests apart.
        """
        return [self.politeness.lanes.get(host, host) for host in self.hosts_of(leases)]

    def record(self, now: float, visits: Sequence[bytes]) -> list[Visit]:
        """Records visits as the fetchers packed them; those that counted."""
        self.journal.append(VISITS, pack(Visits(now, [msgspec.Raw(visit) for visit in visits])))
        return take_visits(self, now, visits)

    def returned(self, frame: Returned) -> None:
        """Takes back leases that nobody works on any more."""
        self.journal.append(RETURNED, pack(frame))
        queueing.take_back(self, frame)

    def command(self, now: float, command: Command) -> bool:
        """Carries out a command from outside; False if it was carried out before. BadSetting: it cannot be, and
        nothing has changed.
        """
        if command.id in self.requests.recent:
            return False
        if isinstance(command, SetCommand):
            changed_live(self.settings, command)  # refuses it before it is in the journal
        self.journal.append(COMMANDED, pack(Commanded(now, pack_command(command))))
        carry_out(self, now, command)
        return True

    def delivered(self, now: float, name: str, up_to: int) -> None:
        """The notices of a subscription have arrived, up to that number."""
        self.journal.append(DELIVERED, pack(Delivered(now, name, up_to)))
        self.requests.subscriptions.delivered(name, up_to, now)

    def settle(self, error: float, payments: int) -> None:
        """Pays debts until the certified error is at most `error`, so many payments at most."""
        frame = Settled(error, payments)
        self.journal.append(SETTLED, pack(frame))
        self._settle(frame)

    def earliest(self, now: float) -> float:
        """When something may be handed out, or becomes due."""
        return queueing.earliest(self, now)

    def fold(self, kind: int, payload: bytes) -> None:
        """Does again what a frame of the journal says."""
        frame = msgspec.msgpack.decode(payload, type=_FRAMES[kind])
        match frame:
            case Seeded():
                take_seeded(self, frame)
            case Visits():
                take_visits(self, frame.now, [bytes(raw) for raw in frame.visits])
            case Granted():
                pages, _ = queueing.lease(self, frame.now, frame.count)
                if pages.tolist() != frame.pages:
                    raise JournalMismatch(
                        f"the journal granted pages {frame.pages[:5]}, its replay {pages[:5].tolist()}"
                    )
            case Returned():
                queueing.take_back(self, frame)
            case Settled():
                self._settle(frame)
            case Configured():
                self.apply_settings(settings_from(msgspec.json.decode(frame.settings), where="the journal"))
            case Commanded():
                carry_out(self, frame.now, decode_command(frame.order))
            case Delivered():
                self.requests.subscriptions.delivered(frame.name, frame.up_to, frame.now)

    def _lease_of(self, page: int, url: str) -> Lease:
        record = self.pages.last(page)
        depth = int(self.pages.origin(page)["depth"])
        watch = self.requests.subscriptions.with_xpath(url)
        if record is None or not record.signature:
            return Lease(page, url, depth, watch=watch)
        return Lease(page, url, depth, record.etag, record.modified, record.digest, watch)

    def _settle(self, frame: Settled) -> None:
        if isinstance(self.ledger, ExactLedger):
            self.ledger.settle(error=frame.error, payments=frame.payments)
        queueing.reorder(self)
