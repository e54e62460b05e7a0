"""The process of one partition: a crawl in a folder of its own, with a channel to the other partitions.

    python -m centime.cluster.partition SOCKET

The engine is that of any crawl. In each turn it calls `Partition` to receive and apply batches, and to send those whose
frames are durable (`exchange.py`). Batches are closed after a sync, once per second, or at once if there is nothing
else to do. Everything goes through the socket to the coordinator. If the coordinator dies, so does this process.
"""

import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

from centime.cluster.budgets import BUDGETS
from centime.cluster.exchange import WINDOW, Exchange
from centime.cluster.message import Acknowledged, Message, Sent
from centime.cluster.order import (
    ANY,
    AddressesGranted,
    AddressesWanted,
    Begin,
    Carried,
    Close,
    Command,
    Ended,
    Failed,
    Opened,
    PackedReport,
    Resume,
    Round,
    Standing,
    Stop,
    pack,
    unpack_begin,
    unpack_order,
)
from centime.cluster.replicas.lacking import read_lacking_again
from centime.cluster.replicas.replica import Shipper
from centime.cluster.replicas.said import Fenced, Has, Kept, Refused, Stored
from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.fetchers import spare_fetchers
from centime.crawl.engine.loop import FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE, Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.search.indexer import indexing
from centime.model.errors import BadSetting, CentimeError
from centime.processes.channel import MessageSocket
from centime.processes.clock import RunClock
from centime.processes.parent import die_with_parent
from centime.processes.spare import Spare
from centime.shard.transfers.exchanging import transfers_of
from centime.store.versions.change_log import end_log

FLUSH_SECONDS = 1.0  # from one batch for a partition to the next, while pages are fetched
REPEAT_SECONDS = 5.0  # after which a batch that is not acknowledged is sent again
MOST_WAITING = 4 * WINDOW  # batches for a partition that does not answer; its money waits in the ledger
OWN_SHARE = 0.25  # of the error that all partitions settle to: the part for the debts of one partition's pages
STEP = 0.1  # of the error of all, to which one settles before it sends transfers: paying the rest first is useless
MOST_PAYMENTS_PER_PAGE = 3 * FINAL_PAYMENTS_PER_PAGE  # in all steps together
SETTLING_SECONDS = 0.5  # between two looks while there is nothing to pay or to send
INDEX_SECONDS = 300.0  # for the last update of the index, half of what the coordinator waits for
TOP = 8


