"""A node: the process on a machine that runs partitions and keepers of crawls for every caller that knows the token.

It listens on one address and contacts only its head. Each process that it starts gets the connection on which it was
requested, so messages between the coordinator and a partition do not pass through the node.

The processes of a run end when its line hangs up, when no message came on it for some seconds, or with the node. So a
run that takes over the partitions of a disconnected node can wait until no process fetches for them any more.

Over 400 lines because it is one class: a request is answered where the processes and lines that it concerns are kept.
"""

import os
import selectors
import shutil
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from subprocess import Popen
from time import monotonic

import msgspec

from centime.cluster import partition
from centime.cluster.folder import decode_about
from centime.cluster.nodes import gathering
from centime.cluster.nodes.caller import Caller, Stranger
from centime.cluster.nodes.roster import Roster
from centime.cluster.nodes.said import (
    Busy,
    CrawlCopy,
    Crawls,
    Done,
    Drop,
    End,
    Find,
    Follow,
    Forget,
    Found,
    Join,
    Kill,
    Known,
    Leave,
    List,
    Listing,
    NodeInfo,
    Note,
    Ping,
    Pong,
    Ready,
    Send,
    Start,
    ToNode,
    Work,
    pack,
    unpack_order,
)
from centime.cluster.nodes.token import NotAdmitted, call, split_address
from centime.cluster.process import cpu_seconds
from centime.cluster.ranking import worker as ranker
from centime.cluster.replicas import keeper
from centime.files.disk import make_folder
from centime.files.replacement import replace_file
from centime.model.errors import BadInput, CentimeError
from centime.processes.channel import MessageSocket
from centime.processes.clock import steady_time
from centime.processes.handle import run_on
from centime.processes.open_files import raise_limit
from centime.processes.spare import Spare, fork_child
from centime.store.folder import CLUSTER, is_crawl
from centime.store.lock import lock_file, unlock_file

TURN_SECONDS = 0.5
JOIN_SECONDS = 1.0
CALL_SECONDS = 2.0
AGAIN_SECONDS = 5.0  # between two attempts to reach the head
SILENCE_SECONDS = 8.0  # of a run, after which its processes are killed: less than until a node counts as lost
MOST_CALLERS = 256
KINDS = {
    "ranker": (ranker.main, "centime.cluster.ranking.worker"),
    "partition": (partition.main, "centime.cluster.partition"),
    "keeper": (keeper.main, "centime.cluster.replicas.keeper"),
}


class _Line(MessageSocket):
    """A connection whose caller is known."""

    def __init__(self, connection: socket.socket, now: float) -> None:
        super().__init__(connection)
        self.heard_at = now
        self.run = ""  # the run that owns this line
        self.crawl = ""  # and its crawl, once it is named
        self.joined = ""  # the node that reports on this line that it is there


