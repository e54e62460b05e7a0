"""Subscribes to the hubs of WebSub topics, and again before their leases end (W3C WebSub, section 5.1).

A hub answers a request with 202 and asks back later (`CrawlDoors.intent`), which tells the length of the lease. A hub
that did not ask back, or could not be reached, is asked again after RETRY_SECONDS. Requests go through the crawl's own
guard: no address is contacted that the crawl may not.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

from centime.crawl.report.opening import folder_of
from centime.fetch.notice import Notifier
from centime.model.errors import CentimeError
from centime.serve.pushes.doors import CrawlDoors
from centime.serve.pushes.settings import WebSub
from centime.settings.reading import decode_settings

LEASE_SECONDS = 10 * 86_400
RETRY_SECONDS = 600.0
LOOK_SECONDS = 1.0
EARLY = 0.1  # of a lease that is left when it is renewed
POST_SECONDS = 30.0


class HubSubscriber:
    """Keeps the subscriptions of one crawl alive."""

    def __init__(self, path: Path, doors: CrawlDoors, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._doors = doors
        self._clock = clock
        self._next: dict[str, float] = {}
        self.troubles: dict[str, str] = {}

    async def run(self) -> None:
        """Subscribes to all hubs, for ever."""
        while True:
            for name, topic in self._topics().items():
                if self._clock() >= self._due(name):
                    await self._subscribe(name, topic)
            await asyncio.sleep(LOOK_SECONDS)

    def _topics(self) -> Mapping[str, WebSub]:
        return {name: topic for name, topic in self._doors.doors.websub.items() if topic.hub}

    def _due(self, name: str) -> float:
        """When a hub is asked next: shortly before a lease that it confirmed ends, or after a pause."""
        until, seconds = self._doors.leases.get(name, (0.0, 0.0))
        asked = self._next.get(name, 0.0)
        return max(asked, until - EARLY * seconds) if until > self._clock() else asked

    async def _subscribe(self, name: str, topic: WebSub) -> None:
        self._next[name] = self._clock() + RETRY_SECONDS
        form = {
            "hub.mode": "subscribe",
            "hub.topic": topic.topic,
            "hub.callback": topic.callback,
            "hub.secret": topic.secret,
            "hub.lease_seconds": str(LEASE_SECONDS),
        }
        try:
            settings = decode_settings((await asyncio.to_thread(folder_of, self._path)).settings, where=str(self._path))
        except CentimeError as error:
            self.troubles[name] = str(error)
            return
        notifier = Notifier(settings.fetch_settings())
        try:
            trouble = await notifier.post(
                topic.hub,
                urlencode(form).encode(),
                f"subscribe-{name}",
                seconds=POST_SECONDS,
                kind="application/x-www-form-urlencoded",
            )
        finally:
            await notifier.close()
        if trouble:
            self.troubles[name] = f"{topic.hub}: {trouble}"
        else:
            self.troubles.pop(name, None)
