"""The doors: a push becomes a publication of the crawl, with its publisher's credit.

    POST /push/CRAWL/webhook             {"urls": [...], "publisher": ...}, signed: X-Centime-Time: SECONDS and
                                         X-Centime-Signature: sha256=HMAC(secret, SECONDS + "." + body)
    POST /push/CRAWL/indexnow            the form of IndexNow
    GET  /push/CRAWL/ping?sitemap=URL    a sitemap has changed
    GET  /push/CRAWL/websub/NAME         a hub verifies that the subscription is intended (W3C WebSub, section 5.3)
    POST /push/CRAWL/websub/NAME         a hub pushes a feed, signed: X-Hub-Signature

The key of an IndexNow request is verified through the crawl: the file at `keyLocation` (by default /KEY.txt) is
published first, and when the crawl has a copy of it whose text is the key, the URLs are. Until then they wait in
memory, at most WAIT_SECONDS; the answer is 202, as IndexNow requires. So the crawl must keep copies.

As WebSub requires, a push with a wrong signature is answered like a valid one and ignored. A push that was accepted is
not accepted again for REPLAY_SECONDS.
"""

import asyncio
import hashlib
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from centime.cluster.opening import settings_of
from centime.crawl.commands.ordering import hand_over
from centime.crawl.commands.publication import Publication, add_feed, add_indexnow, read_form, verify
from centime.crawl.report.bodies import body_of, captures_of
from centime.discover.canonical import canonical
from centime.model.address import host_of
from centime.model.errors import BadInput, CentimeError, UnknownPage
from centime.serve.pushes.settings import Doors, WebSub
from centime.serve.served_crawl import in_folder
from centime.settings.crawl import CrawlSettings

MOST_URLS = 10_000
CLOCK_SECONDS = 300.0  # that the clocks of two machines may differ by
REPLAY_SECONDS, MOST_REMEMBERED = 600.0, 10_000
WAIT_SECONDS, MOST_WAITING, LOOK_SECONDS = 600.0, 100, 2.0
PING_SECONDS = 60.0  # between two pings of a sitemap
MOST_KEY_BYTES = 4_096
MOST_NAME = 100  # characters of a publisher
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}").fullmatch

_log = logging.getLogger("centime.serve")

Taken = tuple[int, dict[str, Any]]


class NotSigned(BadInput):
    """A push without a valid signature, or with an old one."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An IndexNow request whose key is not verified yet."""

    body: bytes
    key: str
    key_url: str
    until: float