class Node:
    """One node; `listen` is an address of this machine, and the only one on which anything listens. `report` receives
    sentences for people about its head.
    """

    def __init__(
        self,
        listen: str,
        token: bytes,
        folder: Path,
        *,
        head: str = "",
        is_head: bool = False,
        report: Callable[[str], None] = lambda said: None,
    ) -> None:
        host, port = split_address(listen)
        try:
            if ip_address(host).is_unspecified:
                raise BadInput(f"{listen}: a node listens on one address of its machine, not on all of them")
        except ValueError:  # a name
            pass
        if head == listen:
            raise BadInput(f"{listen}: a node cannot join itself; the head is started with --head")
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_folder(folder)
        self._folder = folder.resolve()
        self._token = token
        self._head = head
        self._is_head = is_head
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        self._listener = socket.create_server((host, port), family=family, backlog=128)
        self._listener.setblocking(False)
        bound = self._listener.getsockname()[1]
        self.address = f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._callers: list[Caller] = []
        self._lines: list[_Line] = []
        self._processes: dict[tuple[str, int], Popen[bytes] | Spare] = {}
        self._sending: list[Popen[bytes] | Spare] = []
        self._roster = Roster()
        self._to_head: MessageSocket | None = None
        self._report, self._last_report = report, ""
        self._joined_at = self._called_at = -1e9
        self._ending = False

    def run(self, begins: Callable[[], None] = lambda: None) -> None:
        """Serves until `end` is called or requested; `begins` is called once it does. InUse if another node has its
        folder."""
        raise_limit(1024)
        lock = lock_file(self._folder, "another node keeps partitions here")
        try:
            begins()
            while not self._ending:
                self.turn(TURN_SECONDS)
        finally:
            self.close()
            unlock_file(lock)

    def end(self, *_: object) -> None:
        """Asks `run` to return."""
        self._ending = True

    def close(self) -> None:
        """Kills all processes and closes all connections."""
        for process in (*self._processes.values(), *self._sending):
            process.kill()
            process.wait(60.0)
        self._processes.clear()
        for connection in self._connections:
            connection.close()
        if self._to_head is not None:
            self._to_head.hang_up()
        self._listener.close()
        self._selector.close()

    def turn(self, timeout: float) -> None:
        """Accepts calls and processes messages, waiting up to `timeout` seconds for the first."""
        ready = self._selector.select(timeout)
        now = monotonic()
        for key, _ in ready:
            match key.fileobj:
                case Caller() as caller:
                    self._hear_first(caller, now)
                case _Line() as line:
                    self._hear(line, now)
                case _:
                    self._accept(now)
        for caller in [one for one in self._callers if now > one.until]:
            self._drop_caller(caller)
        for line in [one for one in self._lines if one.run and now - one.heard_at > SILENCE_SECONDS]:
            self._hang_up(line)
        self._processes = {key: process for key, process in self._processes.items() if not _has_ended(process)}
        self._sending = [process for process in self._sending if not _has_ended(process)]
        self._join(now)

    # ---- connections

    @property
    def _connections(self) -> list[socket.socket]:
        return [caller.connection for caller in self._callers] + [line.connection for line in self._lines]

    def _accept(self, now: float) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            if len(self._callers) >= MOST_CALLERS:
                self._drop_caller(self._callers[0])
            caller = Caller(connection, self._token, now)
            self._callers.append(caller)
            self._selector.register(caller, selectors.EVENT_READ)

    def _drop_caller(self, caller: Caller) -> None:
        self._callers.remove(caller)
        self._selector.unregister(caller)
        caller.connection.close()

    def _hear_first(self, caller: Caller, now: float) -> None:
        try:
            packed = caller.receive()
            if packed is None:
                return
            message: ToNode = unpack_order(packed)
        except (Stranger, msgspec.DecodeError):
            self._drop_caller(caller)
            return
        self._callers.remove(caller)
        self._selector.unregister(caller)
        match message:
            case Start(run, key, kind) if kind in KINDS:
                with suppress(OSError):  # no process can be started: the caller finds the connection closed
                    if any(line.run == run for line in self._lines):
                        self._processes[run, key] = self._start(*KINDS[kind], caller.connection)
                caller.connection.close()
            case Send():
                with suppress(OSError):
                    self._sending.append(self._start(gathering.main, gathering.__name__, caller.connection))
                caller.connection.close()
            case _:
                line = _Line(caller.connection, now)
                self._lines.append(line)
                self._selector.register(line, selectors.EVENT_READ)
                self._obey(line, [message], now)

    def _hear(self, line: _Line, now: float) -> None:
        try:
            line.flush()
            messages = [unpack_order(packed) for packed in line.receive()]
        except (OSError, EOFError, ValueError, msgspec.DecodeError):
            self._hang_up(line)
            return
        self._obey(line, messages, now)

    def _obey(self, line: _Line, messages: Sequence[ToNode], now: float) -> None:
        """Carries out the messages of a line; an error ends the line, and never the node."""
        try:
            for message in messages:
                line.heard_at = now
                self._take(line, message, now)
        except (OSError, CentimeError):
            self._hang_up(line)

    def _hang_up(self, line: _Line) -> None:
        if line not in self._lines:
            return
        self._lines.remove(line)
        self._selector.unregister(line)
        line.hang_up()
        if line.joined:
            self._roster.gone(line.joined)
        if line.run:
            for key in [key for key in self._processes if key[0] == line.run]:
                self._kill(key)

    # ---- messages

    def _take(self, line: _Line, message: ToNode, now: float) -> None:
        answer: object = None
        match message:
            case Join(node) if self._is_head:
                line.joined = node.address
                self._roster.join(node, now)
            case List() | Leave() if self._is_head:
                if isinstance(message, Leave):
                    self._roster.leave(message.address, leaving=message.leaving)
                self._roster.join(self._info(), now)
                answer = Listing(self._roster.nodes(now))
            case List():
                answer = Listing([self._info()])
            case Follow(head):
                self._head, self._called_at = "" if head == self.address else head, -1e9
                if self._to_head is not None:
                    self._to_head.hang_up()
                    self._to_head = None
                answer = Done()
            case End():
                self._ending, answer = True, Done()
            case Work(crawl=crawl) if crawl and any(one.crawl == crawl for one in self._lines):
                answer = Busy()
            case Work(run, crawl):
                line.run, line.crawl = run, crawl
                answer = Ready(steady_time(), str(self._folder), self._copy_of(crawl))
            case Ping():
                mine = {key[1]: process.pid for key, process in self._processes.items() if key[0] == line.run}
                answer = Pong({key: (pid, cpu_seconds(pid)) for key, pid in mine.items()})
            case Kill(key):
                self._kill((line.run, key))
            case Find(folder):
                answer = Found(folder, is_crawl(self._below(folder)))
            case Note(crawl, version, data):
                self._note(crawl, version, data)
                answer = Done()
            case Crawls():
                runs = {one.crawl for one in self._lines}
                found = {
                    file.parent.name: self._copy_of(file.parent.name) for file in self._folder.glob(f"*/{CLUSTER}")
                }
                answer = Known({name: CrawlCopy(data, name in runs) for name, data in found.items() if data})
            case Forget(crawl) if any(one.crawl == crawl for one in self._lines):
                answer = Busy()
            case Forget(crawl):
                shutil.rmtree(self._below(f"{crawl}/{CLUSTER}").parent, ignore_errors=True)
                answer = Done()
            case Drop(folder):
                shutil.rmtree(self._below(folder), ignore_errors=True)
        if answer is not None:
            line.say(pack(answer))
            line.flush()

    def _note(self, crawl: str, version: int, data: bytes) -> None:
        """Keeps a copy of `cluster.json`: the machine of the coordinator may be lost."""
        file = self._below(f"{crawl}/{CLUSTER}")
        with suppress(CentimeError, OSError):  # a damaged copy is replaced; without room there is no copy
            if not file.exists() or version >= decode_about(file.read_bytes(), file).version:
                make_folder(file.parent)
                replace_file(file, data)

    def _copy_of(self, crawl: str) -> bytes:
        """The copy of the `cluster.json` of a crawl; empty if there is none."""
        with suppress(FileNotFoundError):
            return self._below(f"{crawl}/{CLUSTER}").read_bytes() if crawl else b""
        return b""

    def _info(self) -> NodeInfo:
        return NodeInfo(
            address=self.address,
            folder=str(self._folder),
            cores=os.cpu_count() or 1,
            processes=len(self._processes),
            partitions=self._count("partitions"),
            replicas=self._count("replicas"),
            is_head=self._is_head,
        )

    def _count(self, kind: str) -> int:
        return sum(1 for _ in self._folder.glob(f"*/{kind}/[0-9]*/centime.json"))

    def _below(self, folder: str) -> Path:
        """A folder of a crawl below that of this node; BadInput if it is elsewhere."""
        path = (self._folder / folder).resolve()
        if len(path.parts) < len(self._folder.parts) + 2 or not path.is_relative_to(self._folder):
            raise BadInput(f"{folder} is not the folder of a crawl on this node")
        return path

    def _join(self, now: float) -> None:
        """Reports to the head that this node is there."""
        if not self._head or now - self._joined_at < JOIN_SECONDS:
            return
        if self._to_head is None and now - self._called_at >= AGAIN_SECONDS:
            self._called_at = now
            try:
                self._to_head = MessageSocket(call(self._head, self._token, CALL_SECONDS))
            except (OSError, NotAdmitted) as trouble:
                self._report_once(f"the head {self._head} is not reached, and is called again: {trouble}")
            else:
                self._report_once(f"the head {self._head} is reached")
        if self._to_head is not None:
            self._joined_at = now
            self._to_head.say(pack(Join(self._info())))
            try:
                self._to_head.flush()
                self._to_head.receive()
            except (OSError, EOFError):
                self._to_head.hang_up()
                self._to_head = None

    def _report_once(self, said: str) -> None:
        """Passes a sentence to `report`, unless it was the last one."""
        if said != self._last_report:
            self._last_report = said
            self._report(f"{self.address}: {said}")

    # ---- processes

    def _start(self, main: Callable[[int], object], module: str, connection: socket.socket) -> Popen[bytes] | Spare:
        if threading.active_count() > 1:
            return run_on(module, connection)
        others = [self._listener, *self._connections]
        others += [self._to_head.connection] if self._to_head is not None else []
        return Spare(fork_child(main, connection, others), connection)

    def _kill(self, key: tuple[str, int]) -> None:
        process = self._processes.pop(key, None)
        if process is not None:
            process.kill()
            process.wait(60.0)


def _has_ended(process: Popen[bytes] | Spare) -> bool:
    if isinstance(process, Popen):
        return process.poll() is not None
    with suppress(Exception):
        process.wait(0.0)
    return process.returncode is not None
