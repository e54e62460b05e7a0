"""The nodes of other machines, for a run: each has a line of this run, and lists itself at the head.

A node whose line ends, or says nothing for `LOST_SECONDS`, is lost: by then it has killed the processes of this run
itself (`node.py`), unless it is frozen with all of them. It may come back as a new node.

A run that waits sends nothing to its other nodes, which would consider it dead. So it never waits for a silent node,
and calls nodes and their head in threads (`calling.py`).
"""

import secrets
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket
from time import monotonic, sleep

import msgspec

from centime.cluster.folder import decode_about
from centime.cluster.nodes.calling import Calling
from centime.cluster.nodes.line import CALL_SECONDS, Asked, NodeLine, RemoteProcess, ask_node
from centime.cluster.nodes.said import (
    Drop,
    List,
    Listing,
    NodeInfo,
    Note,
    Start,
    pack,
    unpack_answer,
)
from centime.cluster.nodes.token import NotAdmitted, call
from centime.cluster.order import Begin
from centime.cluster.order import pack as pack_order
from centime.cluster.process import Process
from centime.model.errors import BadInput, CentimeError, InUse
from centime.processes.channel import MessageSocket
from centime.processes.clock import RunClock
from centime.store.folder import CLUSTER

PING_SECONDS = 1.0
LIST_SECONDS = 2.0
LOST_SECONDS = 10.0
HEAD_SECONDS = 10.0  # before a head that does not answer is called again
AGAIN_SECONDS = 5.0  # before a node that was lost is called again
END_SECONDS = 10.0  # in which nodes notice that the run before has ended