class CrawlDoors:
    """The doors of one crawl."""

    def __init__(self, path: Path, doors: Doors, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self.doors = doors
        self._clock = clock
        self._seen: OrderedDict[bytes, float] = OrderedDict()
        self._waiting: list[Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self.announced: dict[str, WebSub] = {}  # topics that feeds of the crawl announce, by the names of their doors
        self.denied: dict[str, float] = {}  # when a hub refused a topic
        self.leases: dict[str, tuple[float, float]] = {}  # by the name of a topic: until when, and for how long

    async def close(self) -> None:
        """Forgets waiting requests."""
        if self._task is not None:
            self._task.cancel()

    @property
    def topics(self) -> Mapping[str, WebSub]:
        """All topics to which the window subscribes."""
        return {**self.announced, **self.doors.websub}

    async def webhook(self, body: bytes, headers: Mapping[str, str]) -> Taken:
        """A push that is signed with the secret."""
        if self.doors.webhook is None:
            return 404, {"error": "This endpoint is closed."}
        stamp = headers.get("x-centime-time", "")
        if not re.fullmatch(r"\d{1,12}", stamp) or abs(self._clock() - int(stamp)) > CLOCK_SECONDS:
            raise NotSigned(
                "X-Centime-Time is not the time in seconds, or differs too much from the clock of this machine"
            )
        secret = self.doors.webhook.secret.encode()
        try:
            verify("the push", stamp.encode() + b"." + body, headers.get("x-centime-signature", ""), secret)
        except BadInput as trouble:
            raise NotSigned(str(trouble)) from trouble
        if self._is_known(stamp.encode() + body):
            return 409, {"error": "This push was accepted already."}
        try:
            form = read_form(body)
            urls, publisher = form["urls"], form.get("publisher", "webhook")
            if not isinstance(urls, list):
                raise BadInput('urls is a list: {"urls": ["https://a.example/"]}')
            if not isinstance(publisher, str) or not all(isinstance(url, str) for url in urls):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadInput('a push is JSON: {"urls": ["https://a.example/"], "publisher": "newsroom"}') from None
        if len(urls) > MOST_URLS:
            raise BadInput(f"a push has at most {MOST_URLS} URLs, not {len(urls)}")
        publication = await self._publication()
        for url in urls:
            publication.add(url)
        return await self._published(publication, publisher[:MOST_NAME], "push: webhook")

    async def ping(self, sitemap: str) -> Taken:
        """A sitemap that has changed."""
        if self.doors.ping is None:
            return 404, {"error": "This endpoint is closed."}
        publication = await self._publication()
        publication.add(sitemap, source="sitemap")
        name = next(iter(publication.sitemaps), "")
        if name and self._is_known(f"ping {name}".encode(), PING_SECONDS):
            return 429, {"error": f"This sitemap was announced less than {PING_SECONDS:g} seconds ago."}
        return await self._published(publication, "", "push: ping")

    async def indexnow(self, body: bytes) -> Taken:
        """An IndexNow request."""
        if self.doors.indexnow is None:
            return 404, {"error": "This endpoint is closed."}
        publication = await self._publication()
        add_indexnow(publication, "the request", body)
        form = read_form(body)
        key, place = str(form.get("key", "")), form.get("keyLocation") or ""
        if not _KEY(key):
            raise BadInput("the key of an IndexNow request is 8 to 128 letters, digits and hyphens")
        first = next(iter(publication.pages), "")
        if not first:
            return 422, {"error": "None of the URLs can be published.", "refused": publication.reasons}
        key_url = canonical(str(place) or f"{host_of(first)}/{key}.txt")
        if key_url is None or host_of(key_url) != host_of(first):
            return 422, {"error": "The key must be a file of the host."}
        if (await self._settings()).keep == "none":
            return 403, {"error": "This crawl keeps no copies, so it cannot verify keys."}
        if await self._is_verified(key_url, key):
            return await self._published(publication, "", "push: indexnow")
        if len(self._waiting) >= MOST_WAITING:
            return 429, {"error": "Too many requests wait for the verification of their keys."}
        asked = await self._publication()
        asked.add(key_url)
        await self._published(asked, "indexnow keys", "push: indexnow")
        self._waiting.append(Waiting(body, key, key_url, self._clock() + WAIT_SECONDS))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        return 202, {"waiting": f"until the crawl has verified {key_url}"}

    async def _look(self) -> None:
        """Publishes waiting requests once their keys are verified."""
        logged: set[str] = set()
        while self._waiting:
            await asyncio.sleep(LOOK_SECONDS)
            left = []
            for one in self._waiting:
                try:
                    is_done = await self._is_taken(one)
                except CentimeError as trouble:  # the folder is away: it may come back in time
                    is_done = False
                    if one.key_url not in logged:
                        logged.add(one.key_url)
                        _log.warning("a push still waits for its key: %s", trouble)
                if not is_done and self._clock() < one.until:
                    left.append(one)
            self._waiting = left

    async def _is_taken(self, one: Waiting) -> bool:
        """Publishes a waiting request if its key is verified; returns whether it is."""
        if not await self._is_verified(one.key_url, one.key):
            return False
        publication = await self._publication()
        add_indexnow(publication, "the request", one.body)
        await self._published(publication, "", "push: indexnow")
        return True

    async def _is_verified(self, url: str, key: str) -> bool:
        return await asyncio.to_thread(in_folder, self._path, self._has_key, url, key)

    def _has_key(self, url: str, key: str) -> bool:
        """Whether the newest copy of a key file is the key."""
        try:
            newest = captures_of(self._path, url)[-1]
            return newest.status == 200 and body_of(self._path, newest)[:MOST_KEY_BYTES].strip() == key.encode()
        except UnknownPage:
            return False

    def intent(self, name: str, query: Mapping[str, str]) -> tuple[int, str]:
        """The answer to a hub that verifies that a subscription is intended."""
        wanted = self.topics.get(name)
        if wanted is None or query.get("hub.topic") != wanted.topic:
            return 404, ""
        lease = query.get("hub.lease_seconds", "")
        if query.get("hub.mode") == "denied":
            self.denied[name] = self._clock()
            return 200, ""
        if query.get("hub.mode") != "subscribe" or not query.get("hub.challenge"):
            return 404, ""
        seconds = float(lease[:9]) if lease.isdigit() else 0.0
        self.denied.pop(name, None)
        self.leases[name] = (self._clock() + seconds, seconds)
        return 200, query["hub.challenge"]

    async def websub(self, name: str, body: bytes, headers: Mapping[str, str]) -> Taken:
        """A feed that a hub pushes; it is ignored if its signature is wrong."""
        wanted = self.topics.get(name)
        if wanted is None:
            return 410, {"error": "This subscription is no longer wanted."}
        try:
            verify("the push", body, headers.get("x-hub-signature", ""), wanted.secret.encode())
        except BadInput:
            return 202, {}
        if self._is_known(body):
            return 202, {}
        publication = await self._publication()
        add_feed(publication, "the push", body, wanted.topic)
        publisher = wanted.topic if name in self.announced else name
        status, said = await self._published(publication, f"websub {publisher}"[:MOST_NAME], "push: websub")
        return (202 if status == 422 else status), said

    def _is_known(self, body: bytes, seconds: float = REPLAY_SECONDS) -> bool:
        """Whether a push was accepted before; remembers it."""
        digest, now = hashlib.sha256(body).digest(), self._clock()
        known = now - self._seen.get(digest, float("-inf")) < seconds
        if not known:
            self._seen[digest] = now
            self._seen.move_to_end(digest)
        while len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return known

    async def _publication(self) -> Publication:
        return Publication((await self._settings()).scope_rules())

    async def _settings(self) -> CrawlSettings:
        def opened() -> CrawlSettings:
            return settings_of(self._path)

        return await asyncio.to_thread(in_folder, self._path, opened)

    async def _published(self, found: Publication, publisher: str, by: str) -> Taken:
        commands = found.commands(time=self._clock(), publisher=publisher, by=by)
        refused = {"refused": found.refused, "reasons": found.reasons}
        if not commands:
            return 422, {"error": "None of the URLs can be published.", **refused}
        await asyncio.to_thread(in_folder, self._path, hand_over, self._path, commands)
        return 202, {"pages": len(found.pages), "sitemaps": len(found.sitemaps), **refused}
