"""Connections to a node: for one question, for the line of a run, and for each process that runs there."""

from contextlib import suppress
from socket import socket
from time import monotonic

from centime.cluster.nodes.said import (
    Busy,
    Find,
    Found,
    FromNode,
    Kill,
    Ping,
    Pong,
    Ready,
    Start,
    Work,
    pack,
    unpack_answer,
)
from centime.cluster.nodes.token import call
from centime.model.errors import BadInput, InUse
from centime.processes.channel import MessageSocket
from centime.processes.clock import RunClock

CALL_SECONDS = 3.0
ASK_SECONDS = 5.0
SILENT_SECONDS = 3.0  # of a ping without an answer, after which a node gets no requests


class Asked(MessageSocket):
    """A connection for questions and answers."""

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
        """The CPU time that it has used, as last reported by the node."""
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
    """The line of this run to a node; InUse if another run of the crawl has one."""

    def __init__(self, address: str, token: bytes, run: str, crawl: str, clock: RunClock) -> None:
        super().__init__(address, token)
        before = clock()
        ready = self.ask(Work(run, crawl))
        if isinstance(ready, Busy):
            self.hang_up()
            raise InUse(f"{address}: another run of this crawl is there")
        if not isinstance(ready, Ready):
            raise OSError(f"{address}: no node")
        after = clock()
        self.ahead = (before + after) / 2 - ready.steady
        self.folder, self.copy = ready.folder, ready.copy
        self.heard_at = after
        self.processes: dict[int, tuple[int, float]] = {}
        self._asked_at: float | None = None  # when the first ping since its last message was sent
        self._found: dict[str, bool] = {}

    def ping(self, now: float) -> None:
        """Asks for the state of its processes."""
        self._asked_at = now if self._asked_at is None else self._asked_at
        self.say(pack(Ping()))

    def is_silent(self, now: float) -> bool:
        """Whether it does not answer pings; OSError or EOFError if the line has ended."""
        self.hear(now)
        return self._asked_at is not None and now - self._asked_at > SILENT_SECONDS

    def hear(self, now: float) -> None:
        """Processes the messages that have arrived; OSError or EOFError if the line has ended."""
        self.flush()
        for packed in self.receive():
            self.heard_at, self._asked_at = now, None
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
