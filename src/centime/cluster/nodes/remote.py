"""The nodes of other machines, for a run: each has a line of this run, and lists itself at the head.

A node whose line ends, or says nothing for `LOST_SECONDS`, is lost: by then it has killed the processes of this run
itself (`node.py`), unless it is frozen with all of them. It may come back as a new node.
"""

import secrets
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from socket import socket
from time import monotonic

import msgspec

from centime.cluster.nodes.said import (
    Drop,
    Find,
    Found,
    FromNode,
    Kill,
    List,
    Listing,
    NodeInfo,
    Note,
    Ping,
    Pong,
    Ready,
    Start,
    Work,
    pack,
    unpack_answer,
)
from centime.cluster.nodes.token import NotAdmitted, call
from centime.cluster.order import Begin
from centime.cluster.order import pack as pack_order
from centime.cluster.process import Process
from centime.model.errors import BadInput
from centime.processes.channel import MessageSocket
from centime.processes.clock import RunClock

CALL_SECONDS = 3.0
ASK_SECONDS = 5.0
PING_SECONDS = 1.0
LIST_SECONDS = 2.0
LOST_SECONDS = 10.0
HEAD_SECONDS = 10.0  # before a head that does not answer is called again
AGAIN_SECONDS = 5.0  # before a node that was lost is called again


class Asked(MessageSocket):
    """A connection on which questions are answered."""

    def __init__(self, address: str, token: bytes) -> None:
        super().__init__(call(address, token, CALL_SECONDS))
        self.address = address

    def ask(self, question: object, seconds: float = ASK_SECONDS) -> FromNode:
        """The answer to a question; OSError if none comes."""
        self.say(pack(question))
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            for packed in self.exchange(left):
                answer: FromNode = unpack_answer(packed)
                return answer
        raise OSError(f"{self.address}: no answer within {seconds:g} seconds")


def ask_node(address: str, token: bytes, question: object) -> FromNode:
    """The answer of a node to one question; BadInput if there is none."""
    try:
        asked = Asked(address, token)
        try:
            return asked.ask(question)
        finally:
            asked.hang_up()
    except (OSError, EOFError) as trouble:
        raise BadInput(f"{address}: no node answers there: {trouble}") from trouble


class RemoteProcess(MessageSocket):
    """A process on a node, on a connection of its own."""

    def __init__(self, connection: socket, start: Start, line: "NodeLine") -> None:
        super().__init__(connection)
        self._key, self._line = start.key, line
        self.returncode: int | None = None
        self.say(pack(start))

    @property
    def pid(self) -> int:
        """Its number on its machine, once the node has said it."""
        return self._line.processes.get(self._key, (0, 0.0))[0]

    def cpu_seconds(self) -> float:
        """The CPU that it has used, as the node has said last."""
        return self._line.processes.get(self._key, (0, 0.0))[1]

    def end(self) -> None:
        """Hangs up; the node waits for its end."""
        self.hang_up()

    def kill(self) -> None:
        """Hangs up, and asks the node to kill it."""
        self.hang_up()
        self._line.say(pack(Kill(self._key)))
        with suppress(OSError):
            self._line.flush()


class NodeLine(Asked):
    """The line of this run to a node."""

    def __init__(self, address: str, token: bytes, run: str, clock: RunClock) -> None:
        super().__init__(address, token)
        before = clock()
        ready = self.ask(Work(run))
        if not isinstance(ready, Ready):
            raise OSError(f"{address}: no node")
        after = clock()
        self.ahead = (before + after) / 2 - ready.steady
        self.folder = ready.folder
        self.heard_at = after
        self.processes: dict[int, tuple[int, float]] = {}
        self._found: dict[str, bool] = {}

    def hear(self, now: float) -> None:
        """Takes what has come; OSError or EOFError if the line has ended."""
        self.flush()
        for packed in self.receive():
            self.heard_at = now
            self._take(unpack_answer(packed))

    def find(self, folder: str) -> bool:
        """Whether a folder is a crawl; OSError if the node does not answer."""
        self._found.pop(folder, None)
        self.say(pack(Find(folder)))
        for _ in range(int(ASK_SECONDS / 0.5)):
            self.flush()
            self.wait(0.5)
            for packed in self.receive():
                self._take(unpack_answer(packed))
            if folder in self._found:
                return self._found[folder]
        raise OSError(f"{self.address}: no answer")

    def _take(self, message: FromNode) -> None:
        match message:
            case Pong(processes):
                self.processes = processes
            case Found(folder, is_crawl):
                self._found[folder] = is_crawl


