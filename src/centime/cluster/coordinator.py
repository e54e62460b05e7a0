"""Runs all partitions of a crawl as processes of one or many machines, and makes the decisions that need the state of
all partitions.

    rounds      every partition is asked for its state; when all have answered, the next round can begin
    the end     nothing is left when, in two rounds that follow each other, no partition has a page to fetch, all closed
                batches were applied, and no number has changed (Mattern's four counters): only a batch in flight could
                make a partition busy again
    limits      pages and budgets are divided by `division.py`, and never exceeded by all together (`budgets.py`)
    commands    of people go to the partitions that they concern (`post.py`)
    debts       after the last page, partitions pay and send until the certificate of all reports is small enough

Its only file is `cluster.json`. If this process dies, all partitions do (`hub.py`).

Over 400 lines: a run is one sequence of rounds over the same facts, and what ends it is decided in one place.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from centime.cluster.budgets import Budgets
from centime.cluster.division import Division, whole_shares
from centime.cluster.folder import ClusterFolder, divided
from centime.cluster.hosting import Hosting
from centime.cluster.hub import Again, Hub
from centime.cluster.member import Member
from centime.cluster.order import ANY, Begin, Carried, Close, Ended, Failed, Opened, Round, Standing, Stop
from centime.cluster.placement import Placement
from centime.cluster.post import CommandPost
from centime.cluster.report.merging import merged_facts, merged_rows
from centime.cluster.status import ClusterStatus, PartitionStatus, write_status
from centime.crawl.engine.loop import (
    FINAL_ERROR,
    READ_ALL,
    STOPPED,
    VIEW_SECONDS,
    Limits,
    Run,
    refused_in_words,
)
from centime.ledger.certificate import Certificate, certified
from centime.model import errors
from centime.model.errors import CentimeError, DamagedCrawl
from centime.model.outcome import Outcome
from centime.processes.clock import RunClock
from centime.settings.crawl import CrawlSettings

_log = logging.getLogger("centime.cluster")
ROUND_SECONDS = 0.5
QUICK_ROUND_SECONDS = 0.05  # when every partition has nothing left, or settles
REPORT_SECONDS = 2.0  # between two rounds with reports for the certificate
FACTS_SECONDS = 2.0, 10.0  # between two rounds with facts: least and most
FACTS_SHARE = 0.02  # of its CPU that a partition spends on facts, between these bounds
TELL_SHARE = 0.95  # of the mean debt: transfers above it are sent
STILL_ROUNDS = 20  # without a frame of any partition or a batch in flight, after which debts stay as they are
FROZEN_SECONDS = 10.0  # without an answer and without work, after which the process of a partition is replaced
SILENCE_SECONDS = 600.0  # after which a stopped run does not wait for a partition any more


class Coordinator:
    """One run of a crawl in partitions."""

    def __init__(
        self,
        folder: ClusterFolder,
        seeds: list[str],
        given: Mapping[str, Any],
        settings: CrawlSettings,
        limits: Limits,
        hosting: Hosting,
        placement: Placement,
        *,
        where: str = "options",
        trust: bool = False,
        clock: RunClock | None = None,
    ) -> None:
        self._folder = folder
        self._count = folder.about.partitions
        self._seeds, self._given, self._where, self._trust = seeds, dict(given), where, trust
        self._limits = limits
        self._clock = clock or RunClock()
        self._hub = Hub(folder, hosting, placement, self._begin, self._clock)
        self.run_facts = Run(self._clock())
        self._stop = 0
        self._stopped_at = 0.0
        self._closing = self._hurried = False
        self._round = 0
        self._round_at = self._report_at = self._facts_at = 0.0
        self._has_last_facts = False  # the facts of the partitions after their last page were requested
        self._quiet: tuple[int, int] | None = None  # closed and applied batches of a round in which nothing was left
        self._visits_before = [0] * self._count  # of processes that have died
        self._visits_at_first: dict[int, int] = {}  # of a partition, before this run
        self._visits_of_others = [0] * self._count  # of processes of this run that have died, as their folders say
        self._takeovers: dict[int, tuple[float, str]] = {}  # when a partition was last taken over, and why
        self._certificate: Certificate | None = None
        self._threshold = 1
        self._still = self._frames = 0  # rounds without a frame while debts are settled; all frames
        self._failure: CentimeError | None = None
        pages = limits.pages
        self._pages = None if pages is None else Division(pages, whole_shares(pages, [1.0] * self._count))
        self._budgets = Budgets(folder.about.totals, self._count)
        self._post = CommandPost(folder, settings, self._budgets)
        self._first_incarnations = [one + 1 for one in folder.about.incarnations or [0] * self._count]
        self._configured: set[int] = set()  # partitions that have the options of this run

    def run(self, view: Callable[["Coordinator", float], None] = lambda crawl, now: None) -> str:
        """Crawls until a limit is reached, nothing is left or `stop` is called; returns the reason in words."""
        try:
            self._post.take(self._clock())
            self._hub.start()
            shown = 0.0
            while not all(member.ended for member in self.members):
                for member, event in self._hub.exchange(self._pause()):
                    self._take(member, event)
                now = self._clock()
                self._look(now)
                if now - shown >= VIEW_SECONDS:
                    shown = now
                    self._send_commands(now)
                    self._tell(now)
                    view(self, now)
        finally:
            self._hub.close()
        view(self, self._clock())
        if self._failure is not None:
            raise self._failure
        return self.run_facts.ending

    def stop(self, *_: object) -> None:
        """Ends the run; a second call ends it without waiting for pages that are being fetched."""
        self._stop += 1

    def now(self) -> float:
        """The time of this run."""
        return self._clock()

    @property
    def has_facts(self) -> bool:
        """Whether a partition has reported its facts; before that there are no statistics."""
        return any(member.last is not None for member in self.members)

    def statistics(self, now: float) -> dict[str, Any]:
        """Figures for people while the crawl runs: the sums over all partitions."""
        pages, sent = self.run_facts.pace(now)
        facts = [member.last.facts for member in self.members if member.last and member.last.facts]
        return merged_facts(facts) | {
            "folder": str(self._folder.path),
            "certified_error": self._certificate.shown if self._certificate is not None else None,
            "partitions": self._count,
            "pages_per_second": pages,
            "bytes_per_second": sent,
            "seconds": now - self.run_facts.started,
        }

    def top(self, count: int) -> list[dict[str, Any]]:
        """The most important pages, as of the last facts."""
        return merged_rows([member.last.top for member in self.members if member.last], "importance", count)

    @property
    def bytes_between_nodes(self) -> Mapping[str, int]:
        """The bytes of messages between processes of different nodes: batches with their acknowledgements, new journal
        frames for replicas, stored bodies, and files that bring a replica up to date.
        """
        return self._hub.between_nodes

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes of all partitions."""
        return [member.process.pid for member in self.members]

    @property
    def keeper_pids(self) -> list[int]:
        """The numbers of the processes that keep replicas."""
        return [keeper.process.pid for keeper in self._hub.keepers.values()]

    def standing_of(self, partition: int) -> Standing | None:
        """The last state that a partition has reported; None if it has reported none yet."""
        return self.members[partition].standing

    @property
    def all_open(self) -> bool:
        """Whether every partition crawls."""
        return all(member.is_open for member in self.members)

    @property
    def members(self) -> list[Member]:
        """The processes of all partitions, with their last reports."""
        return self._hub.members

    def _begin(self, partition: int) -> Begin:
        """The first message to the process of a partition."""
        about = self._folder.about
        given = {} if partition in self._configured else self._given
        passed = self._clock() - self.run_facts.started
        return Begin(
            folder=str(self._folder.folder_of(partition)),
            partition=partition,
            partitions=self._count,
            incarnation=self._folder.next_incarnation(partition),
            seeds=self._seeds,
            given=given | divided(about.totals, self._count) | self._budgets.shares(partition),
            where=self._where,
            ahead=self._clock.ahead,
            seconds=None if self._limits.seconds is None else max(0.0, self._limits.seconds - passed),
            pages=self._pages_of(partition),
            replicated=bool(about.replicas),
            trust=self._trust,
            commands=self._post.waiting_for(partition),
        )

    def _take(self, member: Member, event: Opened | Standing | Carried | Failed | Ended | Again) -> None:
        match event:
            case Opened(notes):
                self.run_facts.notes += notes
                self._configured.add(member.partition)
                for command in self._post.waiting_for(member.partition):
                    member.order(command)
                if self._round:  # it was started again, and the round waits for it
                    self._ask(member, report=True, facts=True)
                if self.all_open and len(self.members) == self._count:
                    self._folder.keep(pending={}, seeds=[])
            case Standing():
                self._confirm(member.partition, event)
            case Carried(identity, reason):
                self._post.carried(member.partition, identity, reason, self._clock())
            case Failed(kind, sentence):
                self._fail(member, kind, sentence)
            case Ended(notes):
                self.run_facts.notes += notes
            case Again(before):
                self._taken_over(before)
                standing = before.standing or before.last
                self._visits_before[member.partition] += standing.used if standing is not None else 0
                # until it is read from the folder, which includes the visits since the last round
                self._visits_of_others[member.partition] += standing.visits if standing is not None else 0
                if self.run_facts.ending:
                    member.order(Stop(self.run_facts.ending))
                if self._closing:
                    member.order(Close())

    def _taken_over(self, before: Member) -> None:
        """Notes that another process has taken over a partition."""
        why = before.why_lost or self._takeovers.get(before.partition, (0.0, "it moved to another node"))[1]
        self._takeovers[before.partition] = (self._clock(), why)
        facts = {"crawl": self._folder.path.name, "partition": before.partition, "why": why}
        _log.info("a partition was taken over", extra={"facts": facts})

    def _fail(self, member: Member, kind: str, sentence: str) -> None:
        """Ends the run because a partition cannot continue; the others end cleanly."""
        if self._failure is None:
            folder = self._folder.folder_of(member.partition)
            known = getattr(errors, kind, CentimeError)
            known = known if isinstance(known, type) and issubclass(known, CentimeError) else CentimeError
            words = sentence if str(folder) in sentence else f"partition {member.partition}: {sentence}"
            self._failure = DamagedCrawl(words, folder) if known is DamagedCrawl else known(words)
        self._stop_all("a partition could not continue")

    # ---- rounds

    def _pause(self) -> float:
        """How long to wait for a message: until the next round, or for the answers to this one."""
        if not self._is_answered:
            return VIEW_SECONDS
        return max(0.0, min(VIEW_SECONDS, self._round_at + self._round_seconds - self._clock()))

    @property
    def _is_answered(self) -> bool:
        """Whether all partitions that run are open, and have answered this round."""
        running = [member for member in self.members if member.ended is None]
        has_begun = not self._round or all(one.standing and one.standing.number == self._round for one in running)
        return has_begun and all(member.is_open for member in running)

    @property
    def _round_seconds(self) -> float:
        standings = [member.standing for member in self.members]
        quick = all(one is not None and (one.nothing_left or one.settling) for one in standings)
        return QUICK_ROUND_SECONDS if quick or self._round < 3 else ROUND_SECONDS

    def _look(self, now: float) -> None:
        """Ends the run if a limit is reached, and begins a round if all have answered the last one."""
        if not self.run_facts.ending:
            if self._stop:
                self._stop_all(STOPPED)
            elif self._limits.seconds is not None and now - self.run_facts.started >= self._limits.seconds:
                self._stop_all(f"the {self._limits.seconds:g} seconds are over")
        elif self._stop > 1 or (self._stop and self._closing and self.run_facts.ending != STOPPED):
            self._hurry()
        elif self._stop and self.run_facts.ending != STOPPED:
            self._close()  # the pages are read; a person who stops it now does not want to wait for debts
        if self._stopped_at and now - self._stopped_at > SILENCE_SECONDS:
            raise CentimeError(f"{self._folder.path}: a partition does not stop; the same command continues the crawl")
        running = [member for member in self.members if member.ended is None]
        for member in running:
            answered = member.standing is not None and member.standing.number == self._round
            waits = member.is_open and self._round and not answered and not self._closing
            if waits and member.is_frozen(now, self._round_at, FROZEN_SECONDS):
                why = f"its process neither answered nor worked for {FROZEN_SECONDS:g} seconds"
                for lost, event in self._hub.lost(member, why):
                    self._take(lost, event)
        if now < self._round_at + self._round_seconds or not self._is_answered:
            return
        running = [member for member in self.members if member.ended is None]
        if self._round:
            self._conclude([one.standing for one in running if one.standing], now)
        self._begin_round(running, now)

    def _begin_round(self, running: list[Member], now: float) -> None:
        self._round += 1
        self._round_at = now
        settles = bool(self.run_facts.ending)
        report = settles or now - self._report_at >= REPORT_SECONDS
        facts = now - self._facts_at >= self._facts_every or (settles and not self._has_last_facts and self._all_settle)
        self._report_at = now if report else self._report_at
        self._facts_at = now if facts else self._facts_at
        self._has_last_facts = self._has_last_facts or (facts and self._all_settle)
        for member in running:
            self._ask(member, report=report, facts=facts)

    @property
    def _all_settle(self) -> bool:
        """Whether all partitions have read their last page."""
        return all(member.standing is not None and member.standing.settling for member in self.members)

    @property
    def _facts_every(self) -> float:
        """The seconds between two rounds with facts."""
        least, most = FACTS_SECONDS
        cost = max((member.last.facts_cpu for member in self.members if member.last), default=0.0)
        return min(max(least, cost / FACTS_SHARE), most)

    def _ask(self, member: Member, *, report: bool, facts: bool) -> None:
        """Asks a partition for its state in this round."""
        before = member.standing
        member.order(
            Round(
                number=self._round,
                pages=self._pages_of(member.partition),
                budget=self._budgets.orders(member.partition, None if before is None else before.budget),
                threshold=self._threshold,
                error=1.0 if self._certificate is None else self._certificate.error,
                shown=None if self._certificate is None else self._certificate.shown,
                report=report,
                facts=facts,
            )
        )

    def _conclude(self, standings: list[Standing], now: float) -> None:
        """Draws conclusions from a round."""
        run = self.run_facts
        said = [member.standing for member in self.members if member.standing is not None]
        run.visits = sum(self._visits_of_others) + sum(one.visits for one in said)
        facts = [member.last.facts for member in self.members if member.last and member.last.facts]
        run.wire_bytes = sum(one["wire_bytes"] for one in facts)
        reports = [one.report.unpacked() for one in standings if one.report is not None]
        if len(reports) == self._count:
            self._certificate = certified(reports)
            accounts = self._certificate.sums.pages + sum(one.proxies for one in standings)
            owed = sum(report.owed + report.unsent for report in reports)
            self._threshold = max(1, int(TELL_SHARE * owed / max(1, accounts)))
        if run.ending:
            self._settle(standings)
            return
        if self._limits.pages is not None and run.visits >= self._limits.pages:
            self._stop_all(f"read the {self._limits.pages} pages asked for")
            return
        batches = sum(one.closed for one in standings), sum(one.applied for one in standings)
        quiet = all(one.nothing_left and not one.to_name and not one.under_way for one in standings)
        if quiet and batches[0] == batches[1] and batches == self._quiet:
            self._stop_all(self._nothing_left([one.nothing_left for one in standings]))
            return
        self._quiet = batches if quiet else None
        if self._pages is not None:
            self._divide_pages(standings)
        self._budgets.divide(standings, now)

    def _nothing_left(self, reasons: list[str]) -> str:
        """Why no partition has a page to fetch: the most informative of their reasons."""
        for beginning in ("no host is ready", "everything known was read, but", READ_ALL):
            for reason in reasons:
                if reason.startswith(beginning) and beginning != READ_ALL:
                    return reason
                if reason.startswith(beginning):
                    facts = self.statistics(self._clock())
                    outcomes = {Outcome[name.upper()]: count for name, count in facts["outcomes"].items()}
                    return READ_ALL + refused_in_words(facts["refused"], outcomes, self._folder.path)
        return reasons[0]

    def _settle(self, standings: list[Standing]) -> None:
        """Ends the run once its debts are paid, or cannot be reduced further."""
        if self._certificate is None or not all(one.settling for one in standings):
            return
        frames = sum(one.frame for one in standings)
        has_arrived = sum(one.closed for one in standings) == sum(one.applied for one in standings)
        self._still = self._still + 1 if frames == self._frames and has_arrived else 0
        self._frames = frames
        if self._still:  # the remaining transfers are below the threshold
            self._threshold = 1
        if self._has_last_facts and (self._certificate.error <= FINAL_ERROR or self._still > STILL_ROUNDS):
            self._close()

    def _stop_all(self, reason: str) -> None:
        if not self.run_facts.ending:
            self.run_facts.ending = reason
            self._stopped_at = self._clock()
            self._hub.is_ending = True
            self._order(Stop(reason))
        if any(member.ended is not None for member in self.members):
            self._close()  # the others cannot settle without it, even if the run was ending already

    def _hurry(self) -> None:
        """Ends all partitions without waiting for anything; once."""
        if not self._hurried:
            self._hurried = True
            self._order(Stop(self.run_facts.ending, at_once=True))
            self._close()

    def _order(self, message: Stop | Close) -> None:
        for member in self.members:
            if member.ended is None:
                member.order(message)

    def _close(self) -> None:
        if not self._closing:
            self._closing = True
            self._order(Close())

    # ---- what is divided

    def _confirm(self, partition: int, standing: Standing) -> None:
        if self._pages is not None:
            self._pages.confirm(partition, standing.pages + self._visits_before[partition])
        self._budgets.confirm(partition, standing.budget)
        if standing.facts is not None:
            before = standing.facts["visits"] - standing.visits
            self._visits_of_others[partition] = before - self._visits_at_first.setdefault(partition, before)

    def _pages_of(self, partition: int) -> int:
        """How many pages the process of a partition may visit in all."""
        if self._pages is None:
            return ANY
        return max(0, int(self._pages.ordered[partition]) - self._visits_before[partition])

    def _divide_pages(self, standings: list[Standing]) -> None:
        """Divides the remaining pages among partitions that have some to fetch."""
        assert self._pages is not None
        used = [before + one.used for before, one in zip(self._visits_before, standings, strict=True)]
        left = int(self._pages.total) - sum(used)
        busy = [float(not one.nothing_left) for one in standings]
        shares = whole_shares(left, busy if any(busy) else [1.0] * self._count)
        self._pages.aim([mine + share for mine, share in zip(used, shares, strict=True)])

    def _tell(self, now: float) -> None:
        """Writes the state of the processes, for the window."""
        partitions = [
            PartitionStatus(
                partition=member.partition,
                node=self._hub.node_of(member),
                state=member.state(self._round, self._round_at, now),
                process=member.process.pid,
                incarnation=member.incarnation,
                taken_over=member.incarnation - self._first_incarnations[member.partition],
                taken_over_at=self._takeovers.get(member.partition, (0.0, ""))[0],
                why=self._takeovers.get(member.partition, (0.0, ""))[1],
                replica=self._hub.copy_of(member),
                lacks_bodies=member.standing is not None and member.standing.lacks_bodies,
            )
            for member in self.members
        ]
        status = ClusterStatus(time=now, partitions=partitions, between_nodes=dict(self.bytes_between_nodes))
        write_status(self._folder.path, status)

    def _send_commands(self, now: float) -> None:
        """Sends commands that have come to partitions that are open; the others get them once they are open."""
        if self.run_facts.ending:
            return
        for partition, command in self._post.take(now):
            if self.members[partition].is_open:
                self.members[partition].order(command)