class RemoteNodes:
    """The nodes of a head, for one run of a crawl; `crawl` names the crawl on their disks. It is empty for work that
    may run several times at once.
    """

    def __init__(
        self, head: str, token: bytes, crawl: str, clock: RunClock, note: Callable[[str], None] = lambda said: None
    ) -> None:
        self._head, self._token, self._crawl, self._clock, self._note = head, token, crawl, clock, note
        self._run = secrets.token_hex(8)
        self._keys = 0
        self._lines: dict[str, NodeLine] = {}
        self._calls: dict[str, Calling[NodeLine]] = {}  # to nodes that are not met yet
        self._head_call: Calling[Asked] | None = None
        self._leaving: set[str] = set()
        self._lost_at: dict[str, float] = {}
        self._failed: set[str] = set()  # lost outside of a turn
        self._pinged_at = self._listed_at = -1e9
        self._asked: MessageSocket | None = None
        self._note_of: tuple[int, bytes] = (0, b"")  # the version of `cluster.json`, and its text
        self._noted: dict[str, int] = {}  # the version that each node was sent
        listing = ask_node(head, token, List())
        assert isinstance(listing, Listing)
        self._meet_first(listing.nodes)
        if not self._lines:
            raise BadInput(f"{head}: none of its {len(listing.nodes)} nodes answers")

    @property
    def newest(self) -> int:
        """The newest version of `cluster.json` of which the nodes had a copy when they were met; 0 without any."""
        versions = [0]
        for name, line in self._lines.items():
            with suppress(CentimeError):  # a damaged copy is replaced
                versions += [decode_about(line.copy, Path(name) / CLUSTER).version] if line.copy else []
        return max(versions)

    def there(self) -> Collection[str]:
        """The nodes whose lines are open."""
        return self._lines.keys()

    def leaving(self) -> Collection[str]:
        """The nodes that are to be emptied."""
        return self._leaving

    def turn(self, now: float) -> list[str]:
        """Pings all nodes, meets new ones; returns those that were lost."""
        lost, self._failed = self._failed, set()
        self._greet(now)
        self._send_notes()
        if now - self._pinged_at >= PING_SECONDS:
            self._pinged_at = now
            for line in self._lines.values():
                line.ping(now)
        for name, line in list(self._lines.items()):
            try:
                line.hear(now)
            except (OSError, EOFError, ValueError, msgspec.DecodeError):
                lost.add(name)
                continue
            if now - line.heard_at > LOST_SECONDS:
                lost.add(name)
        for name in lost:
            self._lose(name, now)
        if now - self._listed_at >= LIST_SECONDS:
            self._listed_at = now
            self._list(now)
        return sorted(lost)

    def folder_of(self, node: str, partition: int) -> str:
        """The folder of a partition on a node."""
        line = self._lines.get(node)
        return f"{line.folder if line else ''}/{self._name(partition)}"

    def has_crawl(self, node: str, partition: int) -> bool:
        """Whether it is there; a node that does not answer is lost."""
        if not self._answers(node):
            return False
        try:
            return self._lines[node].find(self._name(partition))
        except (OSError, EOFError):
            self._failed.add(node)
            return False

    def ahead(self, node: str) -> float | None:
        """How far the clock of the run is ahead of the node's."""
        return self._lines[node].ahead if node in self._lines else None

    def start_partition(self, node: str, begin: Begin, others: Iterable[socket]) -> Process:
        """Starts the process of a partition on a node."""
        return self._start(node, "partition", pack_order(begin))

    def start_keeper(self, node: str, others: Iterable[socket]) -> Process:
        """Starts the process that keeps replicas on a node."""
        folder = self._lines[node].folder if node in self._lines else ""
        return self._start(node, "keeper", f"{folder}/{self._crawl}/replicas".encode())

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
        for calling in self._calls.values():
            calling.give_up()
        if self._head_call is not None:
            self._head_call.give_up()

    def note(self, version: int, data: bytes, *, at_once: bool) -> None:
        """Sends all nodes a copy of `cluster.json`; with `at_once`, before any other message to them."""
        self._note_of = version, data
        if at_once:
            self._send_notes()

    def _send_notes(self) -> None:
        version, data = self._note_of
        for name, line in self._lines.items():
            if self._noted.get(name, 0) < version:
                self._noted[name] = version
                line.say(pack(Note(self._crawl, version, data)))
                with suppress(OSError):  # the next turn finds it lost
                    line.flush()

    def _name(self, partition: int) -> str:
        return f"{self._crawl}/partitions/{partition:02}"

    def _answers(self, node: str) -> bool:
        """Whether a node may get a request now; one that is silent, or failed since the last turn, may not."""
        if node not in self._lines or node in self._failed:
            return False
        try:
            is_silent = self._lines[node].is_silent(self._clock())
        except (OSError, EOFError, ValueError, msgspec.DecodeError):
            is_silent = True
        if is_silent:
            self._failed.add(node)
        return not is_silent

    def _start(self, node: str, kind: str, first: bytes) -> Process:
        if not self._answers(node):
            raise OSError(f"{node}: no answer")
        self._keys += 1
        line = self._lines[node]
        try:
            connection = call(node, self._token, CALL_SECONDS)
        except (OSError, NotAdmitted):
            self._failed.add(node)
            raise
        process = RemoteProcess(connection, Start(self._run, self._keys, kind), line)
        process.say(first)
        return process

    def _list(self, now: float) -> None:
        """Asks the head for its nodes, and uses its last answer; a run continues without its head."""
        try:
            if self._head_call is not None and self._head_call.is_done:
                calling, self._head_call = self._head_call, None
                self._asked = calling.result()
            if self._asked is None:
                self._head_call = self._head_call or Calling(partial(Asked, self._head, self._token))
                return
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
        """Calls the nodes that have no line yet."""
        self._leaving = {node.address for node in nodes if node.leaving}
        for name in [node.address for node in nodes]:
            is_known = name in self._lines or name in self._calls
            if not is_known and now - self._lost_at.get(name, -1e9) >= AGAIN_SECONDS:
                self._calls[name] = Calling(partial(NodeLine, name, self._token, self._run, self._crawl, self._clock))

    def _greet(self, now: float) -> list[InUse]:
        """Takes over the lines of nodes that have answered by now; returns the messages of those that serve another
        run."""
        busy = []
        for name, calling in [one for one in self._calls.items() if one[1].is_done]:
            del self._calls[name]
            try:
                self._lines[name] = calling.result()
            except InUse as elsewhere:
                busy.append(elsewhere)
                self._lost_at[name] = now
            except (OSError, EOFError, NotAdmitted):
                self._lost_at[name] = now
            else:
                self._note(f"node {name} takes part")
        return busy

    def _meet_first(self, nodes: list[NodeInfo]) -> None:
        """Meets all nodes that answer soon; InUse if another run of the crawl is active there. The end of a run that
        has just died may not have been noticed yet.
        """
        until = monotonic() + END_SECONDS
        while True:
            self._meet(nodes, self._clock())
            for calling in self._calls.values():
                calling.wait(CALL_SECONDS)
            busy = self._greet(self._clock())
            if not busy:
                return
            for line in self._lines.values():
                line.hang_up()
            self._lines.clear()
            if monotonic() > until:
                self.close()
                raise busy[0]
            sleep(0.2)
            self._lost_at.clear()

    def _lose(self, name: str, now: float) -> None:
        line = self._lines.pop(name, None)
        self._noted.pop(name, None)
        if line is not None:
            line.hang_up()
            self._lost_at[name] = now
            self._note(f"node {name} is lost")
