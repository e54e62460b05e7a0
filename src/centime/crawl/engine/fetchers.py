"""The fetcher processes of a crawl, seen from the shard's side: leases out, visits in, and nobody waits for anybody.

A host belongs to one fetcher (its number modulo the number of fetchers), so robots.txt, connections and the pace of a
host are the business of one process. Sockets never block: what does not fit waits here. A fetcher that dies is found by
its closed socket; its leases are given back to the caller and a new process takes its place.
"""

import contextlib
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable

from centime.processes.channel import LENGTH, MessageBuffer
from centime.settings.crawl import FetcherSettings
from centime.shard.message import Lease, pack, unpack_batch

READ_BYTES = 1 << 20
MOST_RESTARTS = 100  # a fetcher that dies again and again is not the web's fault


class FetcherHandle:
    """One fetcher process and the socket to it."""

    def __init__(self, number: int, settings: FetcherSettings) -> None:
        self.number = number
        self.held: set[int] = set()  # pages it has leases for
        self.inbox = MessageBuffer()
        self.waiting = bytearray()  # what is still to be sent
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "centime.crawl.worker.fetching", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            ours.setsockopt(socket.SOL_SOCKET, side, 1 << 20)
        ours.setblocking(False)
        self.connection = ours
        self.say(pack(settings))

    def say(self, message: bytes) -> None:
        """Queues a message."""
        self.waiting += LENGTH.pack(len(message)) + message

    def send(self) -> None:
        """Sends what the socket takes now."""
        with contextlib.suppress(BlockingIOError):
            while self.waiting:
                del self.waiting[: self.connection.send(self.waiting)]

    def end(self) -> None:
        """Hangs up, and makes sure that the process ends."""
        self.connection.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Fetchers:
    """All fetchers of a crawl."""

    def __init__(self, count: int, settings_of: Callable[[int], FetcherSettings]) -> None:
        self._settings_of = settings_of
        self._selector = selectors.DefaultSelector()
        self._started = 0
        self.restarts = 0
        self.all = [self._start(number) for number in range(count)]

    @property
    def outstanding(self) -> int:
        """How many leases are held."""
        return sum(len(fetcher.held) for fetcher in self.all)

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        """Gives each lease to the fetcher of its lane."""
        parts: dict[int, list[Lease]] = {}
        for lease, lane in zip(leases, lanes, strict=True):
            parts.setdefault(lane % len(self.all), []).append(lease)
        for number, part in parts.items():
            fetcher = self.all[number]
            fetcher.held.update(lease.page for lease in part)
            fetcher.say(pack(part))
            with contextlib.suppress(OSError):  # it has died; `receive` finds out and gives its leases back
                self._flush(fetcher)

    def receive(self, timeout: float) -> tuple[list[bytes], list[int]]:
        """Visits that came in, waiting so long for the first; and the pages whose fetcher died."""
        visits: list[bytes] = []
        lost: list[int] = []
        for key, events in self._selector.select(max(0.0, timeout)):
            fetcher: FetcherHandle = key.data
            try:
                if events & selectors.EVENT_WRITE:
                    self._flush(fetcher)
                if events & selectors.EVENT_READ:
                    self._read(fetcher, visits)
            except (OSError, EOFError, ValueError):
                lost.extend(fetcher.held)
                self._replace(fetcher)
        return visits, lost

    def release(self, pages: list[int]) -> None:
        """Forgets leases that have ended."""
        for fetcher in self.all:
            fetcher.held.difference_update(pages)

    def close(self) -> None:
        """Ends all fetchers."""
        for fetcher in self.all:
            fetcher.connection.close()
        for fetcher in self.all:
            fetcher.end()
        self._selector.close()

    def _start(self, number: int) -> FetcherHandle:
        self._started += 1
        fetcher = FetcherHandle(number, self._settings_of(self._started))
        self._selector.register(fetcher.connection, selectors.EVENT_READ | selectors.EVENT_WRITE, fetcher)
        return fetcher

    def _replace(self, fetcher: FetcherHandle) -> None:
        self._selector.unregister(fetcher.connection)
        fetcher.end()
        self.restarts += 1
        if self.restarts > MOST_RESTARTS:
            raise RuntimeError(
                f"fetchers died {self.restarts} times; the last one with code {fetcher.process.returncode}"
            )
        self.all[fetcher.number] = self._start(fetcher.number)

    def _read(self, fetcher: FetcherHandle, visits: list[bytes]) -> None:
        with contextlib.suppress(BlockingIOError):
            received = fetcher.connection.recv(READ_BYTES)
            if not received:
                raise EOFError
            for message in fetcher.inbox.take(received):
                visits.extend(bytes(raw) for raw in unpack_batch(message))

    def _flush(self, fetcher: FetcherHandle) -> None:
        fetcher.send()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if fetcher.waiting else 0)
        if self._selector.get_key(fetcher.connection).events != events:
            self._selector.modify(fetcher.connection, events, fetcher)
