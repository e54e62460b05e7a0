"""The processes of a cluster on this machine, and the messages between them: partitions, keepers of replicas, and the
coordinator in whose process this is.

Each process has one socket, to the hub, which carries messages by their receiver and keeps none. A partition whose
process dies is started again: from its folder, or if that is gone from its replica. A keeper that dies is started again
too, and partitions then ask it what it has.
"""

import selectors
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from socket import socket
from typing import NamedTuple

from centime.cluster.folder import ClusterFolder, node_of, nodes_of
from centime.cluster.keeper import Keeper, Restore, Restored
from centime.cluster.keeper import unpack_answer as unpack_from_keeper
from centime.cluster.keepers import KeeperProcess, keeper_of
from centime.cluster.member import Member
from centime.cluster.message import Acknowledged, Sent
from centime.cluster.order import Answer, Begin, Carried, Ended, Failed, Opened, Resume, Standing, pack, unpack_answer
from centime.cluster.replica import Copied, Dropped, Look, Stored, Tail
from centime.files.disk import make_folder
from centime.model.errors import CentimeError
from centime.processes.open_files import raise_limit
from centime.store.folder import is_crawl

MOST_RESTARTS = 1_000
READ_WRITE = selectors.EVENT_READ | selectors.EVENT_WRITE


class Again(NamedTuple):
    """The process of a partition was replaced; `before` is the one that died."""

    before: Member


Event = tuple[Member, Opened | Standing | Carried | Failed | Ended | Again]


