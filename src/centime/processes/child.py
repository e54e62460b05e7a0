"""What the processes have in common that a crawl starts to work for it: fetchers, and the one that tells subscribers.

    python -m MODULE SOCKET        SOCKET: the number of an open file; settings are the first message, then come batches of work

Each piece of work is a task on one event loop. The process ends when the crawl closes the socket, and with the crawl if
that is killed.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeVar

import uvloop

from centime.processes.channel import LENGTH
from centime.processes.parent import die_with_parent

Piece = TypeVar("Piece")
Serve = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Work:
    """The pieces of work under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def go_on(
        self,
        reader: asyncio.StreamReader,
        unpack: Callable[[bytes], Iterable[Piece]],
        attempt: Callable[[Piece], Coroutine[None, None, None]],
    ) -> None:
        """Begins each piece as it comes, until the crawl hangs up; what is under way then is given up."""
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


def serve_crawl(serve: Serve) -> None:
    """Works for the crawl at the other end of the socket that was handed down, and ends the process."""
    die_with_parent()  # a fetcher without its shard would ask hosts that the next run asks too
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the crawl decides when to stop
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.setblocking(False)
    connection.set_inheritable(
        False
    )  # a command that outlives us would keep it open, and the crawl would not see that we are gone
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        uvloop.run(_connected(connection, serve))
    os._exit(0)  # nothing is left to be done, and open connections need no farewell


async def _connected(connection: socket.socket, serve: Serve) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 24)
    await serve(await _message(reader), reader, writer)


async def _message(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return await reader.readexactly(length)
