"""The least that a crawler must do, as one loop: aiohttp, selectolax, ada_url, a set and a queue; breadth first, 64
pages at a time.

    python -m bench.crawl_bare PAGES SEED ...

No robots.txt, no politeness, no importance, no schedule, nothing on disk, nothing bounded. It says what a crawler's
other promises cost."""

import asyncio
import socket
import sys
from collections import deque
from typing import Any

import ada_url
import aiohttp
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult
from selectolax.lexbor import LexborHTMLParser

from centime.discover.suffixes import SUFFIXES, suffix_of

AT_ONCE = 64


class Local(AbstractResolver):
    """Every name is this machine."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


async def crawl(pages: int, seeds: list[str]) -> int:
    """How many pages were read."""
    hosts = tuple(seeds)
    known, waiting = set(seeds), deque(seeds)
    read = busy = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal read, busy
        while read < pages:
            if not waiting:
                if not busy:
                    return
                await asyncio.sleep(0.001)
                continue
            url = waiting.popleft()
            busy += 1
            async with session.get(url, allow_redirects=False) as answer:
                body = await answer.read()
                if answer.status == 200:
                    read += 1
                    follow(url, body)
            busy -= 1

    def follow(url: str, body: bytes) -> None:
        for node in LexborHTMLParser(body).css("a[href]"):
            try:
                target = ada_url.join_url(url, node.attributes["href"] or "").partition("#")[0]
            except ValueError:
                continue
            if target not in known and target.startswith(hosts) and suffix_of(target) not in SUFFIXES:
                known.add(target)
                waiting.append(target)

    connector: Any = aiohttp.TCPConnector(limit=AT_ONCE, resolver=Local(), use_dns_cache=True, ttl_dns_cache=3600)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(AT_ONCE)))
    return read


if __name__ == "__main__":
    print(uvloop.run(crawl(int(sys.argv[1]), sys.argv[2:])))
