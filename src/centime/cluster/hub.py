"""The processes of a cluster, and the messages between them: partitions, keepers of replicas, and the coordinator in
whose process this is.

Each process has one socket, to the hub, which carries messages by their receiver and keeps none. A partition whose
process dies is started again: from its folder, or if that is gone from its replica. A keeper that dies is started again
too, and partitions then ask it which files it has.

    a copy moves        the partition connects to another keeper. Until that one has all frames, nothing leaves, and the
                        old copy still counts
    a partition moves   first its copy does, with all stored bodies; then its process is killed, and the copy becomes
                        the partition. The keeper stores nothing of the older process any more
    a node is lost      its partitions continue from their copies; without one they wait for the node to come back

Over 400 lines: which message may leave depends on the current processes, copies and moves, all of which are kept here.
"""

import logging
import selectors
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from socket import socket
from typing import NamedTuple

from msgspec import structs

from centime.cluster.addresses import AddressDesk
from centime.cluster.folder import ClusterFolder
from centime.cluster.hosting import Hosting
from centime.cluster.member import Member
from centime.cluster.message import Acknowledged, Sent
from centime.cluster.nodes.token import NotAdmitted
from centime.cluster.order import (
    AddressesGranted,
    AddressesWanted,
    Answer,
    Begin,
    Carried,
    Ended,
    Failed,
    Opened,
    Resume,
    Standing,
    pack,
    unpack_answer,
)
from centime.cluster.placement import NOWHERE, Placement
from centime.cluster.process import NoProcess, Process
from centime.cluster.replicas.keeper import Restore, Restored
from centime.cluster.replicas.keeper import unpack_answer as unpack_from_keeper
from centime.cluster.replicas.said import (
    Body,
    Copied,
    Dropped,
    IsWhole,
    Kept,
    Look,
    Rows,
    Stored,
    Tail,
    ToKeeper,
    Trouble,
    Whole,
)
from centime.model.errors import CentimeError, NoRoom
from centime.processes.open_files import raise_limit

MOST_RESTARTS = 1_000
MOST_TROUBLES = 20  # of keepers that report why they end: a restart helps the first time, or never
RETURN_SECONDS = 60.0  # for which a partition waits for a node that has it
ARRANGE_SECONDS = 0.5  # between two looks at the nodes
_log = logging.getLogger("centime.cluster")
KINDS: dict[type, str] = {
    Tail: "tails",
    Stored: "tails",
    Body: "bodies",
    Rows: "bodies",
    Kept: "bodies",
}  # of bytes between nodes
READ_WRITE = selectors.EVENT_READ | selectors.EVENT_WRITE


class Again(NamedTuple):
    """The process of a partition was replaced; `before` is the one that died."""

    before: Member


Event = tuple[Member, Opened | Standing | Carried | Failed | Ended | Again]


class KeeperProcess(NamedTuple):
    """The process that keeps the replicas of a node."""

    node: str
    process: Process


@dataclass
class Following:
    """A copy under construction at another node than before; `moves`: the partition follows it."""

    node: str
    moves: bool = False
    has_looked: bool = False


