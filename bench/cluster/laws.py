"""What must hold at every moment of a simulated cluster; `Broken` names the law that does not.

once          the batches that a partition has applied are those that their sender has closed, in their order
kept          an acknowledged batch is not lost
money         every unit of every partition is accounted for, proxies and channels included
certificate   the certificate of reports of any moments is at least the true error
politeness    no host is contacted twice within its delay, and no address, whoever contacts it
ownership     every page is in the partition that owns it
weights       the shares of a row are by whether both ends of a link have one host name, wherever they are
needs         what pages need is known to its owner, when nothing is on its way, and nothing has paid it
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.cluster.node import ADDRESS_DELAY, DELAY, INTERNAL, Node, address_of
from bench.cluster.web import Web
from centime.cluster.message import Sent
from centime.ledger.accounts import PROXY
from centime.ledger.certificate import Report, certified
from centime.ledger.payment import CLASS_MASK, KIND, PAID, RECEIVED
from centime.model.address import host_of, name_of
from centime.model.errors import CentimeError
from centime.shard.transfers.batch import chain_of, unpack_batch, unpack_entries
from centime.shard.transfers.exchanging import transfers_of

ROUNDING = 1e-11  # of the dense solution
CLOCK = 1e-6  # seconds


class Broken(Exception):
    """A law of the cluster does not hold."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A report, and what it rests on: fingerprints, money and rows of the pages of a partition at that moment."""

    report: Report
    pages: npt.NDArray[np.uint64]
    paid: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]
    emphasis: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint64]
    shares: npt.NDArray[np.float64]


def seen(node: Node) -> Seen:
    """A partition as it is now."""
    transfers = transfers_of(node.shard)
    books, count = transfers.ledger._accounts.books, node.shard.pages.count
    rows = node.shard.pages.rows.gather(np.arange(count, dtype=np.int64))
    links = rows.links()
    own, away = node.shard.pages.table.fingerprints, transfers.table.fingerprints
    targets = np.empty(len(links), dtype=np.uint64)
    targets[links < PROXY] = own[links[links < PROXY]]
    targets[links >= PROXY] = away[links[links >= PROXY] - PROXY]
    return Seen(
        transfers.report(),
        own.copy(),
        books.money[:count, PAID].copy(),
        books.money[:count, RECEIVED].copy(),
        books.emphasis[books.marks[:count, KIND] & CLASS_MASK],
        rows.lengths,
        targets,
        rows.shares() if len(rows.weights) else np.repeat(1.0 / np.maximum(1, rows.lengths), rows.lengths),
    )


class Together:
    """The graph that the reports of all partitions make together."""

    def __init__(self, cut: list[Seen], damping: float) -> None:
        self.names = np.concatenate([one.pages for one in cut])
        self.order = np.argsort(self.names)
        self.paid = np.concatenate([one.paid for one in cut])
        self.received = np.concatenate([one.received for one in cut])
        self.emphasis = np.concatenate([one.emphasis for one in cut])
        lengths = np.concatenate([one.lengths for one in cut])
        self.sources = np.repeat(np.arange(len(self.names)), lengths)
        self.shares = damping * np.concatenate([one.shares for one in cut])
        targets = np.concatenate([one.targets for one in cut])
        places = np.minimum(np.searchsorted(self.names[self.order], targets), max(0, len(self.names) - 1))
        self.targets = self.order[places]
        self.known = self.names[self.targets] == targets
        self.carried = np.zeros(len(self.names), dtype=np.int64)
        amounts = (self.paid[self.sources] * self.shares).astype(np.int64)
        np.add.at(self.carried, self.targets[self.known], amounts[self.known])

    def exact(self) -> npt.NDArray[np.float64]:
        """The exact PageRank, of sum 1."""
        system = np.eye(len(self.names))
        np.subtract.at(system, (self.targets[self.known], self.sources[self.known]), self.shares[self.known])
        x = np.asarray(np.linalg.solve(system, self.emphasis.astype(np.float64)), dtype=np.float64)
        return np.asarray(x / x.sum())


def must_certify(cut: list[Seen]) -> None:
    """Compares the certificate of reports with the true errors of the graph that they make together."""
    certificate = certified([one.report for one in cut])
    if not certificate.sums.emphasis:
        return
    graph = Together(cut, cut[0].report.damping)
    exact, total = graph.exact(), float(certificate.sums.paid)
    level = (total - float(graph.carried.sum())) / certificate.sums.emphasis
    true = np.abs((graph.carried + level * graph.emphasis) / total - exact).sum()
    level = certificate.sums.virtual / certificate.sums.emphasis
    shown = np.abs((graph.received + level * graph.emphasis) / total - exact).sum()
    if true > certificate.error + ROUNDING or shown > certificate.shown + ROUNDING:
        raise Broken(f"certificate: {certificate.error:.3g} and {certificate.shown:.3g}, true {true:.3g}, {shown:.3g}")


