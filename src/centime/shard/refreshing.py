"""Keeps copies fresh: how often each page changes, which pages are due, and the deadlines of subscriptions.

    verdicts      every visit gives the refresh book (`refresh/book.py`) a verdict: first, quiet, changed, dated, failed
    inspections   pages whose time in the book's calendar has come are inspected; pages that are worth a read are due
    rhythms       pages that change every hour, day or week are due just after that moment, if they are worth a read
    deadlines     pages are due at least as often as a subscription or their greatest interval requires

A part of the shard's state: time is an argument, and everything follows from the calls made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import nan
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from centime.frontier.timers import Timers
from centime.model.ids import HostId, PageId, page_ids
from centime.model.outcome import Outcome, Presence
from centime.model.row_batch import Pages
from centime.refresh.beats import ENOUGH, Beat, Commonness, due_beats, update_beat, without_beat
from centime.refresh.book import RefreshBook
from centime.refresh.learning.credit import frequency_verdict, period_of_max_age, verified, weight
from centime.refresh.learning.dates import observe, reliable, stood, verdict_of
from centime.refresh.learning.mortality import Mortality
from centime.refresh.learning.rhythm import next_moment
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings
from centime.refresh.spending import Spending
from centime.settings.crawl import CrawlSettings
from centime.shard.host_table import Hosts
from centime.shard.message import Visit
from centime.shard.people.notices import Change
from centime.store.record import Mark, Record
from centime.store.records import Records

MOST_INSPECTED = 4_096  # pages due in one call: more are returned over several calls
_READ = (int(Outcome.READ), int(Outcome.UNCHANGED))
HISTORY = 400  # visits in which a rhythm is searched at most
JUDGED_AFTER = 8  # visits, after which a published period is compared with the observed changes
ANY_HOST = np.array([-1])  # stands for all hosts together
SAMPLE = 200_000  # pages from which the freshness of all is estimated
LEAST_COST = 300.0  # bytes of the smallest response

Importance = Callable[[Pages], npt.NDArray[np.float64]]
Flags = npt.NDArray[np.bool_]
UrlsOf = Callable[[Pages], Sequence[str]]
HostsOf = Callable[[Pages], npt.NDArray[np.uint32]]


class Filed(msgspec.Struct, frozen=True, gc=False):
    """A visit with its record, the one before it, and its host."""

    visit: Visit
    host: HostId
    before: Record | None
    record: Record
    ended: bool  # the page is gone or given up
    change: Change | None  # the change that the visit shows


class Refreshing:
    """The change rates of a shard's pages, their rhythms, and their deadlines."""

    def __init__(self, settings: CrawlSettings, hosts_of: HostsOf) -> None:
        self._hosts_of = hosts_of
        self.book = RefreshBook(0.0, settings.refresh_settings(), hosts_of)
        self.moments = Timers()
        self.deadlines = Timers()
        self.beats: dict[PageId, Beat] = {}
        self.spending = Spending()
        self.mortality = Mortality()
        self.commonness = Commonness()
        self.configure(settings)

    def configure(self, settings: CrawlSettings) -> None:
        """Applies new settings."""
        self.settings = settings
        self.book.configure(self._rules())

    def _rules(self) -> RefreshSettings:
        """The settings of the book: its least interval is the shortest of all pages (`_held`), and its budget is raised
        while the crawl spends less (`refresh/spending.py`).
        """
        rules = self.settings.refresh_settings()
        return replace(rules, budget=rules.budget * self.spending.factor)

    def spend(self, now: float, pages: int, wire_bytes: int) -> None:
        """Counts the costs of visits, and corrects the budget of the book."""
        rules = self.settings.refresh_settings()
        spent = wire_bytes if rules.by_bytes else pages
        if self.settings.continuous and self.spending.observe(now, spent, rules.budget, self.book.mean_cost):
            self.book.configure(self._rules())

    # ---- evidence of visits

    def record(
        self,
        now: float,
        filed: Sequence[Filed],
        hosts: Hosts,
        records: Records,
        importance: Importance,
        *,
        reach: float = 0.0,
    ) -> None:
        """Records in the book what visits show about changes, each at the time of its record. Visits older than `reach`
        seconds before `now` are no evidence.
        """
        if not len(self.book):
            self.book = RefreshBook(now - reach, self._rules(), self._hosts_of)
        elif reach:
            self.book.reach_back(now - reach, now, importance)
        closed = [one.visit.page for one in filed if one.ended or _is_closed(one.record)]
        self._count_deaths(filed)
        if closed:
            self.book.forget(np.array(closed, dtype=np.int64))
            for page in closed:
                self.moments.remove(page)
                self.beats.pop(page, None)
        observed = [one for one in filed if not one.ended and not _is_closed(one.record)]
        if not observed:
            return
        pages = np.array([one.visit.page for one in observed], dtype=np.int64)
        read_before = self.book.read_times(pages).tolist()
        verdicts, since, stood_for = [], [], []
        for one, before in zip(observed, read_before, strict=True):
            stood_for.append(_stood(one, before, hosts))
            verdict, seconds = self._verdict(one, before, hosts)
            verdicts.append(verdict)
            since.append(seconds)
        self._use_max_ages(observed, verdicts, hosts)  # before the reads are recorded: a claim counts from the first on
        self.book.record(
            pages,
            np.array([one.host for one in observed], dtype=np.int64),
            np.array([one.record.time for one in observed]),
            np.array(verdicts, dtype=np.uint8),
            np.array(since),
            np.array([max(LEAST_COST, float(one.visit.wire_bytes)) for one in observed]),
            importance(pages),
            np.array(stood_for),
        )
        for one, verdict in zip(observed, verdicts, strict=True):
            reads = partial(reads_of, records, one.visit.page, ENOUGH)
            page, record = one.visit.page, one.record
            update_beat(self.beats, self.moments, page, record.time, verdict, record.changes, reads, self.commonness)

    def _count_deaths(self, filed: Sequence[Filed]) -> None:
        """Counts pages that are gone, and how long the others were seen to live (`refresh/learning/mortality.py`)."""
        before = self.book.read_times(np.array([one.visit.page for one in filed], dtype=np.int64)).tolist()
        for one, read in zip(filed, before, strict=True):
            if read != read:  # not in the book
                if one.change is Change.BACK:
                    self.mortality.returned()
            elif one.visit.outcome is Outcome.GONE:
                self.mortality.died(one.record.time - read)
                self.book.expect_deaths(self.mortality.rate)
            elif one.visit.outcome.present:
                self.mortality.lived(one.record.time - read)

    def _verdict(self, one: Filed, read_before: float, hosts: Hosts) -> tuple[Verdict, float]:
        outcome, record, before = one.visit.outcome, one.record, one.before
        now = record.time
        if before is not None and (before.marks ^ record.marks) & Mark.FOREIGN:
            read_before = nan  # the two reads cannot be compared: evidence begins with this one
        changed = Mark.CHANGED in record.marks
        if outcome.redirect:
            changed = before is not None and before.redirect != record.redirect
        elif before is not None and before.outcome.redirect:
            changed = True
        date = record.modified_time or nan
        host = hosts[one.host]
        believed = reliable(host.dates)
        if outcome.present and before is not None and read_before == read_before:
            host.dates = observe(host.dates, changed, before.modified_time or nan, date, now, read_before)
        return verdict_of(
            read=outcome.present or outcome.redirect,
            content_changed=changed,
            read_before=read_before,
            now=now,
            date=date,
            believed=believed,
        )

    def _use_max_ages(self, observed: Sequence[Filed], verdicts: Sequence[Verdict], hosts: Hosts) -> None:
        """Takes the periods of servers' cache headers as evidence, weighted by how right their hosts were before."""
        claims: list[tuple[PageId, float, float]] = []
        for one, verdict in zip(observed, verdicts, strict=True):
            period = period_of_max_age(one.visit.fresh_for)
            if period is None:
                continue
            host = hosts[one.host]
            if verdict == Verdict.FIRST:
                claims.append((one.visit.page, period, weight(host.claims)))
            elif one.record.visits == JUDGED_AFTER:
                _, low, high = self.book.rates(np.array([one.visit.page], dtype=np.int64))
                right = frequency_verdict(period, float(low[0]), float(high[0]))
                if right is not None:
                    host.claims = verified(host.claims, right)
        if claims:
            pages, periods, weights = zip(*claims, strict=True)
            self.book.claim(np.array(pages, dtype=np.int64), np.array(periods), np.array(weights))

    # ---- due pages

    def inspect(
        self, now: float, importance: Importance, urls_of: UrlsOf
    ) -> tuple[Pages, npt.NDArray[np.float64]] | None:
        """The pages that have become due, with their worth; None if no inspection is due, and then nothing has
        changed.
        """
        if not self.settings.continuous or min(self.book.earliest(), self.moments.earliest()) > now:
            return None
        pages, worth = self.book.inspect(now, importance, MOST_INSPECTED)
        if self.beats and self.settings.beta:
            others = without_beat(self.beats, pages)
            pages, worth = pages[others], worth[others]
        pages, worth = self._held(pages, worth, now, urls_of)
        due = self.moments.due(now)
        held = without_beat(self.beats, due)
        if held.any():
            late = np.setdiff1d(due[held], pages)  # the book may have returned them too
            again, worth_again = self._due_at_last(late, now, importance)
            pages, worth, due = np.concatenate([pages, again]), np.concatenate([worth, worth_again]), due[~held]
        if len(due) and self.settings.beta:  # without beta only age counts, and a rhythm makes no difference
            worth_now = np.array(
                [self.beat_worth(page, float(x)) for page, x in zip(page_ids(due), importance(due), strict=True)]
            )
            least = np.array([self.settings.least_times().of(url) for url in urls_of(due)])
            kept = due_beats(self.beats, self.moments, due, worth_now, self.book.threshold, least, now)
            pages, worth = np.concatenate([pages, due[kept]]), np.concatenate([worth, worth_now[kept]])
        return pages, worth

    def _held(
        self, pages: Pages, worth: npt.NDArray[np.float64], now: float, urls_of: UrlsOf
    ) -> tuple[Pages, npt.NDArray[np.float64]]:
        """The pages whose own least interval is over; the others are due when it is."""
        least = self.settings.least_times()
        if not least.patterns or not len(pages):
            return pages, worth
        over = self.book.read_times(pages) + np.array([least.of(url) for url in urls_of(pages)])
        for page, when in zip(page_ids(pages[over > now]), over[over > now].tolist(), strict=True):
            self.moments.add(page, when)
        return pages[over <= now], worth[over <= now]

    def _due_at_last(self, pages: Pages, now: float, importance: Importance) -> tuple[Pages, npt.NDArray[np.float64]]:
        """Those of the pages that were held back which are still worth a read, with their worth."""
        worth = self.book.worth(pages, now, importance(pages))
        kept = worth >= self.book.threshold  # also false for a page that left the book, whose worth is NaN
        return pages[kept], worth[kept]

    def beat_worth(self, page: PageId, importance: float) -> float:
        """The worth of reading a page just after its moment: proportional to the time that its copy would be stale."""
        cost = 1.0 if not self.book.settings.by_bytes else self.book.cost(page)
        return self.beats[page].worth(importance, self.settings.beta, cost)

    def next_beat(self, page: PageId, now: float) -> float:
        """The time after which a page with a rhythm has surely changed again."""
        return next_moment(self.beats[page].rhythm, now)

    def worth(self, pages: Pages, now: float, importance: Importance) -> npt.NDArray[np.float64]:
        """The worth of reading pages again now; for pages that are not in the book, their importance."""
        known = importance(pages)
        return np.where(self.book.contains(pages), self.book.worth(pages, now, known), known)

    def fresh(
        self, now: float, known: int, importance: Importance, read: Callable[[Pages], Flags]
    ) -> tuple[float, float]:
        """The estimated number of copies that are fresh now, and their share of all importance.

        Crawls of more than SAMPLE pages are estimated from a sample.
        """
        stride = 1 + known // SAMPLE
        pages = np.arange(0, known, stride, dtype=np.int64)
        pages = pages[self.book.contains(pages) & read(pages)]
        if not len(pages):
            return 0.0, 0.0
        weights = importance(pages)
        right = self._fresh(now, pages, weights)
        return stride * float(right.sum()), stride * float((right * weights).sum()) / known

    def fresh_of(self, now: float, pages: Pages, importance: Importance) -> float:
        """The estimated number of these pages, which were found at their last visit, whose copies are fresh now."""
        pages = pages[self.book.contains(pages)]
        return float(self._fresh(now, pages, importance(pages)).sum()) if len(pages) else 0.0

    def _fresh(self, now: float, pages: Pages, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The probability that the copy of each page is fresh."""
        shape, scale = self.book.beliefs(pages, weights)
        fresh: npt.NDArray[np.float64] = np.exp(
            -shape * np.log1p(np.maximum(now - self.book.read_times(pages), 0.0) / scale)
        )
        return fresh

    def discovery(self) -> float:
        """The worth of an unread page per unit of importance, comparable with due pages; 0 if shares decide."""
        if not self.settings.continuous or self.settings.discovery_share() is not None:
            return 0.0
        return self.settings.discovery_weight * float(self.book.discovery_worth(ANY_HOST)[0])

    def earliest(self) -> float:
        """The earliest time at which a page may become due."""
        inspection = min(self.book.earliest(), self.moments.earliest()) if self.settings.continuous else float("inf")
        return min(inspection, self.deadlines.earliest())

    def move(self, now: float, wait: Callable[[float], float], importance: Importance) -> None:
        """Changes the times that pages wait for, and moves events in the future to `now`."""
        self.moments.move(wait)
        self.deadlines.move(wait)
        self.spending.last = min(self.spending.last, now)
        for beat in self.beats.values():
            beat.read = min(beat.read, now)
        self.book.set_back(now, importance)

    # ---- for snapshots

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays for a snapshot."""
        facts, arrays = self.book.state()
        kept = {f"book_{name}": array for name, array in arrays.items()}
        for name, heap in (("moments", self.moments), ("deadlines", self.deadlines)):
            kept |= {f"{name}_{title}": array for title, array in heap.state()[1].items()}
        kept["spending"] = np.frombuffer(msgspec.msgpack.encode(self.spending), dtype=np.uint8)
        kept["mortality"] = np.frombuffer(msgspec.msgpack.encode(self.mortality), dtype=np.uint8)
        kept["commonness"] = np.frombuffer(msgspec.msgpack.encode(self.commonness), dtype=np.uint8)
        kept["beats"] = np.frombuffer(msgspec.msgpack.encode(self.beats), dtype=np.uint8)
        return {"book": facts}, kept

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], like: "Refreshing") -> "Refreshing":
        """The refreshing of a snapshot, with the settings and the pages of `like`."""

        def part(name: str) -> dict[str, npt.NDArray[Any]]:
            return {
                title.removeprefix(f"{name}_"): array for title, array in arrays.items() if title.startswith(f"{name}_")
            }

        made = cls(like.settings, like._hosts_of)
        made.book = RefreshBook.from_state(facts["book"], part("book"), like._hosts_of)
        made.moments = Timers.from_state({}, part("moments"))
        made.deadlines = Timers.from_state({}, part("deadlines"))
        made.spending = msgspec.msgpack.decode(arrays["spending"].tobytes(), type=Spending)
        if "mortality" in arrays:  # a snapshot of an older format lacks it
            made.mortality = msgspec.msgpack.decode(arrays["mortality"].tobytes(), type=Mortality)
        if "commonness" in arrays:  # the same
            made.commonness = msgspec.msgpack.decode(arrays["commonness"].tobytes(), type=Commonness)
        made.beats = msgspec.msgpack.decode(arrays["beats"].tobytes(), type=dict[PageId, Beat])
        return made


