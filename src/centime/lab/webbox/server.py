"""The server of a box: one socket on the loopback address; the Host header selects the site."""

import asyncio
import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from centime.lab.webbox.box import WebBox
from centime.lab.webbox.clock import box_clock
from centime.lab.webbox.connection import Connection
from centime.lab.webbox.hostile import HostileAnswers
from centime.lab.webbox.log import RequestLog
from centime.lab.webbox.reply import Reply, Request, sentence
from centime.lab.webbox.site import SiteAnswers
from centime.lab.webbox.truth import TruthAnswers
from centime.model.errors import BadSetting

LOOPBACK = "127.0.0.1"
ZERO = ord("0")
LOG_SECONDS = 0.2  # at most, from a request until it is in the file of the log: many are written at once


class WebBoxServer:
    """Serves a box; port 0 selects a free port. After `start`, `webbox` and `port` have the port that is served."""

    def __init__(
        self, webbox: WebBox, *, now: Callable[[], float] | None = None, log: RequestLog | None = None
    ) -> None:
        self.webbox = webbox
        self.now = now
        self.log = log
        self._statuses: Counter[int] = Counter()
        self._hosts: set[bytes] = set()
        self._connections: set[Connection] = set()
        self._server: asyncio.Server
        self._writing: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        """The port of the server."""
        return self.webbox.port

    async def start(self) -> None:
        """Starts listening; returns when requests are answered."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self._reply, self._note, self._connections), LOOPBACK, self.webbox.port, backlog=1024
            )
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise BadSetting(
                    f"port {self.webbox.port} is already in use; choose another one, or 0 for any free one"
                ) from problem
            if problem.errno == errno.EACCES:
                raise BadSetting(f"port {self.webbox.port} is not permitted; choose one from 1024 on") from problem
            raise
        self.webbox = replace(self.webbox, port=self._server.sockets[0].getsockname()[1])
        self.now = self.now or box_clock(self.webbox)
        self._sites = SiteAnswers(self.webbox, self.now)
        self._truth = TruthAnswers(self.webbox, self.now)
        self._hostile = HostileAnswers() if self.webbox.hostile else None
        self._sites.reply(Request(b"GET", b"", b"/"), 0)  # compiles the kernels before the first client waits

    async def close(self) -> None:
        """Stops listening, closes every connection and closes the log."""
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()
        if self._writing is not None:
            self._writing.cancel()
        if self.log is not None:
            self.log.close()

    def statistics(self) -> dict[str, object]:
        """Counts of requests, in total and by status, of hosts with a request, and of open connections."""
        return {
            "requests": self._statuses.total(),
            "hosts_asked": len(self._hosts),
            "connections_open": len(self._connections),
            "by_status": {str(status): count for status, count in sorted(self._statuses.items())},
        }

    def _reply(self, request: Request) -> Reply:
        name, _, rest = request.host.partition(b".")
        if rest == b"localhost":
            site = self._site(name)
            if site is not None:
                return self._sites.reply(request, site)
            if name == b"truth":
                if request.path == b"/flush" and self.log is not None:
                    self.log.flush()
                return self._truth.reply(request)
            if name == b"hostile" and self._hostile is not None:
                return self._hostile.reply(request)
        return sentence(request, 404, f"This box has no such site; the first one is {self.webbox.url(0)}")

    def _site(self, name: bytes) -> int | None:
        digits = name[4:]
        if not (
            name.startswith(b"site") and digits.isdigit() and len(digits) < 10 and (digits[0] != ZERO or digits == b"0")
        ):
            return None
        return int(digits) if int(digits) < self.webbox.hosts else None

    def _note(self, time: float, host: bytes, path: bytes, status: int) -> None:
        self._statuses[status] += 1
        self._hosts.add(host)
        if self.log is not None and host != b"truth.localhost":
            self.log.add(time, host, path, status)
            if self._writing is None:
                self._writing = asyncio.get_running_loop().call_later(LOG_SECONDS, self._write_log, self.log)

    def _write_log(self, log: RequestLog) -> None:
        self._writing = None
        log.flush()
