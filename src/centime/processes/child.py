"""The main loop of the processes that a crawl starts: fetchers, and the process that notifies subscribers.

    python -m MODULE SOCKET        SOCKET is the number of an open file. The first message on it has the settings,
                                   all others are batches of work

Each piece of work is a task on one event loop. The process ends when the crawl closes the socket, and dies with the
crawl if that is killed.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import TypeVar

import uvloop

from centime.processes.channel import LENGTH
from centime.processes.parent import die_with_parent

Piece = TypeVar("Piece")
Serve = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Work:
    """The running pieces of work."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def run(
        self,
        reader: asyncio.StreamReader,
        unpack: Callable[[bytes], Iterable[Piece]],
        attempt: Callable[[Piece], Coroutine[None, None, None]],
    ) -> None:
        """Starts each piece as it arrives, until the crawl closes the socket; then cancels the running pieces."""
        try:
            while True:
                for piece in unpack(await _message(reader)):
                    task = asyncio.create_task(attempt(piece))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


def serve_crawl(serve: Serve, title: str, number: int | None = None) -> None:
    """Works for the crawl at the other end of the inherited socket, by default that of the command line, then ends the
    process. `title`, at most 15 characters, is what `ps` and `top` call the process.
    """
    with contextlib.suppress(OSError):  # not on every system
        Path("/proc/self/comm").write_text(title)
    die_with_parent()  # a fetcher without its crawl would fetch from hosts that the next run fetches from too
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the crawl decides when to stop
    connection = socket.socket(fileno=int(sys.argv[1]) if number is None else number)
    connection.setblocking(False)
    # A subprocess that outlives this process would keep the socket open, and the crawl would not notice our end.
    connection.set_inheritable(False)
    loop = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        loop.run(_connected(connection, serve))
    # Nothing is left to do. The loop is not closed: connections need no orderly end, and uvloop fails on open ones.
    os._exit(0)


async def _connected(connection: socket.socket, serve: Serve) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 24)
    await serve(await _message(reader), reader, writer)


async def _message(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return await reader.readexactly(length)
