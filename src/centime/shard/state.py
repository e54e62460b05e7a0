"""The state of a shard: what the frames of the journal are folded into. It cannot write a journal; `Shard` adds that.

Only functions of this state and of a frame change it: `joining` makes URLs known pages, `filing` applies visits,
`queueing` decides where pages wait and leases them, `commands` carries out people's commands, `dropping` takes the
least important pages out of the frontier when there are too many.
"""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.ledger.accounts import PROXY
from centime.ledger.partial import PartialLedger
from centime.ledger.protocol import PageLedger
from centime.model.outcome import Outcome
from centime.model.row_batch import Pages
from centime.settings.crawl import CrawlSettings
from centime.settings.want import want_of
from centime.shard.host_table import Hosts
from centime.shard.interest.interest import Interest
from centime.shard.limits.bounds import Bounds
from centime.shard.limits.refusals import Refusals
from centime.shard.limits.trap_evidence import TrapLimits
from centime.shard.pages import KnownPages
from centime.shard.people.requests import Requests
from centime.shard.placement import Placement
from centime.shard.politeness import HostPoliteness
from centime.shard.refreshing import Refreshing
from centime.shard.requisites import Requisites
from centime.shard.transfers.transfers import Transfers
from centime.shard.weights.link_kinds import LinkKinds
from centime.store.link_rows import DiskRows

LEASE_SECONDS = 600.0
LEASES_WITHOUT_DELAY = 16  # of one host at a time, if the delay is 0
COUNTERS = ("wire_bytes", "late_visits", "read_count", "since_advance", "refreshed_until")
RULES = 4  # a new number whenever the same frames would lease other pages; 0: before there were numbers
FILLED = 0.95  # of the known pages were visited: the first fill of a crawl is over