class Hub:
    """All processes of one run; `begin` gives the first message to a process of a partition."""

    def __init__(self, folder: ClusterFolder, begin: Callable[[int], Begin], now: Callable[[], float]) -> None:
        self._folder = folder
        self._begin = begin
        self._now = now
        self._selector = selectors.DefaultSelector()
        self._restarts = 0
        self.between_nodes = Counter[str]()  # bytes to and from processes of other nodes: batches, tails, copies
        self._opened: set[int] = set()  # partitions that were open in this run
        self.members: list[Member] = []
        self.keepers: list[KeeperProcess] = []  # by node

    def start(self) -> None:
        """Starts all processes."""
        about = self._folder.about
        raise_limit(about.partitions)
        if about.replicas:
            make_folder(self._folder.path / "replicas")
            self._restore_missing()
            for node in range(nodes_of(about.cluster)):
                self.keepers.append(self._start_keeper(node))
        for partition in range(about.partitions):
            self.members.append(self._start(partition))

    def exchange(self, timeout: float) -> Iterator[Event]:
        """Carries messages, waiting up to so many seconds for the first; gives what the coordinator must know."""
        for key, _ in self._selector.select(timeout):
            process: Member | KeeperProcess = key.data
            with suppress(OSError):  # it has died; what it has said last is still to be received
                process.flush()
            try:
                for packed in process.receive():
                    if isinstance(process, Member):
                        yield from self._take(process, packed)
                    else:
                        yield from self._take_from_keeper(packed)
            except (OSError, EOFError):
                if isinstance(process, Member):
                    yield from self.lost(process)
                else:
                    self._replace(process)
        for key in list(self._selector.get_map().values()):
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if key.data.unsent else 0)
            if key.events != events:
                self._selector.modify(key.data, events, key.data)

    def lost(self, member: Member) -> Iterator[Event]:
        """Replaces the process of a partition, which has died or does not answer."""
        if member.ended is not None:
            return
        self._selector.unregister(member)
        member.kill()
        self._count_restart()
        if self.keepers and not is_crawl(self._folder.folder_of(member.partition)):
            member.is_open, member.is_lost = False, True
            self._restore(member)
        elif member.partition in self._opened:
            yield self._start_again(member)
        else:
            member.ended = Ended([])
            yield (
                member,
                Failed("CentimeError", f"its process died with code {member.returncode}; the same command goes on"),
            )

    def close(self) -> None:
        """Ends all processes."""
        for process in (*self.members, *self.keepers):
            process.hang_up()
        for process in (*self.members, *self.keepers):
            process.end()
        self._selector.close()

    # ---- messages

    def _take(self, member: Member, packed: bytes) -> Iterator[Event]:
        member.heard_at = self._now()
        message: Answer = unpack_answer(packed)
        match message:
            case Sent() | Acknowledged():
                receiver = self.members[message.receiver]
                if self._node_of(member) != self._node_of(receiver):
                    self.between_nodes["batches"] += len(packed)
                if receiver.ended is None:
                    receiver.say(packed)
            case Look() | Copied() | Dropped() | Tail():
                self.between_nodes["tails" if isinstance(message, Tail) else "copies"] += len(packed)
                self._keeper_of(member).say(packed)
            case Standing():
                member.standing = message
                member.last = message if message.facts is not None else member.last
                yield member, message
            case Carried():
                yield member, message
            case Opened():
                member.is_open = True
                self._opened.add(member.partition)
                yield member, message
            case Failed() | Ended():
                member.ended = message if isinstance(message, Ended) else Ended([])
                self._selector.unregister(member)
                yield member, message

    def _take_from_keeper(self, packed: bytes) -> Iterator[Event]:
        answer = unpack_from_keeper(packed)
        self.between_nodes["tails" if isinstance(answer, Stored) else "copies"] += len(packed)
        member = self.members[answer.partition]
        if not isinstance(answer, Restored):
            if member.ended is None and member.incarnation == answer.incarnation:
                member.say(packed)
        elif answer.trouble:
            member.ended = Ended([])
            yield member, Failed("CentimeError", answer.trouble)
        elif member.is_lost:
            yield self._start_again(member)

    # ---- processes

    @property
    def _sockets(self) -> list[socket]:
        return [one.connection for one in (*self.members, *self.keepers) if one.fileno() >= 0]

    def _start(self, partition: int) -> Member:
        member = Member(self._begin(partition), self._sockets)
        self._selector.register(member, READ_WRITE, member)
        return member

    def _start_again(self, member: Member) -> Event:
        fresh = self.members[member.partition] = self._start(member.partition)
        fresh.last = member.last
        return fresh, Again(member)

    def _start_keeper(self, node: int) -> KeeperProcess:
        keeper = KeeperProcess(node, self._folder.path / "replicas", self._sockets)
        self._selector.register(keeper, READ_WRITE, keeper)
        return keeper

    def _node_of(self, member: Member) -> int:
        return node_of(member.partition, self._folder.about.cluster)

    def _keeper_of(self, member: Member) -> KeeperProcess:
        return self.keepers[keeper_of(member.partition, len(self.keepers))]

    def _replace(self, keeper: KeeperProcess) -> None:
        """Starts a keeper again that has died."""
        self._selector.unregister(keeper)
        keeper.kill()
        self._count_restart()
        self.keepers[keeper.node] = fresh = self._start_keeper(keeper.node)
        for member in self.members:
            if self._keeper_of(member) is fresh and member.ended is None:
                if member.is_lost:
                    self._restore(member)
                else:
                    member.order(Resume())

    def _restore(self, member: Member) -> None:
        """Orders the folder of a lost partition from its keeper; nothing older is stored there from now on."""
        incarnation = self._folder.next_incarnation(member.partition)
        folder = self._folder.folder_of(member.partition)
        self._keeper_of(member).say(pack(Restore(member.partition, incarnation, str(folder))))

    def _restore_missing(self) -> None:
        """Makes the folders of partitions that were lost since the last run, before any process is started."""
        keeper = Keeper(self._folder.path / "replicas")
        for partition, incarnation in enumerate(self._folder.about.incarnations):
            folder = self._folder.folder_of(partition)
            if incarnation and not is_crawl(folder):
                keeper.take(Restore(partition, self._folder.next_incarnation(partition), str(folder)))

    def _count_restart(self) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            raise CentimeError(f"processes of partitions died {self._restarts} times; the same command goes on")