def _stood(one: Filed, read_before: float, hosts: Hosts) -> float:
    """The age that the content of the previous copy had when it was read, by its date (`refresh/learning/dates.py`)."""
    date = one.before.modified_time if one.before is not None else 0.0
    return stood(read_before, date or nan, reliable(hosts[one.host].dates))


def _is_closed(record: Record) -> bool:
    """Whether a page is not refreshed any more: it is disallowed, or there is nothing to read. A page that was read and
    is denied now keeps its evidence until it is given up.
    """
    outcome = record.outcome
    denied_now = outcome.denied and record.presence is Presence.PRESENT
    return not (outcome.present or outcome.redirect or outcome.transient or denied_now)


def reads_of(records: Records, page: PageId, enough: int, most: int = HISTORY) -> tuple[npt.NDArray[np.float64], Flags]:
    """When a page was read at its last visits, `most` of them, and whether each read found a change. The visits back to
    the change number `enough` suffice.
    """
    times: list[float] = []
    changed: list[bool] = []
    changes = 0
    for head in islice(records.head_history(page), HISTORY):
        if changes == enough:
            break
        if head["outcome"] in _READ:
            times.append(float(head["time"]))
            changed.append(bool(head["marks"] & Mark.CHANGED))
            changes += changed[-1]
    return np.array(times[::-1]), np.array(changed[::-1], dtype=np.bool_)


def reads_of_many(records: Records, pages: Pages, most: int) -> Iterator[tuple[npt.NDArray[np.float64], Flags]]:
    """The same of each of many pages, from its last `most` visits."""
    levels = list(records.head_histories(pages, most))
    if not levels:
        return
    heads = np.stack(levels[::-1])
    seen = np.isin(heads["outcome"], _READ) & (heads["time"] > 0.0)
    times, changed = heads["time"], (heads["marks"] & int(Mark.CHANGED)) != 0
    for place in range(len(pages)):
        read = seen[:, place]
        yield times[read, place], changed[read, place]
