"""Server-sent events of a crawl: its visits, its changes and its figures, as they happen; a client that reconnects gets
those after its last id.

    event: visits      the visits since the last event: their number, and the first MOST_SHOWN of them
    event: changes     the changes among them
    event: figures     the figures of the crawl
    event: gap         more happened since the id of the client than is repeated

The id of an event is the place of the record behind its last visit; of a crawl in partitions the places
of all of them, joined by dashes. A client that comes back sends it as Last-Event-ID and misses nothing, unless more
than MOST_AGAIN visits were made meanwhile. All clients of a crawl get the same bytes, which are made once. A client
that falls behind by MOST_WAITING events is disconnected, and may come back.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from centime.crawl.report.newest import Rows, visits_since
from centime.crawl.report.truth import read_truth
from centime.model.errors import BadInput, CentimeError
from centime.serve.glance import Glance
from centime.serve.served_crawl import ServedCrawl
from centime.shard.state import ShardState
from centime.store.records import Records

EVERY = 1.0
KINDS = ("visits", "changes", "figures")
MOST_SHOWN = 50
MOST_AGAIN = 5_000
MOST_WAITING = 60
FIGURES = ("known", "read", "fresh", "visits", "hosts", "links", "wire_bytes", "frontier", "leased", "certified_error")

Events = list[tuple[str, bytes]]
Places = tuple[int, ...]  # in the records of each part

_ID = re.compile(r"[0-9]+(-[0-9]+)*").fullmatch


class EventFeed:
    """The events of one crawl for all its clients."""

    def __init__(self, crawl: ServedCrawl) -> None:
        self._crawl = crawl
        self._clients: dict[asyncio.Queue[Events | None], None] = {}
        self._task: asyncio.Task[None] | None = None
        self._places: Places = ()

    @property
    def clients(self) -> int:
        """How many clients listen."""
        return len(self._clients)

    async def listen(self, last: str, kinds: frozenset[str]) -> AsyncIterator[bytes]:
        """The events for one client, from an id on, or from now on without one."""
        queue: asyncio.Queue[Events | None] = asyncio.Queue(MOST_WAITING)
        if last and not _ID(last):
            raise BadInput("Last-Event-ID is the id of an event of this crawl: a number, or numbers joined by dashes")
        wanted = tuple(int(one[:15]) for one in last.split("-")) if last else None
        begun, places = await self._crawl.run(lambda glance: _first(glance, wanted))
        if not self._clients:
            goes_on = self._task is not None and not self._task.done() and len(self._places) == len(places)
            self._places = tuple(map(max, self._places, places)) if goes_on else places
        self._clients[queue] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send())
        try:
            yield b"retry: 2000\n\n" + _joined(begun, kinds)
            while True:
                try:
                    news = await asyncio.wait_for(queue.get(), 15.0)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if news is None:
                    return
                if data := _joined(news, kinds):
                    yield data
        finally:
            self._clients.pop(queue, None)

    async def close(self) -> None:
        """Ends all events."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for queue in list(self._clients):
            _let_go(queue)

    async def _send(self) -> None:
        """Sends new events to all clients, as long as there are any."""
        while self._clients:
            await asyncio.sleep(EVERY)
            try:
                places = self._places
                news, self._places = await self._crawl.run(lambda glance, places=places: _since(glance, places))  # type: ignore[misc]
            except CentimeError as trouble:
                news = [("figures", _event("trouble", None, {"error": str(trouble)}))]
            for queue in list(self._clients):
                try:
                    queue.put_nowait(news)
                except asyncio.QueueFull:
                    self._clients.pop(queue, None)
                    _let_go(queue)


def _let_go(queue: "asyncio.Queue[Events | None]") -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)


def _joined(events: Events, kinds: frozenset[str]) -> bytes:
    return b"".join(data for kind, data in events if kind in kinds)


def _first(glance: Glance, last: Places | None) -> tuple[Events, Places]:
    """The first events for a client."""
    ends = tuple(reader.shard.pages.records.end for reader in glance.parts.readers)
    if last is None:
        return _figures(glance, ends), ends
    return _since(glance, last)


def _since(glance: Glance, places: Places) -> tuple[Events, Places]:
    """The events of all visits from places on, and the places behind them."""
    shards = [reader.shard for reader in glance.parts.readers]
    known = places if len(places) == len(shards) else (-1,) * len(shards)
    found = [_new(shard, place) for shard, place in zip(shards, known, strict=True)]
    visits = sorted((row for one in found for row in one.visits), key=lambda row: row["time"])
    changes = sorted((row for one in found for row in one.changes), key=lambda row: row["seen_seconds"])
    ends = tuple(one.end for one in found)
    events: Events = []
    if any(one.gap for one in found):
        events.append(("visits", _event("gap", ends, {"since": _id_of(places)})))
    if visits:
        events.append(("visits", _event("visits", ends, {"count": len(visits), "visits": visits[:MOST_SHOWN]})))
    if changes:
        events.append(("changes", _event("changes", ends, {"count": len(changes), "changes": changes[:MOST_SHOWN]})))
    return events + _figures(glance, ends), ends


class _New(NamedTuple):
    """New visits of a part since a place, the place behind them, and whether some are left out."""

    visits: Rows
    changes: Rows
    end: int
    gap: bool


def _new(shard: ShardState, place: int) -> _New:
    records = shard.pages.records
    at = max(place, records.first)
    if not 0 <= place <= records.end or not _is_place(records, at):  # another crawl, or not one of our ids
        return _New([], [], records.end, gap=True)
    visits, changes, at = visits_since(shard, at, MOST_AGAIN)
    return _New(visits, changes, records.end, gap=at < records.end)


def _is_place(records: Records, at: int) -> bool:
    """Whether a record of a page begins at a place: ids come from clients."""
    if at == records.end:
        return True
    if at > records.end - 20:
        return False
    page = int(records.head(at)["page"])
    known = records.record_at
    here = int(known[page]) if page < len(known) else 0
    while here > at:
        here = int(records.head(here)["previous"])
    return here == at


def _figures(glance: Glance, at: Places) -> Events:
    facts = {name: glance.statistics[name] for name in FIGURES}
    if truth := read_truth(glance.path):
        facts["fresh_share"] = glance.fresh_share
        facts |= {name: getattr(truth, name) for name in ("true_pages", "true_fresh_share", "true_error")}
    return [("figures", _event("figures", at, facts))]


def _id_of(places: Places) -> int | str:
    return places[0] if len(places) == 1 else "-".join(map(str, places))


def _event(kind: str, places: Places | None, data: dict[str, Any]) -> bytes:
    head = b"" if places is None else f"id: {_id_of(places)}\n".encode()
    return head + b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))
