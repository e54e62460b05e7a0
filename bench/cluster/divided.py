"""A link graph divided among partial ledgers in one process, and settled with transfers between them.

Hosts go to partitions by the hash of their names, as in a crawl. All rows are read once, then partitions take turns:
each pays the pages that owe more than a share of the mean of all debts, tells the others, and what it tells arrives one
turn later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from time import process_time

import numpy as np
import numpy.typing as npt

from centime.lab.synthetic.weblike import host_starts
from centime.ledger import payment
from centime.ledger.accounts import BATCH, PROXY
from centime.ledger.certificate import Certificate, certified
from centime.ledger.memory_rows import WebRows
from centime.ledger.partial import PartialLedger
from centime.model.address import partition_of
from centime.model.graph import Graph
from centime.model.row_batch import NO_WEIGHTS, RowBatch
from centime.shard.transfers.batch import pack_entries, unpack_entries
from centime.shard.transfers.channel import Members

PAY_SHARE, TELL_SHARE = 0.9, 0.95  # of the mean debt: pages and proxies above them are paid and told
LARGE_HOST = 100  # pages of the smallest host of a real graph, about a tenth of the mean
BATCH_BYTES = 60  # of a batch besides its entries: chain, sums, frame
MOST_TURNS = 4_000

Numbers = npt.NDArray[np.int64]


def owners_of_pages(web: Graph, partitions: int, *, is_model: bool) -> Numbers:
    """The partition of each page. The hosts of the model `weblike` of seed 0 are known. Of a real graph without names,
    runs of pages with a power law of sizes stand for hosts, because it is sorted by URL.
    """
    random = np.random.default_rng(0)
    if is_model:
        starts = host_starts(web.pages, random)
    else:
        sizes = np.minimum(web.pages // 20, (random.pareto(1.1, web.pages // LARGE_HOST + 1) + 1) * LARGE_HOST)
        starts = np.append(0, np.cumsum(sizes.astype(np.int64)))
        starts = np.append(starts[starts < web.pages], web.pages)
    names = (f"http://h{number}.example/" for number in range(len(starts) - 1))
    owners = np.array([partition_of(name, partitions) for name in names], dtype=np.int64)
    return np.repeat(owners, np.diff(starts))


@dataclass(slots=True)
class Part:
    """One partition: its ledger, and the other ends of its channels."""

    ledger: PartialLedger
    pages: Numbers  # their numbers in the graph
    members: list[Members]  # proxies by receiver
    named: list[Numbers]  # pages of the receiver that they stand for
    sent: list[int]
    applied: list[int]
    cursor: int = 0


@dataclass(slots=True)
class Effort:
    """What settling has cost."""

    payments: int = 0
    entries: int = 0
    batches: int = 0
    entry_bytes: int = 0
    seconds: float = 0.0
    turns: int = 0
    error: float = inf
    proxies: int = 0


class Divided:
    """A graph on many partial ledgers, all of whose rows are read."""

    def __init__(self, web: Graph, partitions: int, *, is_model: bool = True) -> None:
        owners = owners_of_pages(web, partitions, is_model=is_model)
        local = np.empty(web.pages, dtype=np.int64)
        for number in range(partitions):
            mine = np.flatnonzero(owners == number)
            local[mine] = np.arange(len(mine))
        self.parts = [self._part(web, number, owners, local, partitions) for number in range(partitions)]
        self.effort = Effort(proxies=sum(part.ledger.proxies for part in self.parts))
        self._on_the_way: list[tuple[int, int, bytes]] = []

    @staticmethod
    def _part(web: Graph, number: int, owners: Numbers, local: Numbers, partitions: int) -> Part:
        pages = np.flatnonzero(owners == number)
        ledger = PartialLedger()
        ledger.join(len(pages))
        lengths = web.out_degree[pages]
        targets = WebRows(web).gather(pages).links().astype(np.int64)
        away = owners[targets] != number
        remote, which = np.unique(targets[away], return_inverse=True)
        ledger.join_proxies(len(remote))
        links = local[targets]
        links[away] = PROXY + which
        members, named = [], []
        for receiver in range(partitions):
            chosen = np.flatnonzero(owners[remote] == receiver)
            one = Members()
            one.extend(chosen)
            members.append(one)
            named.append(local[remote[chosen]])
        starts = np.cumsum(lengths) - lengths
        ledger.visit_many(np.arange(len(pages)), RowBatch(starts, lengths, links.astype(np.int32), NO_WEIGHTS))
        return Part(ledger, pages, members, named, [0] * partitions, [0] * partitions)

    def certificate(self) -> Certificate:
        """What all partitions certify now."""
        return certified(
            [
                part.ledger.report(number, tuple(part.sent), tuple(part.applied))
                for number, part in enumerate(self.parts)
            ]
        )

    def settle(self, error: float, turn: float, every: int = 1) -> Effort:
        """Pays and tells until the certified error is reached; a turn is this share of the pages of a partition, and
        each partition tells the others after `every` turns.
        """
        effort = self.effort
        for effort.turns in range(MOST_TURNS):
            self._deliver()
            certificate = self.certificate()
            effort.error = certificate.error
            effort.payments = sum(part.ledger.payments for part in self.parts)
            if certificate.error <= error:
                break
            mean = self._owed() / (certificate.sums.pages + effort.proxies)
            for number, part in enumerate(self.parts):
                _pay(part, int(PAY_SHARE * mean), max(64, int(turn * len(part.pages))))
                if (effort.turns + number) % every == 0:
                    self._tell(number, part, int(TELL_SHARE * mean))
        return effort

    def check(self) -> None:
        """Delivers everything and checks every unit."""
        for number, part in enumerate(self.parts):
            self._tell(number, part, 1)
        self._deliver()
        for part in self.parts:
            part.ledger.check()

    def importance(self) -> npt.NDArray[np.float64]:
        """The importance of every page of the graph."""
        sums = [part.ledger.sums for part in self.parts]
        x = np.empty(sum(len(part.pages) for part in self.parts))
        for number, part in enumerate(self.parts):
            rest = [one for other, one in enumerate(sums) if other != number]
            total = rest[0]
            for one in rest[1:]:
                total = total.plus(one)
            part.ledger.receive_sums(total)
            x[part.pages] = part.ledger.importance()
        return x

    def _owed(self) -> float:
        reports = (part.ledger.report(0, (), ()) for part in self.parts)
        return float(sum(report.owed + report.unsent for report in reports))

    def _tell(self, number: int, part: Part, threshold: int) -> None:
        began = process_time()
        for receiver, members in enumerate(part.members):
            if members.count:
                places, amounts, _ = part.ledger.take_unsent(members.numbers, threshold, members.count)
                if len(places):
                    packed = pack_entries(places, amounts)
                    part.sent[receiver] += int(np.abs(amounts).sum())
                    self._on_the_way.append((number, receiver, packed))
                    self.effort.entries += len(places)
                    self.effort.batches += 1
                    self.effort.entry_bytes += len(packed)
        self.effort.seconds += process_time() - began

    def _deliver(self) -> None:
        began = process_time()
        for sender, receiver, packed in self._on_the_way:
            names, part = self.parts[sender].named[receiver], self.parts[receiver]
            places, amounts = unpack_entries(packed, len(names))
            part.ledger.arrive(names[places], amounts)
            part.applied[sender] += int(np.abs(amounts).sum())
        self._on_the_way = []
        self.effort.seconds += process_time() - began


def _pay(part: Part, threshold: int, payments: int) -> None:
    """Pays pages above a threshold, from where the last turn ended."""
    ledger, chosen = part.ledger, np.empty(BATCH, dtype=np.int64)
    for cursor in _cursors(part, len(part.pages)):
        room = min(payments, BATCH)
        if not room:
            return
        count, after = payment.choose_above(ledger._accounts.books, threshold, cursor, chosen[:room])
        part.cursor = int(after)
        ledger._settle(chosen[:count])
        payments -= int(count)


def _cursors(part: Part, pages: int) -> Iterator[int]:
    """The places from which pages are chosen: once around."""
    end = part.cursor
    wrapped = part.cursor >= pages
    part.cursor = end = 0 if wrapped else end
    while part.cursor < pages:
        yield part.cursor
    if end:
        part.cursor = 0
        while part.cursor < end:
            yield part.cursor
