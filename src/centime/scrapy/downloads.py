"""The state of the requests that were given to Scrapy: which are running, and how busy the download slots are.

Scrapy sends no signal when it has finished a request, so its own sets are read:

    engine._slot.inprogress       from the scheduler until the callback and all pipelines have ended
    downloader.active             until the response is there, middlewares included
    downloader.slots              the same by slot, behind the middlewares; and requests that wait there for a delay

Trap: `_slot` is private. When it vanishes, the scheduler warns, and tests/scrapy/test_spiders.py fails.
"""

from collections.abc import Iterable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

MOST_DELAYED = 2  # requests of a slot that wait for its delay: with more, slow hosts would fill the downloader


class Downloads:
    """The downloads of a crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._given: dict[str, list[Request]] = {}  # by slot, those that may be in the downloader

    @property
    def _downloader(self) -> Any:
        return None if self._crawler.engine is None else self._crawler.engine.downloader

    def slot_of(self, request: Request) -> str:
        """The name of the download slot of a request."""
        downloader = self._downloader
        return "" if downloader is None else str(downloader.get_slot_key(request))

    def give(self, slot: str, request: Request) -> None:
        """Notes a request that is given to the engine."""
        self._given.setdefault(slot, []).append(request)

    def busy(self, slot: str) -> int:
        """How many requests of a slot are in the downloader or about to enter it."""
        downloader = self._downloader
        if downloader is None:
            return 0
        known = downloader.slots.get(slot)
        reached = len(known.active) if known is not None else 0
        given = self._given.get(slot)
        if given is None:
            return reached
        active = getattr(downloader, "active", ())
        given[:] = [request for request in given if request in active]
        if not given:
            del self._given[slot]
        return max(reached, len(given))

    def takes(self, slot: str) -> bool:
        """Whether a slot that is not idle takes one more request now."""
        known = None if self._downloader is None else self._downloader.slots.get(slot)
        limit = getattr(known, "concurrency", None) or getattr(self._downloader, "domain_concurrency", None)
        if limit is not None and self.busy(slot) >= limit:
            return False
        return len(getattr(known, "queue", ())) < MOST_DELAYED

    @property
    def are_known(self) -> bool:
        """Whether Scrapy says which requests are running."""
        return isinstance(self._in_progress(), set)

    def ended(self, requests: Iterable[Request]) -> list[Request]:
        """Those of the requests that Scrapy has finished; all of them if Scrapy does not say."""
        in_progress = self._in_progress()
        if not isinstance(in_progress, set):
            return list(requests)
        return [request for request in requests if request not in in_progress]

    def _in_progress(self) -> Any:
        return getattr(getattr(self._crawler.engine, "_slot", None), "inprogress", None)
