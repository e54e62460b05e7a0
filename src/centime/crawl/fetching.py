"""A fetcher: a process of its own that reads the pages it is given leases for and says what came of them.

    python -m centime.crawl.fetching SOCKET        SOCKET: the number of an open file; settings are the first message

It runs one event loop. Leases come in batches, a task each; visits go back in batches, so that a message costs next to nothing a page. It
ends when the shard closes the socket, and with the shard if that is killed. What it held then is nobody's loss: the shard leases it again.
"""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import struct
import sys

import msgspec
import uvloop

from centime.crawl.links import LinkReader
from centime.crawl.message import LENGTH, Lease, Visit, pack, unpack_leases
from centime.crawl.settings import FetcherSettings, unpack_fetcher
from centime.crawl.visit import visit
from centime.fetch.fetcher import Fetcher
from centime.model.errors import NoRoom
from centime.model.outcome import Outcome
from centime.store.archive import Archive
from centime.store.parent import die_with_parent

BATCH = 32  # visits in a message at most
PATIENCE = 0.02  # seconds that a visit waits for company

_head = struct.Struct("<I")


class FetchingProcess:
    """The loop of one fetcher."""

    def __init__(self, settings: FetcherSettings) -> None:
        self.fetcher = Fetcher(settings.fetch)
        self.links = LinkReader(settings.scope(), settings.max_depth)
        self.archive = Archive(settings.bodies, settings.name, settings.keep) if settings.keep != "none" else None
        self._done: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads leases until the shard hangs up."""
        self._writer = writer
        try:
            while True:
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                for lease in unpack_leases(await reader.readexactly(length)):
                    task = asyncio.create_task(self._visit(lease))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self.archive is not None:
                with contextlib.suppress(NoRoom):  # its index stays open, and is mended when the crawl goes on
                    self.archive.close()
            await self.fetcher.close()

    async def _visit(self, lease: Lease) -> None:
        try:
            came = await visit(lease, self.fetcher, self.links, self.archive)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # one page must never stop the others: the visit says what went wrong in here
            came = Visit(page=lease.page, outcome=Outcome.LOST, detail=f"{type(error).__name__}: {error}"[:200])
        self._done.append(pack(came))
        if len(self._done) >= min(BATCH, len(self._tasks)):  # as many wait here as are under way: the shard has leases to give meanwhile
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._done and not self._writer.is_closing():  # the shard may be gone: then nobody wants to know
            message = pack([msgspec.Raw(one) for one in self._done])
            self._done.clear()
            self._writer.write(LENGTH.pack(len(message)) + message)


async def _main(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 24)
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    process = FetchingProcess(unpack_fetcher(await reader.readexactly(length)))
    await process.run(reader, writer)


def main() -> None:
    """Runs a fetcher on the socket that was handed down."""
    die_with_parent()  # a fetcher without its shard would ask hosts that the next run asks too
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the shard decides when to stop
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.setblocking(False)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        uvloop.run(_main(connection))
    os._exit(0)  # nothing is left to be done, and open connections need no farewell


if __name__ == "__main__":
    main()