class Partition:
    """One partition and its line to the coordinator; the `Peers` of its engine."""

    def __init__(
        self, line: MessageSocket, opened: CrawlWriter, begin: Begin, spares: list[Spare], clock: Callable[[], float]
    ) -> None:
        self._line = line
        self._opened = opened
        self._shard = opened.shard
        self._transfers = transfers_of(opened.shard)
        self._exchange = Exchange(opened.shard, begin.incarnation)
        self._others = [other for other in range(begin.partitions) if other != begin.partition]
        self._pages = begin.pages
        self._threshold, self._error = 1, 1.0
        self._flushed = 0.0
        self._sent: dict[int, tuple[int, float]] = {}  # the last batch that was sent to each partition, and when
        self._settling = self._closing = False
        self._ids = begin.partition, begin.incarnation
        self._shipper = Shipper(opened.folder.path, *self._ids) if begin.replicated else None
        self._synced = 0  # frames that are on the disk
        self.stored = 0.0 if begin.replicated else float("inf")
        if self._shipper is not None:
            self._say(self._shipper.look())
        else:
            end_log(opened.folder.versions)
        self._to_send = True  # whether something may leave that could not before
        self._inbox = CommandInbox(opened.folder.path)
        self._commands: dict[str, Path] = {}  # files of commands that were not carried out yet
        self._carried: list[tuple[int, Carried]] = []  # to be said when the replica has these frames
        for command in begin.commands:
            self._put(command)
        self.ending = ""
        self.certified: float | None = None
        self.hurries = True  # answers of the last run wait
        self._clock = clock
        self._ended_at = float("inf")
        self._is_late = False  # the coordinator wants it to end at once
        self.engine = Engine(opened, Limits(seconds=begin.seconds), spares=spares, peers=self)

    # ---- the interface for the engine

    def pages_left(self, used: int) -> float:
        """How many more pages may be leased."""
        return float("inf") if self._pages == ANY else self._pages - used

    def request_addresses(self, fetcher: int, addresses: dict[str, float]) -> None:
        """Requests addresses from the coordinator."""
        self._say(AddressesWanted(fetcher, addresses))

    def wait(self, seconds: float) -> None:
        """Waits for this many seconds, or until there is a message."""
        self._line.wait(seconds)

    def turn(self, now: float, *, synced: bool) -> None:
        """Receives and applies messages, closes batches, and sends the messages that may leave."""
        if self._shipper is not None:
            for part in self._shipper.settings(self._opened.folder.settings):
                self._say(part)
            for part in self._shipper.tail(self._shard.journal):
                self._say(part)
        if synced:
            self._synced = self._shard.journal.next_index
            self.hurries = False
            self._make_durable()
            if now - self._flushed >= FLUSH_SECONDS or self._is_idle:
                self._flush(now)
        for message in self._line.receive():
            self._take(now, message)
        if self._commands or self._carried:
            self._answer_commands()
        self._send(now)

    def _make_durable(self) -> None:
        """Allows messages to leave whose frames are on the disk and on the replica."""
        self._exchange.made_durable(int(min(self._synced, self.stored)))
        self._to_send = True

    def settle(self) -> None:
        """Pays debts and sends transfers until the coordinator says that all debts are paid."""
        self._settling = True
        ledger = self._transfers.ledger
        payments, reached = MOST_PAYMENTS_PER_PAGE * max(1, ledger.pages), 0.0
        while not self._closing:
            frame, before = self._shard.frame, ledger.payments
            error = max(OWN_SHARE * FINAL_ERROR, STEP * self._error)
            if payments > 0 and ledger.error() > max(error, reached):
                self._shard.settle(error, min(payments, ledger.pages))
                payments -= ledger.payments - before
                # rounding may prevent further progress
                reached = 0.0 if ledger.payments > before else 1.1 * ledger.error()
            self._shard.journal.sync()
            self.turn(self.engine.now(), synced=True)
            if self._shard.frame == frame:
                self._line.wait(SETTLING_SECONDS)

    # ---- messages

    def _take(self, now: float, packed: bytes) -> None:
        match unpack_order(packed):
            case Round() as asked:
                self._answer(now, asked)
            case Command() as command:
                self._put(command)
            case Stop(reason, at_once):
                self.ending = reason
                if at_once:
                    self.engine.stop()
                    self.engine.stop()
            case AddressesGranted(fetcher, leases):
                self.engine.grant(fetcher, leases)
            case Close():
                self._closing = True
            case Resume(replicated):
                self._resume(replicated)
            case Has() as has if self._shipper is not None:
                self._shipper.must_be_newest(has)
                self._shard.journal.flush()
                for part in self._shipper.differences(has, self._shard.journal.next_index):
                    self._say(part)
            case Kept(number=number) if self._shipper is not None:
                self._shipper.bodies.kept(number)
            case Stored(frames=frames):
                self.stored = max(self.stored, frames)
                self._make_durable()
            case Refused():
                raise Fenced(f"{self._opened.folder.path}: another process has taken over this partition")
            case Sent() as message:
                self._exchange.take(now, message)
                self.engine.run_facts.nothing_left = ""
                self.hurries = self._to_send = True
            case Acknowledged() as message:
                self._exchange.take(now, message)
                self._to_send = True

    def _resume(self, replicated: bool) -> None:
        """Begins to send the folder to the process that keeps the replica now, or stops sending."""
        if not replicated:
            if self._shipper is not None:
                self._shipper.bodies.end()
            self._shipper, self.stored = None, float("inf")
            self._make_durable()
            return
        if self._shipper is None:
            self._shipper = Shipper(self._opened.folder.path, *self._ids)
            self.stored = 0.0
        self._say(self._shipper.look())

    def _put(self, command: Command) -> None:
        """Puts a command into the inbox of this partition, from which the engine takes it as in any crawl."""
        self._commands[command.id] = self._inbox.put(unpack_command(command.packed))

    def _answer_commands(self) -> None:
        for identity, path in list(self._commands.items()):
            if not path.exists():
                del self._commands[identity]
                self._carried.append((self._shard.frame, Carried(identity, self._inbox.refusal(path))))
        while self._carried and self._carried[0][0] <= self.stored:
            self._say(self._carried.pop(0)[1])

    def _answer(self, now: float, asked: Round) -> None:
        engine, settings = self.engine, self._shard.settings
        used = engine.run_facts.visits + engine.under_way
        self._pages = asked.pages if asked.pages == ANY else max(asked.pages, used)
        self._threshold, self._error = max(1, asked.threshold), asked.error
        self.certified = asked.shown
        if asked.budget and not self._settling:
            with suppress(BadSetting):  # two budgets exclude each other: the answer says which one it has
                engine.set(now, asked.budget)
            settings = self._shard.settings
        channels = self._transfers
        details: dict[str, Any] = {}
        if asked.report:
            details["report"] = PackedReport.of(channels.report())
        if asked.facts:
            begun = process_time()
            details |= {"facts": engine.statistics(now), "top": self._opened.top(TOP)}
            details["facts_cpu"] = process_time() - begun
        self._say(
            Standing(
                number=asked.number,
                time=now,
                visits=engine.run_facts.visits,
                under_way=engine.under_way,
                pages=self._pages,
                budget={name: getattr(settings, name.replace("-", "_")) for name in BUDGETS},
                nothing_left=engine.run_facts.nothing_left,
                closed=sum(channel.number for channel in channels.outgoing.values()),
                applied=sum(channel.number for channel in channels.incoming.values()),
                to_name=sum(channel.to_send for channel in channels.outgoing.values()),
                frame=self._shard.frame,
                settling=self._settling,
                refreshes=settings.refreshes(),
                known=self._shard.pages.count,
                proxies=channels.ledger.proxies,
                lacks_bodies=self.lacks_bodies,
                **details,
            )
        )

    def _flush(self, now: float) -> None:
        """Closes a batch for each partition that something must be sent to."""
        self._flushed = now
        for other in self._others:
            waiting = self._transfers.outgoing.get(other)
            if waiting is not None and len(waiting.outbox) < MOST_WAITING:
                while self._transfers.has_news(other, self._threshold) and self._shard.flush(
                    now, other, self._threshold
                ):
                    self.hurries = True
                    if len(waiting.outbox) >= MOST_WAITING:
                        break

    def _send(self, now: float) -> None:
        if self._to_send or any(now - when >= REPEAT_SECONDS for _, when in self._sent.values()):
            self._to_send = False
            for message in self._due(now):
                self._say(message)
        self._line.flush()

    def _due(self, now: float) -> Iterator[Message]:
        """The messages that may leave and were not sent a moment ago."""
        last = self._sent
        self._sent = {}
        for message in self._exchange.outgoing():
            if isinstance(message, Sent):
                number, when = last.get(message.receiver, (0, 0.0))
                if message.number <= number and now - when < REPEAT_SECONDS:
                    self._sent[message.receiver] = number, when
                    continue
                self._sent[message.receiver] = max(number, message.number), now
            yield message

    def _say(self, message: Any) -> None:
        self._line.say(pack(message))

    def run(self) -> str:
        """Runs the engine to its end; returns the reason in words."""
        ending = self.engine.run()
        self._ended_at = self._clock()
        return ending

    def is_hurried(self) -> bool:
        """Whether the run was stopped, or the coordinator waits for its end."""
        if self._ended_at < float("inf"):
            for packed in self._line.receive():  # all other messages are too late
                self._is_late |= unpack_order(packed) == Stop(self.ending, at_once=True)
        return self._is_late or self.engine.is_hurried() or self._clock() - self._ended_at > INDEX_SECONDS

    @property
    def lacks_bodies(self) -> bool:
        """Whether the replica does not have all stored bodies yet."""
        return self._shipper is not None and not self._shipper.bodies.is_whole

    @property
    def _is_idle(self) -> bool:
        return not self.engine.under_way


