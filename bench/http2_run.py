"""One client in a process of its own: microseconds of CPU (user and system) per request with TLS, for each size.

    python -m bench.http2_run CLIENT PORT KIND REQUESTS

prints one JSON object. Hosts are addresses of loopback. The first requests of each size do not count, and unless KIND
is `fresh`, neither does making connections."""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import Any

import uvloop

from bench.exchange_run import cpu
from bench.http2 import SIZES
from centime.fetch.exchange import Exchange
from centime.fetch.guard import Guard
from centime.fetch.settings import FetchSettings
from centime.model.response import Request

UNDER_WAY = {"one": (40, 1), "ten": (4, 10), "fresh": (10, 1)}  # hosts, and requests at a time to each
Get = Callable[[str, int, str], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


def exchange(kind: str) -> tuple[Get, Close]:
    """Centime's own: HTTP/1.1, with all its guarantees."""
    settings = FetchSettings(
        allow_networks=("127.0.0.0/8",),
        delay_seconds=0.0,
        insecure=True,
        keep_alive_seconds=1e-9 if kind == "fresh" else 15.0,
    )
    asking = Exchange(settings, Guard(settings.allow_networks), time.time)

    async def get(host: str, port: int, path: str) -> int:
        response = await asking.ask(
            Request(url=f"https://{host}:{port}{path}"), address=host, most_bytes=1 << 20, again=False, crawl_delay=0.0
        )
        assert response is not None
        return len(response.body)

    return get, asking.close


class Frames(asyncio.Protocol):
    """A connection of HTTP/2 on a library, without what a crawler needs besides: limits, times, decompression."""

    def __init__(self, library: str) -> None:
        events = import_module(f"{library}.events")
        self._data_received, self._stream_ended = events.DataReceived, events.StreamEnded
        configuration = import_module(f"{library}.config").H2Configuration(client_side=True, header_encoding=None)
        self._h2 = import_module(f"{library}.connection").H2Connection(configuration)
        self._answers: dict[int, tuple[asyncio.Future[int], list[bytes]]] = {}

    def connection_made(self, transport: Any) -> None:  # uvloop's is of no class of asyncio
        self.transport = transport
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window((1 << 30) - 1)
        transport.write(self._h2.data_to_send())

    def ask(self, authority: str, path: str) -> asyncio.Future[int]:
        stream = self._h2.get_next_available_stream_id()
        head = [(":method", "GET"), (":authority", authority), (":scheme", "https"), (":path", path)]
        head += [("user-agent", "centime"), ("accept", "*/*"), ("accept-encoding", "gzip")]
        self._h2.send_headers(stream, head, end_stream=True)
        self.transport.write(self._h2.data_to_send())
        answer = asyncio.get_running_loop().create_future()
        self._answers[stream] = (answer, [])
        return answer

    def data_received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            if isinstance(event, self._data_received):
                self._answers[event.stream_id][1].append(event.data)
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, self._stream_ended):
                answer, pieces = self._answers.pop(event.stream_id)
                answer.set_result(len(b"".join(pieces)))
        if reply := self._h2.data_to_send():
            self.transport.write(reply)


def bare(library: str, kind: str) -> tuple[Get, Close]:
    """The least that a client on h2, or on a library with the same interface, costs."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    kept: dict[str, asyncio.Task[Frames]] = {}

    async def connect(host: str, port: int) -> Frames:
        _, frames = await asyncio.get_running_loop().create_connection(lambda: Frames(library), host, port, ssl=context)
        return frames

    async def get(host: str, port: int, path: str) -> int:
        if kind == "fresh":
            frames = await connect(host, port)
            size = await frames.ask(f"{host}:{port}", path)
            frames.transport.abort()
            return size
        if host not in kept:
            kept[host] = asyncio.create_task(connect(host, port))
        return await (await kept[host]).ask(f"{host}:{port}", path)

    async def close() -> None:
        for one in kept.values():
            (await one).transport.abort()

    return get, close


def httpx_client(kind: str) -> tuple[Get, Close]:
    """httpx as it is."""
    import httpx

    context = httpx.create_ssl_context(verify=False)
    limits = httpx.Limits()  # none
    made = [httpx.AsyncClient(http2=True, verify=context, limits=limits)]

    async def get(host: str, port: int, path: str) -> int:
        url = f"https://{host}:{port}{path}"
        if kind != "fresh":
            return len((await made[0].get(url)).content)
        async with httpx.AsyncClient(http2=True, verify=context) as client:
            return len((await client.get(url)).content)

    return get, made[0].aclose


CLIENTS: dict[str, Callable[[str], tuple[Get, Close]]] = {
    "exchange": exchange,
    "h2": partial(bare, "h2"),
    "jh2": partial(bare, "jh2"),
    "httpx": httpx_client,
}


async def measure(name: str, port: int, kind: str, requests: int) -> dict[str, float]:
    """Microseconds per request for each size."""
    get, close = CLIENTS[name](kind)
    hosts, at_a_time = UNDER_WAY[kind]
    found = {}

    async def ask(host: str, size: int, times: int) -> None:
        for _ in range(times):
            assert await get(host, port, f"/{size}.html") == size

    for size in SIZES:
        slots = [f"127.0.0.{number + 1}" for number in range(hosts) for _ in range(at_a_time)]
        await asyncio.gather(*(ask(host, size, 2) for host in slots))
        times = requests // len(slots)
        before = cpu()
        await asyncio.gather(*(ask(host, size, times) for host in slots))
        found[str(size)] = 1e6 * (cpu() - before) / (times * len(slots))
    await close()
    return found


if __name__ == "__main__":
    client, at, pattern, count = sys.argv[1:]
    print(json.dumps(uvloop.run(measure(client, int(at), pattern, int(count)))))
