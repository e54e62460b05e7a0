"""A fetcher: a process that visits the pages it has leases for and sends the visits back.

    python -m centime.crawl.worker.fetching SOCKET

Leases arrive in batches, and each becomes a task (`processes/child.py`). Visits go back in batches, so that messages
cost little per page, and bodies are written in batches before them. Nothing is lost when a fetcher dies: the shard
leases its pages again.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from centime.change.part import ComparedPart
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.hook import HookCaller, load_hook
from centime.crawl.worker.needs import NeedReader
from centime.crawl.worker.outlinks import reading_links
from centime.crawl.worker.visit import visit
from centime.fetch.address_leases import AddressLeases
from centime.fetch.fetcher import Fetcher
from centime.model.errors import CentimeError, NoRoom
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.processes.channel import LENGTH
from centime.processes.child import Work, serve_crawl
from centime.processes.clock import RunClock
from centime.processes.collection import collect_rarely
from centime.processes.open_files import fitting_connections
from centime.settings.crawl import FetcherSettings, unpack_fetcher
from centime.shard.message import AddressesAsked, Lease, Visit, are_grants, pack, unpack_grants, unpack_leases
from centime.store.archives.archive import Archive
from centime.store.keeper import Keeper
from centime.store.versions.writer import VersionWriter

TITLE = "centime-fetch"
BATCH = 32  # visits per message, at most
LOOK_SECONDS = 1.0  # between two checks that the archive's files are there
PATIENCE = 0.02  # seconds that a visit waits for others, at most


class FetchingProcess:
    """The loop of one fetcher."""

    def __init__(self, settings: FetcherSettings) -> None:
        clock = RunClock(settings.ahead)
        connections = fitting_connections(settings.fetch.connections)
        fetcher = Fetcher(replace(settings.fetch, connections=connections), clock=clock)
        self.links = reading_links(settings, clock())
        self.needs = NeedReader(settings.requisites, self.links.scope)
        self.chains = Chains(fetcher, self.links.scope.admits, cookies=settings.cookies)
        self.archive = keeper_of(settings, gathers=True)
        if self.archive is not None:
            fetcher.on_robots = self.archive.answered
        self.part = ComparedPart(settings.select, settings.ignore, refreshes=settings.refreshes)
        self.hook = HookCaller(load_hook(settings.on_page), self._announce) if settings.on_page else None
        self._writer: asyncio.StreamWriter | None = None
        self._wanted: dict[str, float] = {}  # addresses to request
        self.addresses = AddressLeases(clock, self._want) if settings.asks_for_addresses else None
        fetcher.leases = self.addresses
        self._done: list[tuple[PageId, bytes]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._work = Work()

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Visits the pages of leases until the engine closes the socket."""
        self._writer = writer
        looking = asyncio.create_task(self._look_after(self.archive)) if self.archive is not None else None
        try:
            await self._work.run(reader, self._unpack, self._visit)
        finally:
            if looking is not None:
                looking.cancel()
            if self.archive is not None:
                with contextlib.suppress(NoRoom, OSError):  # the index stays open, and the next run closes it
                    self.archive.close()
            await self.chains.close()

    def _unpack(self, message: bytes) -> list[Lease]:
        """The leases of pages in a message; takes those of addresses."""
        if self.addresses is None or not are_grants(message):
            return unpack_leases(message)
        self.addresses.grant(unpack_grants(message))
        return []

    def _want(self, address: str, delay: float) -> None:
        """Requests an address, together with all others of this moment."""
        if not self._wanted:
            asyncio.get_running_loop().call_soon(self._ask)
        self._wanted[address] = delay

    def _ask(self) -> None:
        wanted, self._wanted = self._wanted, {}
        self._send([AddressesAsked(wanted)])

    async def _visit(self, lease: Lease) -> None:
        try:
            result = await visit(lease, self.chains, self.links, self.archive, self.hook, self.needs, self.part)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # one page must never stop the others: the visit records the defect
            result = _lost(lease.page, error)
        self._done.append((lease.page, pack(result)))
        # once as many visits wait as tasks are running, send them: the engine answers with new leases
        if len(self._done) >= min(BATCH, len(self._work)):
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._flush)

    async def _look_after(self, archive: Keeper) -> None:
        """Notifies the engine when an open file of the archive is deleted or replaced."""
        wrong = ""
        while not wrong:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                wrong = archive.write_back()
            except (OSError, CentimeError) as error:
                wrong = str(error)
        self._send([wrong])

    async def _announce(self, page: PageId) -> None:
        """Returns when the engine's socket has all visits so far, and the number of the page that comes now."""
        self._flush()
        self._send([page])
        while self._writer is not None and self._writer.transport.get_write_buffer_size():
            await asyncio.sleep(0.0)

    def _send(self, batch: Sequence[msgspec.Raw | PageId | str | AddressesAsked]) -> None:
        if self._writer is not None and not self._writer.is_closing():  # not if the engine is gone
            message = pack(batch)
            self._writer.write(LENGTH.pack(len(message)) + message)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        done, self._done = self._done, []
        if self.archive is not None:
            try:
                self.archive.flush()
            except (OSError, CentimeError) as error:  # no visit may claim a page whose body was not stored
                done = [(page, pack(_lost(page, error))) for page, _ in done]
        if done:
            self._send([msgspec.Raw(visit) for _, visit in done])


def _lost(page: PageId, error: Exception) -> Visit:
    """A visit without anything but the reason of its failure."""
    return Visit(page=page, outcome=Outcome.LOST, detail=f"{type(error).__name__}: {error}"[:200])


def keeper_of(settings: FetcherSettings, archive: type[Archive] = Archive, *, gathers: bool = False) -> Keeper | None:
    """The object that stores the bodies that this fetcher reads; None if bodies are not stored. One that `gathers` may
    write them later, when its `flush` is called.
    """
    obeys = not settings.ignore_noarchive
    match settings.keep:
        case "none":
            return None
        case "versions":
            return VersionWriter(settings.versions, settings.retaining().of, obeys_noarchive=obeys, gathers=gathers)
        case kinds:
            return archive(settings.bodies, settings.name, kinds, obeys_noarchive=obeys)


async def _serve(settings: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await FetchingProcess(unpack_fetcher(settings)).run(reader, writer)


def main(number: int | None = None) -> None:
    """Runs a fetcher on the inherited socket."""
    collect_rarely()
    serve_crawl(_serve, TITLE, number)


if __name__ == "__main__":
    main()
