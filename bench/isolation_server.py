"""Four kinds of hosts on loopback: good ones, ones that drip, dead ones and ones that refuse; a port is a kind.

    python -m bench.isolation_server

It prints the four ports. The name of a host does not matter. A good host answers after LATENCY with a page that links
to two others and, after SIGUSR1, to a good host that is new. One that drips sends its head byte by byte, without end. A
dead one is a socket that accepts no connection, so that connecting gets no answer, as with a machine that is gone.
Nobody listens on the last port."""

import asyncio
import itertools
import signal
import socket
from contextlib import suppress

LATENCY_SECONDS = 0.02
DRIP_SECONDS = 0.5
LOOPBACK = "127.0.0.1"
NEW_HOSTS = 20
_new: list[str] = []  # the links to new hosts


async def good(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers every request."""
    with suppress(OSError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            body, status = b"", "404 Not Found"
            if path != "/robots.txt":
                number, status = int(path[1:] or 0), "200 OK"
                new = _new[number % NEW_HOSTS] if _new else ""
                body = f"<a href=/{2 * number + 1}>one</a> <a href=/{2 * number + 2}>two</a> {new}".encode()
            await asyncio.sleep(LATENCY_SECONDS)
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            )
            writer.write(body)
    writer.close()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never ends the head of its answer."""
    with suppress(OSError):
        await reader.read(1)
        for byte in itertools.chain(b"HTTP/1.1 200 OK\r\nX: ", itertools.repeat(ord("x"))):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)
    writer.close()


async def serve() -> None:
    """Serves until the process ends."""
    servers = [await asyncio.start_server(answer, LOOPBACK, 0, backlog=1024) for answer in (good, drip)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    with socket.socket() as dead, socket.socket() as refusing, socket.socket() as first, socket.socket() as second:
        for one in (dead, refusing):
            one.bind((LOOPBACK, 0))
            ports.append(one.getsockname()[1])
        dead.listen(0)
        for one in (first, second):  # they fill the queue of connections that wait to be accepted
            one.setblocking(False)
            one.connect_ex((LOOPBACK, ports[2]))
        links = [f"<a href=http://new{n}.new{n}.test:{ports[0]}/>new</a>" for n in range(NEW_HOSTS)]
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _new.extend, links)
        print(*ports, flush=True)
        await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(serve())
