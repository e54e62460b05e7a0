"""Crawls of a server on loopback in one process and one event loop: real requests, and no fetcher processes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.page import about_page
from centime.crawl.report.statistics import all_statistics
from centime.crawl.worker.fetching import FetchingProcess
from centime.crawl.worker.visit import visit
from centime.settings.crawl import fetcher_settings
from centime.settings.secrets import read_secrets, with_secrets
from centime.shard.message import pack
from tests.fetch.hostile import HERE, Choice, Handler, Server, answer, run

Routes = dict[str, bytes | Handler | Choice]
MOST_STEPS = 200


def html(*hrefs: str) -> bytes:
    """The answer with a page that has these links."""
    return answer(b"".join(f"<a href='{href}'>x</a>".encode() for href in hrefs), Content_Type="text/html")


def text(body: str, content_type: str) -> bytes:
    """The answer with this text."""
    return answer(body.encode(), Content_Type=content_type)


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl that has ended, and what its server was asked for."""

    folder: Path
    url: str
    asked: list[str]
    heads: list[bytes]

    @property
    def paths(self) -> set[str]:
        """The paths that were asked for, without robots.txt."""
        return set(self.asked) - {"/robots.txt"}

    def page(self, path: str) -> dict[str, Any]:
        """The report of a page."""
        with_crawl = read_crawl(self.folder)
        try:
            return about_page(with_crawl, self.url + path if path.startswith("/") else path, now=2e9)
        finally:
            with_crawl.close()

    def statistics(self) -> dict[str, Any]:
        """The statistics of the crawl."""
        opened = read_crawl(self.folder)
        try:
            return all_statistics(opened, 2e9)
        finally:
            opened.close()


def crawled(
    folder: Path,
    routes: Routes | Callable[[str], Routes],
    *seeds: str,
    later: tuple[str, ...] = (),
    given: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    scheme: str = "http://",
) -> Crawled:
    """Crawls what a server has until nothing is left; seeds are relative to the server, those of `later` are given to
    a second run. `routes` may be a function of the server's URL.
    """

    async def work() -> Crawled:
        async with Server({}) as server:
            server.routes.update(routes(server.url) if callable(routes) else routes)
            for some in (seeds, later) if later else (seeds,):
                place = server.url.replace("http://", scheme)
                words = [one.replace("SERVER", place) if "SERVER" in one else place + one for one in some]
                await _crawl(folder, words, {"delay": 0.0, "allow-network": list(HERE)} | (given or {}), environment)
            return Crawled(folder, server.url, server.asked, server.heads)

    return run(work())


async def _crawl(folder: Path, words: list[str], given: dict[str, Any], environment: dict[str, str] | None) -> None:
    with open_writer(folder, words, given) as opened:
        fetch = with_secrets(opened.settings, read_secrets(folder), environment or {})
        process = FetchingProcess(fetcher_settings(opened.settings, fetch, "test", opened.folder))
        now = opened.clock()
        try:
            for _ in range(MOST_STEPS):
                leases = opened.shard.lease(now, 8)
                if not leases:
                    break
                visits = await asyncio.gather(
                    *(
                        visit(one, process.chains, process.links, process.archive, process.hook, process.needs)
                        for one in leases
                    )
                )
                now = max(now + 1.0, opened.clock())
                opened.shard.record(now, [pack(one) for one in visits])
            else:
                raise AssertionError("the crawl has no end")
        finally:
            if process.archive is not None:
                process.archive.close()
            await process.chains.close()
        opened.close()