class RemoteNodes:
    """The nodes of a head, for one run of a crawl; `crawl` names the crawl on their disks."""

    def __init__(
        self, head: str, token: bytes, crawl: str, clock: RunClock, note: Callable[[str], None] = lambda said: None
    ) -> None:
        self._head, self._token, self._crawl, self._clock, self._note = head, token, crawl, clock, note
        self._run = secrets.token_hex(8)
        self._keys = 0
        self._lines: dict[str, NodeLine] = {}
        self._leaving: set[str] = set()
        self._lost_at: dict[str, float] = {}
        self._failed: list[str] = []  # lost outside of a turn
        self._pinged_at = self._listed_at = -1e9
        self._asked: MessageSocket | None = None
        self._note_of: tuple[int, bytes] = (0, b"")  # the version of `cluster.json`, and its text
        self._noted: dict[str, int] = {}  # the version that each node was sent
        listing = ask_node(head, token, List())
        assert isinstance(listing, Listing)
        self._meet(listing.nodes, clock())
        if not self._lines:
            raise BadInput(f"{head}: none of its {len(listing.nodes)} nodes answers")

    def there(self) -> Collection[str]:
        """The nodes whose lines are open."""
        return self._lines.keys()

    def leaving(self) -> Collection[str]:
        """The nodes that are to be emptied."""
        return self._leaving

    def turn(self, now: float) -> list[str]:
        """Pings all nodes, meets new ones; returns those that were lost."""
        lost, self._failed = self._failed, []
        self._send_notes()
        if now - self._pinged_at >= PING_SECONDS:
            self._pinged_at = now
            for line in self._lines.values():
                line.say(pack(Ping()))
        for name, line in list(self._lines.items()):
            try:
                line.hear(now)
            except (OSError, EOFError, ValueError, msgspec.DecodeError):
                lost.append(name)
                continue
            if now - line.heard_at > LOST_SECONDS:
                lost.append(name)
        for name in lost:
            self._lose(name, now)
        if now - self._listed_at >= LIST_SECONDS:
            self._listed_at = now
            self._list(now)
        return lost

    def folder_of(self, node: str, partition: int) -> str:
        """The folder of a partition on a node."""
        line = self._lines.get(node)
        return f"{line.folder if line else ''}/{self._name(partition)}"

    def has_crawl(self, node: str, partition: int) -> bool:
        """Whether it is there; a node that does not answer is lost."""
        if node not in self._lines:
            return False
        try:
            return self._lines[node].find(self._name(partition))
        except (OSError, EOFError):
            self._failed.append(node)
            return False

    def ahead(self, node: str) -> float | None:
        """How far the clock of the run is ahead of the node's."""
        return self._lines[node].ahead if node in self._lines else None

    def start_partition(self, node: str, begin: Begin, others: Iterable[socket]) -> Process:
        """Starts the process of a partition on a node."""
        return self._start(node, "partition", pack_order(begin))

    def start_keeper(self, node: str, others: Iterable[socket]) -> Process:
        """Starts the process that keeps replicas on a node."""
        return self._start(node, "keeper", f"{self._lines[node].folder}/{self._crawl}/replicas".encode())

    def start_ranker(self, node: str, first: bytes) -> Process:
        """Starts a process of a ranking on a node."""
        return self._start(node, "ranker", first)

    def drop(self, node: str, partition: int) -> None:
        """Asks a node to delete the folder of a partition."""
        if node in self._lines:
            self._lines[node].say(pack(Drop(self._name(partition))))

    def drop_copy(self, node: str, partition: int) -> None:
        """Asks a node to delete a replica."""
        if node in self._lines:
            self._lines[node].say(pack(Drop(f"{self._crawl}/replicas/{partition:02}")))

    def close(self) -> None:
        """Hangs up."""
        for line in self._lines.values():
            line.hang_up()
        if self._asked is not None:
            self._asked.hang_up()

    def note(self, version: int, data: bytes, *, at_once: bool) -> None:
        """Lets all nodes keep a copy of `cluster.json`, before whatever is said to them next if it is `at_once`."""
        self._note_of = version, data
        if at_once:
            self._send_notes()

    def _send_notes(self) -> None:
        version, data = self._note_of
        for name, line in self._lines.items():
            if self._noted.get(name, 0) < version:
                self._noted[name] = version
                line.say(pack(Note(self._crawl, version, data)))
                with suppress(OSError):  # it is found to be lost in the next turn
                    line.flush()

    def _name(self, partition: int) -> str:
        return f"{self._crawl}/partitions/{partition:02}"

    def _start(self, node: str, kind: str, first: bytes) -> Process:
        self._keys += 1
        line = self._lines[node]
        try:
            connection = call(node, self._token, CALL_SECONDS)
        except (OSError, NotAdmitted):
            self._failed.append(node)
            raise
        process = RemoteProcess(connection, Start(self._run, self._keys, kind), line)
        process.say(first)
        return process

    def _list(self, now: float) -> None:
        """Asks the head who is there, and takes its last answer; a run goes on without its head."""
        try:
            if self._asked is None:
                self._asked = Asked(self._head, self._token)
            for packed in self._asked.receive():
                message = unpack_answer(packed)
                if isinstance(message, Listing):
                    self._meet(message.nodes, now)
            self._asked.say(pack(List()))
            self._asked.flush()
        except (OSError, EOFError, NotAdmitted):
            if self._asked is not None:
                self._asked.hang_up()
            self._asked, self._listed_at = None, now + HEAD_SECONDS

    def _meet(self, nodes: list[NodeInfo], now: float) -> None:
        self._leaving = {node.address for node in nodes if node.leaving}
        for node in nodes:
            name = node.address
            if name in self._lines or now - self._lost_at.get(name, -1e9) < AGAIN_SECONDS:
                continue
            try:
                self._lines[name] = NodeLine(name, self._token, self._run, self._clock)
            except (OSError, NotAdmitted):
                self._lost_at[name] = now
                continue
            self._note(f"node {name} takes part")

    def _lose(self, name: str, now: float) -> None:
        line = self._lines.pop(name, None)
        self._noted.pop(name, None)
        if line is not None:
            line.hang_up()
            self._lost_at[name] = now
            self._note(f"node {name} is lost")