def must_balance(node: Node) -> None:
    """Checks every unit of a partition, and that every page is its own."""
    shard = node.shard
    try:
        shard.ledger.check()
        transfers_of(shard).check(shard.pages.table.fingerprints)
    except CentimeError as trouble:
        raise Broken(f"money or ownership: partition {node.partition}: {trouble}") from trouble


def must_be_settled(nodes: list[Node], web: Web) -> None:
    """Checks that each page has received what all rows carry to it, and that what pages need is known, when nothing is
    on its way.
    """
    cut = [seen(node) for node in nodes]
    graph = Together(cut, cut[0].report.damping)
    if len(np.unique(graph.names)) != len(graph.names):
        raise Broken("ownership: a page is in two partitions")
    if not graph.known.all():
        raise Broken("money: a page that is linked to is not known to its owner")
    wrong = np.flatnonzero(graph.carried != graph.received)
    if len(wrong):
        raise Broken(f"money: {len(wrong)} pages have not received what rows carry to them")
    if not np.allclose(graph.shares, cut[0].report.damping * _shares(graph, nodes), rtol=1e-12, atol=0):
        raise Broken("weights: a link has another share than that of its kind")
    known = {url for node in nodes for url in node.shard.pages.texts.every()}
    files = {url for node in nodes for url in node.shard.pages.texts.get_many(node.shard.requisites.every())}
    for node in nodes:
        pages = node.shard.pages
        read = np.flatnonzero(pages.were_read(np.arange(pages.count)))
        missing = {web.need_of(url) for url in pages.texts.get_many(read)} - {None} - known
        if missing:
            raise Broken(f"needs: {missing} of pages of partition {node.partition} are not known to their owners")
    if files != known - set(web.urls):
        raise Broken("needs: a file is a page, or a page a requisite")


def _shares(graph: Together, nodes: list[Node]) -> npt.NDArray[np.float64]:
    """The shares of all links, by the URLs of both ends."""
    names = np.array([name_of(host_of(url)) for node in nodes for url in node.shard.pages.texts.every()])
    weights = np.where(names[graph.sources] == names[graph.targets], INTERNAL, 1.0)
    sums = np.bincount(graph.sources, weights, len(names))
    return np.asarray(weights / sums[graph.sources])


class Log:
    """What was closed, acknowledged and contacted, whoever did it."""

    def __init__(self) -> None:
        # by sender and receiver: chain, and absolute and signed sum of all entries, by number
        self._closed: dict[tuple[int, int], dict[int, tuple[int, int, int]]] = defaultdict(lambda: {0: (0, 0, 0)})
        self._acknowledged: dict[tuple[int, int], int] = defaultdict(int)
        self._contacted: dict[str, float] = {}  # hosts and addresses
        self.batches = self.requests = 0

    def left(self, message: Sent) -> None:
        """Notes a batch that leaves; the content of its number is the same for ever."""
        closed, where = self._closed[message.sender, message.receiver], (message.sender, message.receiver)
        chain = chain_of(message.batch)
        if message.number not in closed:
            if message.number - 1 not in closed:
                raise Broken(f"once: batch {message.number} left before the one before it: {where}")
            _, amounts = unpack_entries(unpack_batch(message.batch).entries, 1 << 31)
            _, absolute, signed = closed[message.number - 1]
            closed[message.number] = chain, absolute + int(np.abs(amounts).sum()), signed + int(amounts.sum())
            self.batches += 1
        elif closed[message.number][0] != chain:
            raise Broken(f"once: batch {message.number} left with two contents: {where}")

    def answered(self, receiver: int, sender: int, number: int) -> None:
        """Notes that a partition has acknowledged batches."""
        self._acknowledged[sender, receiver] = max(number, self._acknowledged[sender, receiver])

    def must_have_applied_once(self, node: Node) -> None:
        """Checks the receiving ends of a partition."""
        for sender, channel in transfers_of(node.shard).incoming.items():
            if channel.number < self._acknowledged[sender, node.partition]:
                raise Broken(f"kept: partition {node.partition} has lost a batch of {sender} that it acknowledged")
            applied = channel.chain, channel.absolute, channel.signed
            if self._closed[sender, node.partition].get(channel.number) != applied:
                raise Broken(
                    f"once: partition {node.partition} has not applied batches to {channel.number} of {sender}"
                )

    def contacted(self, now: float, urls: list[str]) -> None:
        """Notes requests."""
        for url in urls:
            host = host_of(url)
            if now - self._contacted.get(host, float("-inf")) < DELAY - CLOCK:
                raise Broken(f"politeness: {host} at {self._contacted[host]:.2f} and at {now:.2f}")
            self._contacted[host] = now
            address = address_of(url)
            if now - self._contacted.get(address, float("-inf")) < ADDRESS_DELAY - CLOCK:
                raise Broken(f"politeness: address {address} at {self._contacted[address]:.2f} and at {now:.2f}")
            self._contacted[address] = now
            self.requests += 1