class ShardState:
    """One partition of a crawl."""

    def __init__(self, settings: CrawlSettings, pages: KnownPages, ledger: PageLedger) -> None:
        self.frame = 0  # index of the journal frame that comes next
        self.chain = 0  # of the frames before it
        self.pages = pages
        self.hosts = Hosts()
        self.placement = Placement(lease_seconds=LEASE_SECONDS)
        self.refreshing = Refreshing(settings, self.hosts_of_pages)
        self.requests = Requests()
        self.limits = TrapLimits()
        self.refusals = Refusals()
        self.bounds = Bounds()
        self.requisites = Requisites()
        self.outcomes: Counter[Outcome] = Counter()
        self.wire_bytes = 0
        self.late_visits = 0
        self.read_count = 0  # pages whose last visit found them
        self.visited_count = 0  # pages that were visited at least once, with any outcome
        self.filled = False  # the first fill is over
        self.since_advance = 0  # visits since the ledger paid debts
        self.refreshed_until = 0  # place of the next record that `refresh-after` examines
        self.latest = 0.0  # the latest time of all frames
        self.rules = RULES  # the rules by which the next frames lease pages
        self.boot, self.ahead = "", 0.0  # the clock of the last run (`Clocked`)
        self.ceilings: list[tuple[int, float]] = []  # records before this place are no later than this time
        self.imports: dict[str, int] = {}  # key of an imported file -> the position up to which it was imported
        self.politeness = HostPoliteness(settings)
        self.paid: list[npt.NDArray[np.int32]] = []  # pages whose inflow changed since the frontier was updated
        self.all_paid = False
        self.interest = None if settings.want is None else Interest(want_of(settings.want), settings.damping)
        self.link_kinds = None if settings.link_weight is None else LinkKinds(settings.link_weight)
        self.settings = settings
        self.use_ledger(ledger)
        self.apply_settings(settings)

    def apply_settings(self, settings: CrawlSettings) -> None:
        """Applies new settings while no lease is out."""
        self.placement.frontier.allow(1 if settings.delay else LEASES_WITHOUT_DELAY)
        self.apply_live_settings(settings)

    def apply_live_settings(self, settings: CrawlSettings) -> None:
        """Applies settings that differ only in what can change while leases are out."""
        if settings.focus != self.settings.focus:
            for number, rule in enumerate(settings.focus_rules(), 1):
                self.ledger.set_focus(number, rule.weight)
        if settings.continuous and settings.greatest_times() != self.settings.greatest_times():
            self.requests.enlisted, self.requests.enlist_end = 0, self.pages.count
        self.settings = settings
        self.limits.configure(settings)
        self.bounds.given = settings.most_pages
        self.politeness.configure(settings)
        self.refreshing.configure(settings)
        self.placement.frontier.set_shares(settings.level_shares())
        self.focus = settings.focus_patterns()
        banned = {known for name in settings.ban if (known := self.hosts.find(name)) is not None}
        for host in sorted(self.requests.banned - banned):
            self.placement.frontier.unblock(host)
        for host in sorted(banned - self.requests.banned):
            self.placement.frontier.block(host)
        self.requests.banned = banned

    def see(self, frame: Any) -> None:
        """Keeps the latest time of all frames."""
        self.latest = max(self.latest, getattr(frame, "now", 0.0))

    @property
    def is_filling(self) -> bool:
        """Whether the crawl uses its fill rate: not enough of its known pages were visited yet."""
        return self.settings.continuous and self.settings.fill_rate is not None and not self.filled

    @property
    def ever_read(self) -> bool:
        """Whether a page was ever read, even if none is there any more."""
        return self.read_count > 0 or self.outcomes[Outcome.READ] > 0

    def count_first(self, visits: int) -> None:
        """Counts first visits of pages. A finished first fill never begins again."""
        self.visited_count += visits
        self.filled = self.filled or self.visited_count >= FILLED * (self.pages.count - self.bounds.dropped)

    def hosts_of_pages(self, pages: Pages) -> npt.NDArray[np.uint32]:
        """The numbers of the hosts of pages."""
        hosts: npt.NDArray[np.uint32] = self.pages.origins_of(pages)["host"]
        return hosts

    def value(self, pages: Pages) -> npt.NDArray[np.float64]:
        """The values that decide about pages, in units of importance: importance, unless the crawl wants some pages."""
        importance = self.ledger.importance(pages)
        return importance if self.interest is None else self.interest.value(pages, importance)

    def unread_keys(self, pages: Pages) -> npt.NDArray[np.float32]:
        """The keys of unread pages in the frontier."""
        return self.ledger.inflow(pages) if self.interest is None else self.value(pages).astype(np.float32)

    def class_offsets(self) -> npt.NDArray[np.float64]:
        """The offsets of the keys of unread pages of each focus class."""
        shares = self.ledger.class_shares()
        return shares if self.interest is None else np.zeros_like(shares)

    def key_unit(self) -> float:
        """The importance of one unit of the key of an unread page."""
        return self.ledger.unit() if self.interest is None else 1.0

    def use_ledger(self, ledger: PageLedger) -> None:
        """Keeps the money of all pages in this ledger from now on."""
        self.ledger = ledger
        ledger.watch = self._watch
        self.transfers: Transfers | None = None  # of a partition of a cluster
        if isinstance(ledger, PartialLedger):
            self.transfers = transfers = Transfers(ledger, self.settings.partition, self.settings.partitions)
            self.pages.rows.known = lambda: PROXY + transfers.table.count

    def _watch(self, paid: npt.NDArray[np.int32] | None) -> None:
        if paid is None:
            self.all_paid = True
        else:
            self.paid.append(paid)

    # ---- for snapshots

    def counters(self) -> dict[str, Any]:
        """The counters of the state, for a snapshot."""
        return {name: getattr(self, name) for name in COUNTERS} | {
            "outcomes": {str(int(key)): count for key, count in self.outcomes.items()},
            "latest": self.latest,
            "ceilings": self.ceilings,
            "clock": [self.boot, self.ahead],
            "bounds": self.bounds.state(),
            "rules": self.rules,
            "fill": [self.visited_count, self.filled],
            "imports": self.imports,
        }

    def set_counters(self, counters: dict[str, Any]) -> None:
        """Restores the counters of a snapshot."""
        for name in COUNTERS:
            setattr(self, name, counters[name])
        self.latest = counters.get("latest", self.pages.last_time())  # versions before 0.2 did not store it
        self.rules = counters.get("rules", 0)
        self.boot, self.ahead = counters.get("clock", ("", 0.0))
        self.ceilings = [(int(place), float(time)) for place, time in counters.get("ceilings", [])]
        self.bounds.restore(counters.get("bounds", {}))
        self.imports = {str(key): int(position) for key, position in counters.get("imports", {}).items()}
        known = np.arange(self.pages.count, dtype=np.int64)
        self.visited_count, self.filled = counters.get("fill") or (
            int(np.count_nonzero(self.pages.records.visited(known))),
            True,  # versions before 0.2 had no first fill
        )
        self.outcomes = Counter({Outcome(int(key)): count for key, count in counters["outcomes"].items()})

    def replace_rows(self, rows: DiskRows) -> None:
        """Uses another file with the same link rows, and closes the old one."""
        old, self.pages.rows = self.pages.rows, rows
        self.ledger.use_rows(rows)
        old.close()
