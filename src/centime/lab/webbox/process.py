"""Serves a box in another process, for tests and benchmarks, where it must not share an interpreter with the crawl."""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast

import uvloop

from centime.lab.webbox.box import WebBox
from centime.lab.webbox.log import RequestLog, Seen, read_log
from centime.lab.webbox.server import LOOPBACK, WebBoxServer
from centime.model.errors import CentimeError

PROGRAM = "import sys; from centime.lab.webbox.process import main; main(sys.argv[1], sys.argv[2])"


@dataclass(frozen=True, slots=True)
class Served:
    """A box that another process serves; `webbox` has the port."""

    webbox: WebBox
    log: Path
    process_id: int

    @property
    def port(self) -> int:
        """The port of the server."""
        return self.webbox.port

    @property
    def seed_url(self) -> str:
        """The URL at which a crawl starts."""
        return self.webbox.url(0)

    def requests(self) -> list[Seen]:
        """All requests so far, except those to truth.localhost."""
        self.truth("/flush")
        return read_log(self.log)

    def time(self) -> float:
        """The time in the box."""
        return float(self.truth("/time")["time"])

    def truth(self, path: str) -> dict[str, Any]:
        """The reply of http://truth.localhost at a path."""
        connection = HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Host": "truth.localhost"})
            return cast("dict[str, Any]", json.loads(connection.getresponse().read()))
        finally:
            connection.close()


@contextmanager
def serve_in_process(webbox: WebBox, port: int = 0) -> Iterator[Served]:
    """Serves a box in another process until the block ends; port 0 selects a free port."""
    with tempfile.TemporaryDirectory(prefix="webbox-") as folder:
        log = Path(folder) / "requests.tsv"
        with start_program(json.dumps(asdict(replace(webbox, port=port))), str(log)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            said = process.stdout.readline()
            try:
                if not said:
                    raise CentimeError("the box could not be started; its error is printed above")
                yield Served(replace(webbox, port=int(said)), log, process.pid)
            finally:
                process.stdin.close()  # the other process ends with its input, so it never outlives this one


def start_program(settings: str, log: str) -> subprocess.Popen[bytes]:
    """A process that serves a box (`main`)."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, settings, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def main(settings: str, log: str) -> None:
    """Serves a box until standard input ends; writes its port to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uvloop.run(_serve(WebBox(**json.loads(settings)), Path(log)))


async def _serve(webbox: WebBox, log: Path) -> None:
    server = WebBoxServer(webbox, log=RequestLog(log))
    await server.start()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    ended, loop = asyncio.Event(), asyncio.get_running_loop()

    def wait() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    await server.close()
