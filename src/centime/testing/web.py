"""A simulated web for tests, served over real HTTP on loopback by a separate process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from centime.lab.webbox import Served, WebBox, serve_in_process


class TestWeb:
    """A web that is being served, and the truth about it."""

    __test__ = False  # pytest would take it for a test

    def __init__(self, served: Served) -> None:
        self._served = served

    @property
    def box(self) -> WebBox:
        """The truth about the web: its links, importance and changes."""
        return self._served.webbox

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a crawl of this web: keywords for `centime.Crawl`. The truth is about pages that links lead to,
        so sitemaps are left alone.
        """
        return {"scope": "any", "delay": 0, "allow_network": ["127.0.0.0/8"], "sitemaps": False}

    @property
    def seed_url(self) -> str:
        """The page from which all others can be reached."""
        return self._served.seed_url

    @property
    def urls(self) -> list[str]:
        """The URLs of all pages."""
        box = self._served.webbox
        return [box.url(page) for page in range(box.pages)]

    def importance(self) -> dict[str, float]:
        """The true PageRank of every page, with mean 1 over the pages that links lead to."""
        box = self._served.webbox
        importance = box.importance()
        return {box.url(page): float(importance[page]) for page in range(box.pages)}

    def requests(self) -> list[tuple[float, str, str]]:
        """Every request so far: time, host and path."""
        return [(seen.time, seen.host, seen.path) for seen in self._served.requests()]


@contextmanager
def webbox(
    *, hosts: int = 3, pages: int = 100, seed: int = 0, speed: float = 1.0, hostile: bool = False, **more: Any
) -> Iterator[TestWeb]:
    """A web of `pages` pages on `hosts` hosts for as long as the block lasts; the same for the same seed.

    `speed`: seconds of the web's time per second, for pages that change. `hostile`: with hosts that misbehave. Further
    keywords are those of `centime.lab.webbox.WebBox`.
    """
    quiet: dict[str, Any] = {"traps": False, "feeds": False, "crawl_delay_seconds": 0.0, "delay_seconds": 0.0}
    box = WebBox(hosts=hosts, pages=pages, seed=seed, speed=speed, hostile=hostile, **(quiet | more))
    with serve_in_process(box) as served:
        yield TestWeb(served)
