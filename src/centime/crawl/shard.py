"""The shard: one partition of the crawl as a state machine. Ledger, schedule and store in one synchronous object without network I/O.

    state = fold(journal)        every change is one frame; the same frames give the same state, bit for bit

Time is an argument of whatever needs it and part of the frame. What goes in: URLs found (`found`), visits (`record`), leases of fetchers
that died (`returned`), debts to be paid (`settle`). What comes out: leases, the most important page of all hosts that may be asked first.
A call appends its frame to the journal and then does what the frame says; `fold` does the same for a frame that is read back.

Guarantees: a visit that `sync` returned for is never lost. Money is conserved by the ledger. A lease ends once: a visit that comes after
its lease was given to somebody else is counted and left alone.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from centime.crawl.hosts import Hosts
from centime.crawl.manners import Manners
from centime.crawl.message import Found, Granted, Lease, Returned, Settled, Told, Visit, Visits, pack, unpack_visit
from centime.crawl.pages import KnownPages
from centime.crawl.rows import tidy_rows
from centime.crawl.settings import CrawlSettings, settings_from
from centime.discover.traps import TrapLimits
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.address import fingerprint, host_of
from centime.model.errors import JournalMismatch
from centime.model.outcome import Outcome, PageKind
from centime.model.rows import Pages
from centime.schedule.frontier import Frontier
from centime.schedule.kind import DISCOVERY, REFRESH, kinds_of
from centime.schedule.leases import Leases
from centime.schedule.retry import Retries, retry_time
from centime.store.journal import Journal
from centime.store.record import Record
from centime.store.rows import DiskRows

FOUND, VISITS, GRANTED, RETURNED, SETTLED, TOLD = 1, 2, 3, 4, 5, 6  # kinds of frames
VISITS_PER_ADVANCE = 64  # the ledger pays debts after so many visits: a call costs a little whatever it pays
THRESHOLD = 0.03  # it pays what is above so many times the mean importance
PAYMENTS_PER_VISIT = 16  # and so many payments a visit at most: what a page costs must not depend on the size of the crawl
LEASE_SECONDS = 600.0
LEASES_WITHOUT_DELAY = 16  # of one host at a time, where no delay is asked for
COUNTERS = ("wire_bytes", "late_visits", "read_count", "since_advance", "refreshed_until")
NO_RETRY = frozenset({Outcome.BUSY, Outcome.NO_ROBOTS, Outcome.LOST})  # passing, and not the page's fault: it waits in the frontier
_FRAMES: dict[int, Any] = {FOUND: Found, VISITS: Visits, GRANTED: Granted, RETURNED: Returned, SETTLED: Settled, TOLD: Told}


class Shard:
    """One partition of a crawl."""

    def __init__(self, settings: CrawlSettings, journal: Journal, pages: KnownPages, ledger: ExactLedger | OpicLedger) -> None:
        self.journal = journal
        self.pages = pages
        self.ledger = ledger
        self.hosts = Hosts()
        self.frontier = Frontier()
        self.leases = Leases(timeout_seconds=LEASE_SECONDS)
        self.retries = Retries()
        self.limits = TrapLimits()
        self.outcomes: Counter[Outcome] = Counter()
        self.wire_bytes = 0
        self.late_visits = 0
        self.read_count = 0  # pages that were there when they were last visited
        self.since_advance = 0
        self.refreshed_until = 0  # place of the next record to be looked at for `refresh-after`
        self._paid: list[npt.NDArray[np.int32]] = []
        self._all_paid = False
        self.manners = Manners(settings)
        ledger.watch = self._watch
        self._configure(settings)

    # ---- what goes in

    def tell(self, now: float, settings: CrawlSettings) -> None:
        """Goes on with other settings from now on; leases that are out are taken back."""
        self.returned(Returned(now, [], all=True))
        self.journal.append(TOLD, pack(Told(now, msgspec.json.encode(settings.facts()).decode())))
        self._configure(settings)

    def found(self, frame: Found) -> int:
        """Makes URLs known that came from outside; how many were new."""
        self.journal.append(FOUND, pack(frame))
        return self._found(frame)

    def lease(self, now: float, count: int) -> list[Lease]:
        """The next pages to be read, the most important first."""
        pages, moved = self._lease(now, count)
        if len(pages) or moved:
            self.journal.append(GRANTED, pack(Granted(now, count, pages.tolist())))
        return [self._lease_of(page, url) for page, url in zip(pages.tolist(), self.pages.texts.get_many(pages), strict=True)]

    def hosts_of(self, leases: Sequence[Lease]) -> list[int]:
        """The numbers of the hosts of leases."""
        numbers = np.fromiter((lease.page for lease in leases), dtype=np.int64, count=len(leases))
        found: list[int] = self.pages.origins_of(numbers)["host"].tolist()
        return found

    def lanes_of(self, leases: Sequence[Lease]) -> list[int]:
        """Numbers by which leases are divided among fetchers: the same for all hosts of an address that must be spared, so that one
        fetcher keeps its requests apart."""
        return [self.manners.lanes.get(host, host) for host in self.hosts_of(leases)]

    def record(self, now: float, visits: Sequence[bytes]) -> list[Visit]:
        """Records visits as the fetchers packed them; those that counted."""
        self.journal.append(VISITS, pack(Visits(now, [msgspec.Raw(visit) for visit in visits])))
        return self._record(now, visits)

    def returned(self, frame: Returned) -> None:
        """Takes back leases that nobody works on any more."""
        self.journal.append(RETURNED, pack(frame))
        self._returned(frame)

    def settle(self, error: float, payments: int) -> None:
        """Pays debts until the certified error is at most `error`, so many payments at most."""
        frame = Settled(error, payments)
        self.journal.append(SETTLED, pack(frame))
        self._settle(frame)

    def fold(self, kind: int, payload: bytes) -> None:
        """Does again what a frame of the journal says."""
        frame = msgspec.msgpack.decode(payload, type=_FRAMES[kind])
        match frame:
            case Found():
                self._found(frame)
            case Visits():
                self._record(frame.now, [bytes(raw) for raw in frame.visits])
            case Granted():
                pages, _ = self._lease(frame.now, frame.count)
                if pages.tolist() != frame.pages:
                    raise JournalMismatch(f"the journal granted pages {frame.pages[:5]}, its replay {pages[:5].tolist()}")
            case Returned():
                self._returned(frame)
            case Settled():
                self._settle(frame)
            case Told():
                self._configure(settings_from(msgspec.json.decode(frame.settings), where="the journal"))

    # ---- what it does

    def _configure(self, settings: CrawlSettings) -> None:
        self.settings = settings
        self.frontier.allow(1 if settings.delay else LEASES_WITHOUT_DELAY)
        self.limits.pages_per_host = settings.pages_per_host
        self.manners.tell(settings)
        self._focus = settings.focus_rules()

    def _found(self, frame: Found) -> int:
        urls = frame.texts.decode().split("\n") if frame.texts else []
        fingerprints = np.array([fingerprint(url) for url in urls], dtype=np.uint64)
        return self._join(fingerprints, urls, np.full(len(urls), frame.depth, dtype=np.uint8), frame.level)

    def _join(self, fingerprints: npt.NDArray[np.uint64], urls: list[str], depths: npt.NDArray[np.uint8], level: int) -> int:
        """Makes those URLs known that are not, unless their host has enough."""
        known = self.pages
        wanted = np.flatnonzero(known.table.find(fingerprints) < 0)
        admitted = wanted[self.limits.take_many([urls[place] for place in wanted.tolist()])]
        if not len(admitted):
            return 0
        pages, new = known.table.find_or_add(fingerprints[admitted])
        joined, pages = admitted[new], pages[new]
        texts = [urls[place] for place in joined.tolist()]
        hosts = self.hosts.number_many([host_of(url) for url in texts])
        classes = self._classes(texts)
        known.join(texts, hosts, depths[joined], classes)
        self._join_ledger(classes)
        self.frontier.add(pages, hosts, kinds_of(np.full(len(pages), level), classes), self.ledger.standing(pages))
        return len(pages)

    def _join_ledger(self, classes: npt.NDArray[np.uint8]) -> None:
        ends = [*(np.flatnonzero(np.diff(classes)) + 1).tolist(), len(classes)]
        start = 0
        for end in ends:  # pages join by runs of one class
            self.ledger.join(end - start, focus=int(classes[start]))
            start = end

    def _classes(self, urls: list[str]) -> npt.NDArray[np.uint8]:
        classes = np.zeros(len(urls), dtype=np.uint8)
        if self._focus:
            for place, url in enumerate(urls):
                classes[place] = next((number for number, (rule, _) in enumerate(self._focus, 1) if rule.search(url)), 0)
        return classes

    def _lease(self, now: float, count: int) -> tuple[Pages, bool]:
        """The pages granted, and whether others have come back: a call that changes nothing need not be in the journal."""
        expired, again = self.leases.expired(now), self.retries.due(now)
        due = self._due(now)
        self._give_back(expired)
        self._requeue([*again.tolist(), *due])
        pages = self.frontier.lease(now, count, self.ledger.levels())
        if len(pages):
            self.leases.grant(pages, now)
        return pages, bool(len(expired) or len(again) or due)

    def _lease_of(self, page: int, url: str) -> Lease:
        record = self.pages.last(page)
        depth = int(self.pages.origin(page)["depth"])
        if record is None or not record.signature:
            return Lease(page, url, depth)
        return Lease(page, url, depth, record.etag, record.modified, record.digest)

    def _record(self, now: float, packed: Sequence[bytes]) -> list[Visit]:
        visits = [unpack_visit(visit) for visit in packed]
        held = self.leases.end(np.array([visit.page for visit in visits], dtype=np.int64)).tolist()
        self.late_visits += len(visits) - sum(held)
        visits = [visit for visit, counts in zip(visits, held, strict=True) if counts]
        if not visits:
            return visits
        self._join_links(visits)
        self._pay(visits)
        self._file(now, visits)
        self.since_advance += len(visits)
        if self.since_advance >= VISITS_PER_ADVANCE and isinstance(self.ledger, ExactLedger):
            self.ledger.advance(THRESHOLD, self.since_advance * PAYMENTS_PER_VISIT)
            self.since_advance = 0
        self._reorder()
        return visits

    def _join_links(self, visits: list[Visit]) -> None:
        with_texts = [visit for visit in visits if visit.texts]
        if with_texts:
            lines = [visit.texts.decode().split("\n") for visit in with_texts]
            deeper = [int(self.pages.origin(visit.page)["depth"]) + (not visit.beside) for visit in with_texts]
            depths = np.repeat(np.minimum(deeper, 255), [len(urls) for urls in lines]).astype(np.uint8)
            fingerprints = np.frombuffer(b"".join(visit.fresh for visit in with_texts), dtype=np.uint64)
            self._join(fingerprints, [url for urls in lines for url in urls], depths, DISCOVERY)

    def _pay(self, visits: list[Visit]) -> None:
        """Reads pages in the ledger: those that were read, lead on to another, or are gone."""
        reading = [visit for visit in visits if self._pays(visit)]
        if not reading:
            return
        targets = self.pages.table.find(np.frombuffer(b"".join(visit.links for visit in reading), dtype=np.uint64))
        rows = tidy_rows(targets, np.array([len(visit.links) // 8 for visit in reading], dtype=np.int64))
        for place, visit in enumerate(reading):
            folder = self._same_as_folder(visit)
            if folder is not None:
                rows.targets[rows.starts[place]] = folder
                rows.lengths[place] = 1
        pages = np.array([visit.page for visit in reading], dtype=np.int64)
        self.ledger.visit_many(pages, rows)
        if not isinstance(self.ledger, ExactLedger):
            self.pages.rows.replace(pages, rows)

    def _pays(self, visit: Visit) -> bool:
        """Whether the visit says what the page links to now."""
        outcome = visit.outcome
        return outcome is Outcome.READ or outcome.redirect or self._is_over(visit, self.pages.last(visit.page))

    def _same_as_folder(self, visit: Visit) -> int | None:
        """The folder whose content this index page has: evidence that both are one, so the index leads on to the folder."""
        if not visit.index_of or not visit.links or visit.outcome != Outcome.READ:
            return None
        folder = int(self.pages.table.find(np.array([visit.index_of], dtype=np.uint64))[0])
        record = self.pages.last(folder) if folder >= 0 else None
        return folder if record is not None and record.digest == visit.digest else None

    def _is_over(self, visit: Visit, before: Record | None) -> bool:
        """Whether the page has ended: gone, or given up after too many failures."""
        outcome = visit.outcome
        if outcome is Outcome.GONE:
            return True
        failures = 1 + (0 if before is None else before.failures)
        return outcome.passing and outcome not in NO_RETRY and retry_time(failures, 0.0) is None

    def _file(self, now: float, visits: list[Visit]) -> None:
        """Writes the visits' records, and decides when their hosts and the pages themselves come next."""
        origins = self.pages.origins_of(np.array([visit.page for visit in visits], dtype=np.int64))
        numbers: list[int] = origins["host"].tolist()
        self.frontier.release_all(origins["host"], np.array(self.manners.next_times(self.hosts, visits, numbers)))
        records, again = [], []
        for visit, number, depth in zip(visits, numbers, origins["depth"].tolist(), strict=True):
            self.manners.file(self.hosts, self.frontier, now, visit, number)
            self.outcomes[visit.outcome] += 1
            self.wire_bytes += visit.wire_bytes
            if visit.outcome is not Outcome.LOST:
                records.append(self._record_of(now, visit, depth))
            if visit.outcome in NO_RETRY:
                again.append(visit.page)
        self.pages.records.append_many(records)
        self._requeue(again)  # when the records are there: they say how far up a page belongs

    def _record_of(self, now: float, visit: Visit, depth: int) -> Record:
        """What is kept of a visit; lets a page that failed come back."""
        before = self.pages.last(visit.page)
        over = self._is_over(visit, before)
        record = self.pages.record_of(visit, before, now=now, depth=depth, over=over, importance=0.0)
        self.read_count += was_found(record) - was_found(before)
        if visit.outcome.passing and visit.outcome not in NO_RETRY and not over:
            when = retry_time(record.failures, now)
            if when is not None:
                self.retries.add(visit.page, when)
        return record

    def _returned(self, frame: Returned) -> None:
        pages = self.leases.held() if frame.all else np.array(frame.pages, dtype=np.int64)
        pages = pages[self.leases.end(pages)]
        for number in set(self.pages.origins_of(pages)["host"].tolist()):
            self.manners.leave_alone(self.hosts, self.frontier, frame.now, number)
        self._give_back(pages)

    def _give_back(self, pages: Pages) -> None:
        """Puts pages whose lease ended without a visit where they were."""
        for page in pages.tolist():
            number = int(self.pages.origin(page)["host"])
            self.frontier.release(number, self.hosts[number].next_time)
        self._requeue(pages.tolist())

    def _due(self, now: float) -> list[int]:
        """Until there is a policy of refreshing: a page is read again `refresh-after` seconds after it was read last."""
        if self.settings.refresh_after is None:
            return []
        due, until = self.pages.read_before(now - self.settings.refresh_after, self.refreshed_until)
        if due:
            self.refreshed_until = until  # without a page that is due nothing may change: such a call is not in the journal
        return due

    def _requeue(self, pages: list[int]) -> None:
        if not pages:
            return
        numbers = np.array(sorted(set(pages)), dtype=np.int64)
        numbers = numbers[~self.frontier.contains(numbers)]
        levels = np.where(self.pages.were_read(numbers), REFRESH, DISCOVERY)
        origins = self.pages.origins_of(numbers)
        self.frontier.add(numbers, origins["host"].astype(np.int32), kinds_of(levels, origins["focus"]), self.ledger.standing(numbers))

    def _settle(self, frame: Settled) -> None:
        if isinstance(self.ledger, ExactLedger):
            self.ledger.settle(error=frame.error, payments=frame.payments)
        self._reorder()

    def _watch(self, paid: npt.NDArray[np.int32] | None) -> None:
        if paid is None:
            self._all_paid = True
        else:
            self._paid.append(paid)

    def _reorder(self) -> None:
        """Tells the frontier the standing of all pages that were paid."""
        if self._all_paid:
            self.frontier.rebuild(self.ledger.standing)
        elif self._paid:
            pages = np.concatenate(self._paid).astype(np.int64)
            self.frontier.update(pages, self.ledger.standing(pages))
        self._paid.clear()
        self._all_paid = False

    # ---- for snapshots

    def counters(self) -> dict[str, Any]:
        """Numbers that belong to the state."""
        return {name: getattr(self, name) for name in COUNTERS} | {
            "outcomes": {str(int(key)): count for key, count in self.outcomes.items()}
        }

    def set_counters(self, counters: dict[str, Any]) -> None:
        """Takes such numbers over."""
        for name in COUNTERS:
            setattr(self, name, counters[name])
        self.outcomes = Counter({Outcome(int(key)): count for key, count in counters["outcomes"].items()})

    def replace_rows(self, rows: DiskRows) -> None:
        """Goes on with the same rows in another file."""
        old, self.pages.rows = self.pages.rows, rows
        if isinstance(self.ledger, ExactLedger):
            self.ledger.use_rows(rows)
        old.close()


def was_found(record: Record | None) -> bool:
    """Whether a page was there when it was last visited."""
    return record is not None and PageKind.HTML <= record.kind <= PageKind.OTHER
