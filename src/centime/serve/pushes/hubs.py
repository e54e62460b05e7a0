"""Subscribes to the hubs of WebSub topics, and again before their leases end (W3C WebSub, section 5.1).

Topics are those of the file of doors, and, if hubs can reach this server, those that feeds of the crawl announce
(`crawl/engine/hub_list.py`). The door of an announced topic has a name and a secret that cannot be guessed and are new
in each run: every run subscribes to all of them again.

A hub answers a request with 202 and verifies it later (`CrawlDoors.intent`) by a request that names the length of the
lease. If a hub did not verify it, or could not be reached, the request is repeated after RETRY_SECONDS. Requests go
through the crawl's own guard: no address is contacted that the crawl may not contact.
"""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from centime.cluster.folder import is_cluster, partition_folders
from centime.cluster.opening import settings_of
from centime.crawl.engine.hub_list import read_hubs
from centime.fetch.notice import Notifier
from centime.model.errors import CentimeError
from centime.serve.pushes.doors import CrawlDoors
from centime.serve.pushes.settings import WebSub
from centime.serve.served_crawl import in_folder

LEASE_SECONDS = 10 * 86_400
RETRY_SECONDS = 600.0
LOOK_SECONDS = 1.0
EARLY = 0.1  # of a lease that is left when it is renewed
DENIED_SECONDS = 86_400.0  # until a hub that refused gets another request
MOST_ANNOUNCED = 200  # topics of a crawl
POST_SECONDS = 30.0

_log = logging.getLogger("centime.serve")


class HubSubscriber:
    """Keeps the subscriptions of one crawl alive."""

    def __init__(
        self, path: Path, doors: CrawlDoors, callback: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        """`callback` is the address of the crawl's doors for hubs; without one, announced hubs are left alone."""
        self._path = path
        self._doors = doors
        self._callback = callback
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._next: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self.troubles: dict[str, str] = {}

    async def run(self) -> None:
        """Subscribes to all hubs, until it is cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            for name, topic in self._topics().items():
                if self._clock() >= self._due(name):
                    await self._subscribe(name, topic)
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Takes over the hubs that feeds announce now."""
        if not self._callback:
            return
        given = {topic.topic for topic in self._doors.doors.websub.values()}
        announced = {}
        for topic, *hubs in self._announced()[:MOST_ANNOUNCED]:
            if topic not in given:
                name, secret = self._secret("name", topic)[:32], self._secret("secret", topic)
                failed = self._failures.get(name, 0)
                announced[name] = WebSub(topic, secret, hubs[failed % len(hubs)], f"{self._callback}{name}")
        self._doors.announced = announced

    def _announced(self) -> list[list[str]]:
        """The hubs that feeds announce, in all partitions."""
        with suppress(CentimeError, OSError):  # the folder is away
            folders = partition_folders(self._path) if is_cluster(self._path) else [self._path]
            return [one for folder in folders for one in read_hubs(folder).values()]
        return []

    def _secret(self, use: str, topic: str) -> str:
        return hmac.new(self._key, f"{use} {topic}".encode(), "sha256").hexdigest()

    def _topics(self) -> Mapping[str, WebSub]:
        return {name: topic for name, topic in self._doors.topics.items() if topic.hub}

    def _due(self, name: str) -> float:
        """When a hub gets the next request: shortly before a lease that it confirmed ends, or after a pause."""
        until, seconds = self._doors.leases.get(name, (0.0, 0.0))
        asked = max(self._next.get(name, 0.0), self._doors.denied.get(name, -DENIED_SECONDS) + DENIED_SECONDS)
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
            settings = await asyncio.to_thread(in_folder, self._path, settings_of, self._path)
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
            self._failures[name] = self._failures.get(name, 0) + 1
            self.troubles[name] = f"{topic.hub}: {trouble}"
            _log.warning("a hub cannot be subscribed to", extra={"facts": {"topic": topic.topic, "why": trouble}})
        else:
            _log.info("a hub was asked to subscribe", extra={"facts": {"topic": topic.topic, "hub": topic.hub}})
            self.troubles.pop(name, None)