class Hub:
    """All processes of one run; `begin` gives the first message to a process of a partition."""

    def __init__(
        self,
        folder: ClusterFolder,
        hosting: Hosting,
        placement: Placement,
        begin: Callable[[int], Begin],
        now: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._hosting = hosting
        self._placement = placement
        self._begin = begin
        self._now = now
        self._selector = selectors.DefaultSelector()
        self._restarts = 0
        self._troubles = 0
        self.between_nodes = Counter[str]()  # bytes to and from processes of other nodes: batches, tails, copies
        self._opened: set[int] = set()  # partitions that were open in this run
        self._waiting: dict[int, float] = {}  # partitions without a process, and since when
        self._following: dict[int, Following] = {}
        self._moving: dict[int, str] = {}  # partitions whose copies have all frames, but maybe not all bodies yet
        self._arranged_at = 0.0
        self._addresses = AddressDesk(now()) if folder.about.incarnations else AddressDesk()
        self.is_ending = False  # no more moves
        self.members: list[Member] = []
        self.keepers: dict[str, KeeperProcess] = {}

    def start(self) -> None:
        """Starts all processes; partitions without a folder follow in the first turns."""
        about = self._folder.about
        raise_limit(about.partitions)
        if about.replicas:
            for node in sorted(self._hosting.there()):
                self._keeper_at(node)
        incarnations = about.incarnations or [0] * about.partitions
        for partition in range(about.partitions):
            if not incarnations[partition]:
                if self._placement.homes[partition] == NOWHERE:
                    usable = self._usable or self._hosting.there()
                    self._placement.settle_in(partition, self._placement.home_for_new(usable))
                self.members.append(self._start(partition))
            elif self._has_crawl(partition):
                self.members.append(self._start(partition))
            else:
                self.members.append(Member(partition, 0, NoProcess()))
                self._waiting[partition] = self._now()

    def exchange(self, timeout: float) -> Iterator[Event]:
        """Carries messages, waiting up to `timeout` seconds for the first; yields the events that the coordinator must
        know."""
        for key, _ in self._selector.select(timeout):
            owner: Member | KeeperProcess = key.data
            process = owner.process
            with suppress(OSError):  # it has died; its last messages are still to be received
                process.flush()
            try:
                for packed in process.receive():
                    if isinstance(owner, Member):
                        yield from self._take(owner, packed)
                    else:
                        yield from self._take_from_keeper(owner, packed)
            except (OSError, EOFError):
                if isinstance(owner, Member):
                    yield from self.lost(owner)
                else:
                    self._replace(owner)
        now = self._now()
        if now - self._arranged_at >= ARRANGE_SECONDS:
            self._arranged_at = now
            yield from self._arrange()
        for key in list(self._selector.get_map().values()):
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if key.data.process.unsent else 0)
            if key.events != events:
                self._selector.modify(key.fileobj, events, key.data)

    def lost(self, member: Member, why: str = "its process died") -> Iterator[Event]:
        """Replaces the process of a partition, which has died or does not answer."""
        has_process = member is self.members[member.partition] and member.partition not in self._waiting
        if member.ended is not None or not has_process:
            return
        member.why_lost = why
        facts = {
            "crawl": self._folder.path.name,
            "partition": member.partition,
            "node": self.node_of(member),
            "why": why,
        }
        _log.warning("a partition was lost", extra={"facts": facts | {"process": member.process.pid}})
        self._end(member)
        self._count_restart()
        if member.partition in self._opened or not self._has_crawl(member.partition):
            self._waiting[member.partition] = self._now()
            yield from self._revive(member)
        else:
            member.ended = Ended([])
            code = member.process.returncode
            words = "its process died" + ("" if code is None else f" with code {code}")
            yield member, Failed("CentimeError", f"{words}; the same command continues")

    def close(self) -> None:
        """Ends all processes."""
        for process in self._processes:
            process.hang_up()
        for process in self._processes:
            process.end()
        self._hosting.close()
        self._selector.close()

    # ---- messages

    def _take(self, member: Member, packed: bytes) -> Iterator[Event]:
        member.heard_at = self._now()
        message: Answer = unpack_answer(packed)
        match message:
            case Sent() | Acknowledged():
                receiver = self.members[message.receiver]
                if self.node_of(member) != self.node_of(receiver):
                    self.between_nodes["batches"] += len(packed)
                if receiver.ended is None:
                    receiver.process.say(packed)
            case Look() | Copied() | Dropped() | Tail() | Body() | Rows() | Whole():
                self.between_nodes[KINDS.get(type(message), "copies")] += len(packed)
                self._to_keeper(member, message, packed)
            case AddressesWanted(fetcher, wanted):
                holder, now = (member.partition, member.incarnation, fetcher), self._now()
                leases = {name: self._addresses.grant(holder, name, delay, now) for name, delay in wanted.items()}
                member.order(AddressesGranted(fetcher, leases))
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
            case Failed(sentence=sentence) if self._has_only_copy(member.partition):
                yield from self.lost(member, f"its folder is gone: {sentence}")
            case Failed() | Ended():
                member.ended = message if isinstance(message, Ended) else Ended([])
                self._selector.unregister(member.process)
                yield member, message

    def _to_keeper(self, member: Member, message: ToKeeper, packed: bytes) -> None:
        """Carries a part of a replica; parts for the previous keeper are dropped, because the next one starts over."""
        following = self._following.get(member.partition)
        if following is not None and isinstance(message, Look):
            following.has_looked = True
        if following is None or following.has_looked:
            node = following.node if following is not None else self._placement.copies[member.partition]
            if node in self.keepers:
                self.keepers[node].process.say(packed)

    def _take_from_keeper(self, keeper: KeeperProcess, packed: bytes) -> Iterator[Event]:
        answer = unpack_from_keeper(packed)
        self.between_nodes[KINDS.get(type(answer), "copies")] += len(packed)
        member = self.members[answer.partition]
        if isinstance(answer, Trouble):
            self._heed(keeper, answer)
        elif isinstance(answer, Restored):
            if answer.is_missing and member.partition in self._waiting:  # that disk was lost: home may come back
                self._placement.copied(member.partition, NOWHERE)
                member.is_lost = False
            elif answer.trouble:
                member.ended = Ended([])
                yield member, Failed("CentimeError", answer.trouble)
            elif member.is_lost:
                before = self._placement.promoted(member.partition)
                if before != NOWHERE:
                    self._hosting.drop(before, member.partition)
                    self._hosting.drop_copy(keeper.node, member.partition)
                yield self._start_again(member)
        elif member.ended is None and member.incarnation == answer.incarnation and not member.is_lost:
            following = self._following.get(member.partition)
            if isinstance(answer, Stored) and following and following.node == keeper.node and following.has_looked:
                before = self._placement.copied(member.partition, keeper.node)
                if before not in (NOWHERE, keeper.node):
                    self._hosting.drop_copy(before, member.partition)
                del self._following[member.partition]
                if following.moves:
                    self._moving[member.partition] = keeper.node
            elif isinstance(answer, IsWhole) and self._moving.get(member.partition) == keeper.node:
                del self._moving[member.partition]
                if not self.is_ending:
                    self._end(member)
                    self._waiting[member.partition] = self._now()
                    self._restore(member)
                    return
            member.process.say(packed)

    def _heed(self, keeper: KeeperProcess, trouble: Trouble) -> None:
        """Allows a restart of a keeper that could not continue; CentimeError if a restart would not help."""
        facts = {"partition": trouble.partition, "node": keeper.node, "why": trouble.sentence}
        _log.warning("a replica could not be kept", extra={"facts": {"crawl": self._folder.path.name} | facts})
        self._troubles += 1
        if trouble.error == NoRoom.__name__ or self._troubles > MOST_TROUBLES:
            kind = NoRoom if trouble.error == NoRoom.__name__ else CentimeError
            raise kind(
                f"the replica of partition {trouble.partition} cannot be kept: {trouble.sentence}. "
                "When this is repaired, the same command continues"
            )

    # ---- nodes

    @property
    def _usable(self) -> list[str]:
        return [node for node in self._hosting.there() if node not in self._hosting.leaving()]

    def _arrange(self) -> Iterator[Event]:
        """Handles lost nodes, waiting partitions, missing copies, and partitions that should move."""
        for node in self._hosting.turn(self._now()):
            yield from self._lose(node)
        for partition in list(self._waiting):
            member = self.members[partition]
            if member.ended is None and not member.is_lost:
                yield from self._revive(member)
        if self._folder.about.replicas:  # also at the end: messages wait until their frames are stored
            for member in self.members:
                self._protect(member)
        if self.is_ending:
            return
        is_settled = not self._waiting and not self._following and not self._moving
        if is_settled and all(one.is_open for one in self.members):
            move = self._placement.next_move(self._usable, self._hosting.leaving())
            if move is not None:
                self._follow(self.members[move[0]], Following(move[1], moves=True))

    def _lose(self, node: str) -> Iterator[Event]:
        keeper = self.keepers.pop(node, None)
        if keeper is not None:
            self._forget(keeper.process)
        for partition in [number for number, one in self._following.items() if one.node == node]:
            del self._following[partition]
        self._moving = {number: to for number, to in self._moving.items() if to != node}
        for member in list(self.members):
            if member.is_lost and self._placement.copies[member.partition] == node:
                member.is_lost = False  # lost with the node that was restoring its folder; it waits again
            if self._placement.homes[member.partition] == node and member.partition not in self._waiting:
                yield from self.lost(member, f"node {node} was lost")

    def _protect(self, member: Member) -> None:
        """Assigns a copy at a node that stays; without another node, the partition continues without a copy."""
        partition = member.partition
        copy = self._placement.copies[partition]
        if not member.is_open or member.ended is not None or partition in self._following or copy in self._usable:
            return
        node = self._copy_for(partition)
        if node != NOWHERE:
            self._follow(member, Following(node))
        elif copy != NOWHERE:
            self._go_without(partition)
            member.order(Resume(replicated=False))

    def _copy_for(self, partition: int) -> str:
        return self._placement.copy_for(partition, self._usable, [one.node for one in self._following.values()])

    def _go_without(self, partition: int) -> None:
        """Declares that no copy counts any more, before the partition makes anything durable that the copy lacks."""
        before = self._placement.copied(partition, NOWHERE)
        if before != NOWHERE:
            self._hosting.drop_copy(before, partition)

    def _follow(self, member: Member, following: Following) -> None:
        self._following[member.partition] = following
        if self._keeper_at(following.node) is None:
            del self._following[member.partition]
        else:
            member.order(Resume())

    def _revive(self, member: Member) -> Iterator[Event]:
        """Starts a partition without a process from its folder or its copy, if one of them is there."""
        partition = member.partition
        home, copy = self._placement.homes[partition], self._placement.copies[partition]
        if self._has_crawl(partition):
            yield self._start_again(member)
        elif copy != NOWHERE and copy in self._hosting.there():
            self._restore(member)
        elif self._is_hopeless(partition):
            member.ended = Ended([])
            del self._waiting[partition]
            what = "its folder is gone" if home in self._hosting.there() else f"node {home} is unreachable"
            kept = "there is no copy" if copy == NOWHERE else f"so is node {copy}, which has a copy"
            yield member, Failed("CentimeError", f"{what}, and {kept}; when it is back, the same command continues")

    def _is_hopeless(self, partition: int) -> bool:
        """Whether no node that may still come back has the partition: its home is back without it, and there is no
        copy; or they are away for too long.
        """
        copied = self._placement.copies[partition] != NOWHERE
        home_is_there = self._placement.homes[partition] in self._hosting.there()
        return (home_is_there and not copied) or self._now() - self._waiting[partition] > RETURN_SECONDS

    # ---- processes

    @property
    def _processes(self) -> list[Process]:
        return [member.process for member in self.members] + [keeper.process for keeper in self.keepers.values()]

    @property
    def _sockets(self) -> list[socket]:
        return [process.connection for process in self._processes if process.fileno() >= 0]

    def _has_crawl(self, partition: int) -> bool:
        return self._hosting.has_crawl(self._placement.homes[partition], partition)

    def _has_only_copy(self, partition: int) -> bool:
        """Whether the folder of a partition is gone while a copy of it is there."""
        return self._placement.copies[partition] in self._hosting.there() and not self._has_crawl(partition)

    def _start(self, partition: int) -> Member:
        """Starts the process of a partition at its home; if that fails, the node will soon count as lost."""
        home = self._placement.homes[partition]
        copy = self._placement.copies[partition]
        self._following.pop(partition, None)
        replicated = bool(self._folder.about.replicas)
        if replicated and copy not in self._usable:
            node = self._copy_for(partition)
            replicated = node != NOWHERE and self._keeper_at(node) is not None
            if replicated:
                self._following[partition] = Following(node)
            else:
                self._go_without(partition)
        elif not replicated:
            self._go_without(partition)  # a copy that was made for a move
        begin = self._begin(partition)
        ahead = self._hosting.ahead(home)
        begin = structs.replace(
            begin,
            folder=self._hosting.folder_of(home, partition),
            ahead=begin.ahead if ahead is None else ahead,
            replicated=replicated,
        )
        process: Process
        try:
            process = self._hosting.start_partition(home, begin, self._sockets)
        except (OSError, NotAdmitted):
            self._waiting[partition] = self._now()
            process = NoProcess()
        else:
            self._waiting.pop(partition, None)
        member = Member(partition, begin.incarnation, process)
        if process.fileno() >= 0:
            self._selector.register(process, READ_WRITE, member)
        return member

    def _start_again(self, member: Member) -> Event:
        fresh = self.members[member.partition] = self._start(member.partition)
        fresh.last = member.last
        return fresh, Again(member)

    def _keeper_at(self, node: str) -> KeeperProcess | None:
        """The keeper of a node, started if need be; None if the node does not answer."""
        if node not in self.keepers:
            try:
                process = self._hosting.start_keeper(node, self._sockets)
            except (OSError, NotAdmitted):
                return None
            self.keepers[node] = KeeperProcess(node, process)
            self._selector.register(process, READ_WRITE, self.keepers[node])
        return self.keepers[node]

    def node_of(self, member: Member) -> str:
        """The node that runs a partition."""
        return self._placement.homes[member.partition]

    def copy_of(self, member: Member) -> str:
        """The node that keeps the replica of a partition; empty if there is none."""
        return self._placement.copies[member.partition]

    def _replace(self, keeper: KeeperProcess) -> None:
        """Starts a keeper again that has died."""
        self._forget(keeper.process)
        self._count_restart()
        del self.keepers[keeper.node]
        if self._keeper_at(keeper.node) is None:
            return
        for member in self.members:
            following = self._following.get(member.partition)
            node = following.node if following else self._placement.copies[member.partition]
            if node == keeper.node and member.ended is None:
                if member.is_lost:
                    self._restore(member)
                else:
                    if following is not None:
                        following.has_looked = False
                    member.order(Resume())

    def _restore(self, member: Member) -> None:
        """Orders the folder of a partition from its keeper; nothing older is stored there from now on."""
        partition = member.partition
        node = self._placement.copies[partition]
        keeper = self._keeper_at(node)
        if keeper is None:
            return
        member.is_open, member.is_lost = False, True
        incarnation = self._folder.next_incarnation(partition)
        keeper.process.say(pack(Restore(partition, incarnation, self._hosting.folder_of(node, partition))))

    def _end(self, member: Member) -> None:
        self._following.pop(member.partition, None)
        self._moving.pop(member.partition, None)
        member.is_open = False
        self._forget(member.process)

    def _forget(self, process: Process) -> None:
        if process.fileno() >= 0:
            self._selector.unregister(process)
        process.kill()

    def _count_restart(self) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            raise CentimeError(f"processes of partitions died {self._restarts} times; the same command continues")
