"""A cluster for some seconds of simulated time, from a seed: nodes crawl and tell each other, and everything fails.

    killed         a process dies: what it has written stays, what it has buffered is lost
    power          its machine loses power: of what was not synced, any part is there, torn or in another order
    lost           its machine is gone with its disk: the partition is opened elsewhere, from its replica
    frozen         it stops for long, is answered for elsewhere, wakes up and goes on (a zombie)
    moved          its partition moves to another machine in good order
    full           its disk has no room for a while: the process ends, and is started again
    slow           it does nothing for a while
    apart          two partitions do not reach each other for a while
    coordinator    whoever grants addresses is started again, and remembers nothing

A partition is opened elsewhere only when its old node may contact nobody any more (`TERM`). The laws (`laws.py`) are
checked after every event. In the end everything heals, all that is unsent is sent, and every page of every partition
has received exactly what all rows carry to it.
"""

import errno
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.cluster.keeper import Fenced, Keeper
from bench.cluster.laws import Broken, Log, Seen, must_balance, must_be_settled, must_certify, seen
from bench.cluster.network import Network
from bench.cluster.node import ADDRESS_DELAY, TERM, Node, address_of
from bench.cluster.web import Web
from bench.faults.disk import Disk, Step
from bench.faults.recorded import IGNORED, Recording
from centime.cluster.addresses import AddressDesk
from centime.cluster.message import Acknowledged, Sent
from centime.fetch.address_leases import AddressLease
from centime.model.errors import NoRoom, TransferBroken
from centime.shard.transfers.exchanging import transfers_of

FAULTS = ("killed", "power", "lost", "frozen", "moved", "full", "slow", "apart", "coordinator")
ENDING = frozenset({"killed", "power", "lost", "frozen", "moved", "full"})  # those after which a partition is reopened
WRITING = frozenset({"write", "allocate", "create", "make"})
QUIET_TURNS = 40
FIRST_TIME = 1_000.0
ALL = 1 << 60  # steps of a recording
REPORTS = 4  # of a partition that are remembered

Files = Mapping[str, bytes | bytearray]
MakeNode = Callable[[int, int, int, Path, Web, float, Callable[[], int]], Node]


