"""One client in a process of its own: microseconds of CPU (user and system) per request, for each kind of answer.

    python -m bench.exchange_run CLIENT PORT KIND REQUESTS

prints one JSON object. 64 requests are under way at a time, each to a host of its own. The first requests of each kind
of answer do not count, and with KIND `kept` neither does making connections."""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

import uvloop

from bench.exchange_server import CODINGS, SIZES
from centime.fetch.coding import ACCEPTED, decoder_for
from centime.fetch.exchange import Exchange
from centime.fetch.guard import Guard
from centime.fetch.settings import FetchSettings
from centime.model.response import Request

HOSTS = 64
Get = Callable[[str], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


def exchange() -> tuple[Get, Close]:
    """Centime's own, with all its guarantees."""
    settings = FetchSettings(allow_networks=("127.0.0.0/8",), delay_seconds=0.0)
    asking = Exchange(settings, Guard(settings.allow_networks), time.time)

    async def get(url: str) -> int:
        response = await asking.ask(
            Request(url=url), address="127.0.0.1", most_bytes=1 << 20, again=False, crawl_delay=0.0
        )
        assert response is not None
        return len(response.body)

    return get, asking.close


def aiohttp_session() -> tuple[Get, Close]:
    """aiohttp as it is, without bounds; the body is decoded by the same decoder."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=3600)
    headers = {"User-Agent": "centime", "Accept": "*/*", "Accept-Encoding": ACCEPTED}
    session = aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    )

    async def get(url: str) -> int:
        async with session.get(url, allow_redirects=False) as answer:
            body = await answer.read()
            decoder = decoder_for(answer.headers.get("Content-Encoding", ""))
            return len(body) if decoder is None else sum(map(len, decoder.pieces(body)))

    return get, session.close


CLIENTS = {"exchange": exchange, "aiohttp": aiohttp_session}


async def measure(name: str, port: int, kind: str, requests: int) -> dict[str, float]:
    """Microseconds per request for each kind of answer."""
    get, close = CLIENTS[name]()
    hosts = [f"http://site{number}.localhost:{port}/{kind}/" for number in range(HOSTS)]
    found = {}

    async def ask(host: str, answer: str, size: int, times: int) -> None:
        for _ in range(times):
            assert await get(host + answer) == size

    for size in SIZES:
        for coding in CODINGS:
            answer = f"{size}/{coding}"
            await asyncio.gather(*(ask(host, answer, size, 2) for host in hosts))
            before = cpu()
            times = requests // HOSTS
            await asyncio.gather(*(ask(host, answer, size, times) for host in hosts))
            found[answer] = 1e6 * (cpu() - before) / (times * HOSTS)
    await close()
    return found


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    client, port, kind, requests = sys.argv[1:]
    print(json.dumps(uvloop.run(measure(client, int(port), kind, int(requests)))))