def _run(line: MessageSocket, begin: Begin) -> None:
    given = dict(begin.given) | {"partition": begin.partition, "partitions": begin.partitions}
    clock = RunClock(begin.ahead)
    folder = Path(begin.folder)
    with (
        spare_fetchers(given.get("workers")) as spares,
        open_writer(folder, begin.seeds, given, where=begin.where, clock=clock, trust=begin.trust) as opened,
    ):
        lost = read_lacking_again(opened, clock())
        partition = Partition(line, opened, begin, spares, clock)
        line.say(pack(Opened([*_notes(folder, opened), *([f"partition {begin.partition}: {lost}"] if lost else [])])))
        with indexing(folder, opened.settings, partition.is_hurried) as indexer:
            ending = partition.run()
        trouble = indexer.trouble()
        notes = [*partition.engine.run_facts.notes, *([trouble] if trouble else [])]
        if ending != partition.ending and not ending.startswith("the "):
            notes.append(ending)
        if partition.lacks_bodies:
            notes.append(f"the replica of partition {begin.partition} lacks stored bodies; the next run sends them")
    line.say(pack(Ended(notes)))


def _notes(folder: Path, opened: CrawlWriter) -> list[str]:
    """What a person should know about the opening of a partition."""
    notes = [f"upgraded to the newest format: {'; '.join(opened.upgraded)}"] if opened.upgraded else []
    if opened.let_in:
        notes.append(f"the new options let in {opened.let_in} URLs that were refused before")
    return [f"{folder}: {note}" for note in [*notes, *opened.notes]] + [*filter(None, [opened.said_of_clock])]


def main(number: int | None = None) -> None:
    """Runs a partition on the inherited socket."""
    die_with_parent()
    for stop in (signal.SIGINT, signal.SIGTERM):  # they reach all processes; the coordinator decides when to stop
        signal.signal(stop, signal.SIG_IGN)
    gc.freeze()
    line = MessageSocket(socket.socket(fileno=int(sys.argv[1]) if number is None else number))
    with suppress(EOFError, ConnectionError):  # the coordinator is gone, and has ended this run
        try:
            _run(line, unpack_begin(line.first()))
        except (CentimeError, OSError) as trouble:
            line.say(pack(Failed(type(trouble).__name__, str(trouble))))
        while line.unsent:
            line.wait(1.0)
            line.flush()


if __name__ == "__main__":
    main()