class World:
    """One simulated cluster."""

    def __init__(
        self,
        seed: int,
        room: Path,
        *,
        partitions: int = 3,
        faults: float = 0.035,
        make_node: MakeNode = Node,
        keeper: type[Keeper] = Keeper,
        desk: type[AddressDesk] = AddressDesk,
    ) -> None:
        self.chance = Random(f"cluster {seed}")
        self.room = room
        self.counts: Counter[str] = Counter()
        self._make_node = make_node
        self._faults = faults
        self._web = Web(partitions)
        self._keeper = keeper(partitions)
        self._network = Network(self.chance, 0.1 if faults else 0.0, 0.1 if faults else 0.0)
        self._log = Log()
        self._make_desk = desk
        self._desk = desk()
        self._grants: list[tuple[float, Node, str, AddressLease]] = []  # on their way, with when they arrive
        self._now = FIRST_TIME
        self._incarnations = [0] * partitions
        self._full: dict[str, float] = {}  # folders without room, and until when
        self._slow: dict[int, float] = {}
        self._zombies: list[Node] = []
        self._reports: list[deque[Seen]] = [deque(maxlen=REPORTS) for _ in range(partitions)]
        self._recording = Recording(room)
        self.nodes: list[Node] = []

    def run(self, turns: int) -> None:
        """Lets nodes take so many turns, heals the cluster and checks it; Broken says which law does not hold."""
        with self._recording.watching(self._before_step):
            try:
                files = begun(len(self._incarnations))
                self.nodes = [self._opened(number, files[number]) for number in range(len(files))]
                for _ in range(turns):
                    self._turn()
                self._heal()
            except TransferBroken as trouble:
                raise Broken(f"once: {trouble}") from trouble
            finally:
                self._full.clear()
                for node in [*self.nodes, *self._zombies]:
                    node.end()

    @property
    def facts(self) -> Counter[str]:
        """What happened, counted."""
        return self.counts + Counter(batches=self._log.batches, requests=self._log.requests)

    # ---- events

    def _turn(self) -> None:
        """What arrives, a turn of one node, and perhaps a zombie and a fault, also in the middle of the turn."""
        self._now += self.chance.random()
        for message in self._network.arrived(self._now):
            if self._slow.get(message.receiver, 0.0) <= self._now:  # otherwise it does not listen
                self._act(message.receiver, lambda node, told=message: node.take(told))  # type: ignore[misc]
        if self._zombies and self.chance.random() < 0.3:
            self._haunt(self.chance.choice(self._zombies))
        partition = self.chance.randrange(len(self.nodes))
        if self._slow.get(partition, 0.0) > self._now:
            return
        for action, share in ACTIONS:
            if self.chance.random() < share:
                self._act(partition, lambda node, act=action: act(self, node))  # type: ignore[misc]
            if self.chance.random() < self._faults:
                self._fail(self.chance.choice(FAULTS), self.chance.choice(self.nodes))

    def _act(self, partition: int, action: Callable[[Node], None]) -> None:
        """Lets a node do something, and checks all laws after it if its state has changed."""
        node = self.nodes[partition]
        node.now = self._now
        frame = node.shard.frame
        try:
            action(node)
        except NoRoom:
            self.counts["no room"] += 1
            self._full.pop(node.path.name, None)
            self._reopen(node, self._disk(node.path.name).image(ALL).files)
            return
        self.counts["events"] += 1
        if node.shard.frame != frame:
            must_balance(node)
            self._log.must_have_applied_once(node)

    def _record(self, node: Node) -> None:
        node.record()

    def _settle(self, node: Node) -> None:
        node.shard.settle(1e-9, self.chance.randrange(1, 12))

    def _flush(self, node: Node) -> None:
        for other in range(len(self.nodes)):
            if other != node.partition and self.chance.random() < 0.8:
                node.shard.flush(self._now, other, self.chance.choice((1, 1, 1 << 20)))

    def _snapshot(self, node: Node) -> None:
        node.snapshot()

    def _lease(self, node: Node) -> None:
        node.lease(self._keeper)
        node.asks += [address_of(lease.url) for lease in node.leases]
        self._ask(node)

    def _ask(self, node: Node) -> None:
        """Asks for the addresses that a node wants."""
        for address in dict.fromkeys(node.asks):
            holder = node.partition, node.incarnation, 0
            lease = self._desk.grant(holder, address, ADDRESS_DELAY, self._now)
            if self.chance.random() < 0.9:  # otherwise the answer is lost
                self._grants.append((self._now + self.chance.choice((0.0, 0.0, 0.3)), node, address, lease))
        node.asks.clear()

    def _sync(self, node: Node) -> None:
        node.sync(self._keeper)
        self._saw(node)

    def _send(self, node: Node) -> None:
        for message in node.exchange.outgoing():
            if isinstance(message, Sent):
                self._log.left(message)
            elif isinstance(message, Acknowledged):
                self._log.answered(message.sender, message.receiver, message.number)
            self._network.send(self._now, message)
            self.counts["messages"] += 1

    def _contact(self, node: Node) -> None:
        for grant in [one for one in self._grants if one[0] <= self._now and one[1] is node]:
            self._grants.remove(grant)
            node.addresses.grant({grant[2]: grant[3]})
        self._log.contacted(self._now, node.fetch(self._keeper, self._web, self.chance))
        self._ask(node)

    def _saw(self, node: Node) -> None:
        """Remembers a report of durable frames, and checks a cut of reports of any moments."""
        self._reports[node.partition].append(seen(node))
        if all(self._reports):
            must_certify([self.chance.choice(reports) for reports in self._reports])
            self.counts["certificates"] += 1

    # ---- faults

    def _fail(self, fault: str, node: Node) -> None:
        self.counts[fault] += 1
        match fault:
            case "killed":
                self._reopen(node, self._disk(node.path.name).image(ALL).files)
            case "power":
                disk = self._disk(node.path.name)
                self._reopen(node, disk.after_power_failure(len(disk.steps), self.chance).files)
            case "lost" | "moved" | "frozen":
                if fault == "moved":
                    self._act(node.partition, lambda moved: moved.sync(self._keeper))
                    node = self.nodes[node.partition]
                copy = self._keeper.copies[node.partition]
                if not copy.folder:  # nothing was ever promised
                    return
                if fault == "frozen":
                    self._zombies.append(node)
                if fault != "moved":
                    self._now = max(self._now, copy.stored_at + TERM)
                self._reopen(node, self._disk(copy.folder, copy.steps).image(ALL).files, ends=fault != "frozen")
            case "full":
                self._full[node.path.name] = self._now + self.chance.choice((0.5, 3.0))
            case "coordinator":
                self._desk = self._make_desk(self._now)
            case "slow":
                self._slow[node.partition] = self._now + self.chance.choice((0.5, 3.0))
            case _:
                other = self.chance.randrange(len(self.nodes))
                self._network.separate(node.partition, other, self._now + self.chance.choice((1.0, 5.0)))

    def _haunt(self, zombie: Node) -> None:
        """A frozen node wakes up, and goes on as if nothing had happened."""
        zombie.now = self._now
        try:
            self._contact(zombie)
            zombie.record()
            self._flush(zombie)
            zombie.sync(self._keeper)
            self._send(zombie)
        except (Fenced, NoRoom):
            self.counts["fenced"] += 1
            self._zombies.remove(zombie)
            zombie.end()

    def _reopen(self, node: Node, files: Files, *, ends: bool = True) -> None:
        """Opens a partition again, with these files, on this or another machine."""
        if ends:
            self._full.pop(node.path.name, None)
            node.end()
            shutil.rmtree(node.path, ignore_errors=True)
        self.nodes[node.partition] = fresh = self._opened(node.partition, files)
        self.counts["crashes"] += 1
        must_balance(fresh)
        self._log.must_have_applied_once(fresh)

    def _opened(self, partition: int, files: Files) -> Node:
        self._incarnations[partition] += 1
        incarnation = self._incarnations[partition]
        self._keeper.begin(partition, incarnation)
        path = self.room / f"{partition}-{incarnation}"
        write_files(path, files)
        for name in sorted(files):
            self._recording.add_existing(path / name)
        steps = self._recording.steps
        return self._make_node(
            partition, len(self._incarnations), incarnation, path, self._web, self._now, steps.__len__
        )

    def _disk(self, folder: str, steps: int | None = None) -> Disk:
        """The disk of a node, as far as its folder goes, after all steps or the first ones."""

        def below(name: str) -> str:
            return "." if name == folder else name.removeprefix(f"{folder}/")

        some = [step for step in self._recording.steps[:steps] if f"{step.path}/".startswith(f"{folder}/")]
        return Disk([replace(step, path=below(step.path), target=below(step.target)) for step in some])

    def _before_step(self, step: Step) -> None:
        if self._full and step.kind in WRITING and self._full.get(step.path.partition("/")[0], 0.0) > self._now:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # ---- the end

    def _heal(self) -> None:
        """Ends all faults, sends all that is unsent, and checks every page."""
        self._network.heal()
        self._full.clear()
        self._slow.clear()
        others = range(len(self.nodes))
        for _ in range(QUIET_TURNS):
            self._now += 10.0
            quiet = not len(self._network)
            for node in list(self.nodes):
                node.now = self._now
                node.visits.clear()
                for other in others:
                    while other != node.partition and node.shard.flush(self._now, other):
                        quiet = False
                node.sync(self._keeper)
                quiet &= not any(channel.outbox for channel in transfers_of(node.shard).outgoing.values())
                self._send(node)
                self._now += 10.0
                for message in self._network.arrived(self._now):
                    self.nodes[message.receiver].now = self._now
                    self.nodes[message.receiver].take(message)
            if quiet:
                break
        else:
            raise Broken("kept: batches were never acknowledged")
        for node in self.nodes:
            must_balance(node)
            self._log.must_have_applied_once(node)
        must_be_settled(self.nodes, self._web)


def write_files(folder: Path, files: Files) -> None:
    """Makes a folder of files."""
    for parent in {(folder / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@cache
def begun(partitions: int) -> list[Files]:
    """The folders of a cluster that has just been created."""
    with TemporaryDirectory() as room:
        web = Web(partitions)
        made: list[Files] = []
        for partition in range(partitions):
            node = Node(partition, partitions, 0, Path(room) / f"{partition}", web, FIRST_TIME)
            node.shard.journal.sync()
            names = [path for path in node.path.rglob("*") if path.is_file() and path.name not in IGNORED]
            made.append({str(path.relative_to(node.path)): path.read_bytes() for path in names})
            node.end()
        return made


ACTIONS: tuple[tuple[Callable[[World, Node], None], float], ...] = (  # of a turn, with how often they are done
    (World._record, 0.9),
    (World._settle, 0.3),
    (World._flush, 0.7),
    (World._send, 0.5),
    (World._snapshot, 0.03),
    (World._lease, 0.6),
    (World._contact, 0.8),
    (World._sync, 0.4),
    (World._send, 0.7),
)
