"""The fetcher processes of a crawl, seen from the engine: leases go out, visits come in, and neither side blocks.

A host belongs to one fetcher (its lane modulo the number of fetchers), so one process handles the robots.txt, the
connections and the pace of a host. A fetcher that dies closes its socket; the engine gets its leases back and a new
process takes its place.

A batch of a fetcher has visits, and the number of a page before the function of a user's program is called for it
(`on_page`). If a fetcher dies then, the function is blamed, and after MOST_DEATHS such ends not called for that page.
It may also have a sentence (a file of the archive was deleted) and addresses (`Peers.request_addresses`).

`Transport` is all that the engine needs: the tests drive it without processes or a network.
"""

import contextlib
import os
import selectors
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import structs

from centime.crawl.worker.hook import MOST_DEATHS
from centime.fetch.address_leases import AddressLease
from centime.model.errors import CentimeError, FileGone
from centime.model.ids import PageId
from centime.processes.handle import ChildProcess
from centime.processes.open_files import raise_limit
from centime.processes.spare import Spare, fork_spares
from centime.settings.crawl import FetcherSettings
from centime.shard.message import AddressesAsked, Lease, is_visit, pack, unpack_batch, unpack_note

LEASES_PER_FETCHER = 256  # half of them for hosts that answer (frontier/standing.py)
MOST_RESTARTS = 100  # a fetcher that dies again and again is not the web's fault
MODULE = "centime.crawl.worker.fetching"


class Transport(Protocol):
    """Takes leases to the fetchers, and brings visits back."""

    @property
    def capacity(self) -> int:
        """How many leases it can hold."""
        ...

    @property
    def outstanding(self) -> int:
        """How many leases it holds."""
        ...

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        """Takes leases; those of one lane go to the same fetcher."""
        ...

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        """Packed visits, waiting up to `timeout` seconds for the first; and the pages of leases that were lost."""
        ...

    def release(self, pages: list[PageId]) -> None:
        """Forgets the leases of pages whose visit was recorded."""
        ...

    def close(self) -> None:
        """Ends all fetchers; what they hold is lost."""
        ...


class _Fetcher(ChildProcess):
    """One fetcher process and the pages that it holds leases for."""

    def __init__(self, number: int, name: int, settings: FetcherSettings, spare: Spare | None) -> None:
        super().__init__(MODULE, pack(settings), spare)
        self.number = number
        self.name = name  # unique in this run
        self.held: set[PageId] = set()
        self.calling: PageId | None = None  # the page for which `on_page` was called last


def spare_fetchers(count: int | None = None) -> AbstractContextManager[list[Spare]]:
    """Fetchers forked ahead, at most two for each core, for a program that has no crawl in memory yet; by default one
    for each core. `count` may be any number: a person typed it, and it is not validated yet.
    """
    from centime.crawl.worker.fetching import main

    cores = len(os.sched_getaffinity(0))
    some = min(count or cores, 2 * cores)
    raise_limit(some)
    return fork_spares(some, main)


class Fetchers:
    """All fetcher processes of a crawl; a `Transport`. It takes `spares` first, then starts new programs."""

    def __init__(
        self,
        count: int,
        settings_of: Callable[[int], FetcherSettings],
        spares: list[Spare],
        request_addresses: Callable[[int, dict[str, float]], None] = lambda fetcher, addresses: None,
    ) -> None:
        raise_limit(count)
        self._settings_of = settings_of
        self._request_addresses = request_addresses
        self._spares = spares
        self._selector = selectors.DefaultSelector()
        self._started = 0
        self.restarts = 0
        self._deaths: Counter[PageId] = Counter()  # of fetchers while `on_page` was called, by page
        self._gone = ""  # a sentence if a file of the archive was deleted or replaced
        self._all = [self._start(number) for number in range(count)]

    @property
    def capacity(self) -> int:
        """How many leases the fetchers can hold."""
        return LEASES_PER_FETCHER * len(self._all)

    @property
    def outstanding(self) -> int:
        """How many leases the fetchers hold."""
        return sum(len(fetcher.held) for fetcher in self._all)

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        """Gives each lease to the fetcher of its lane."""
        parts: dict[int, list[Lease]] = {}
        for lease, lane in zip(leases, lanes, strict=True):
            parts.setdefault(lane % len(self._all), []).append(lease)
        for number, part in parts.items():
            fetcher = self._all[number]
            fetcher.held.update(lease.page for lease in part)
            if self._deaths:
                part = [structs.replace(one, skips_hook=self._deaths[one.page] >= MOST_DEATHS) for one in part]
            fetcher.say(pack(part))
            with contextlib.suppress(OSError):  # it has died; `receive` notices and returns its leases
                self._flush(fetcher)

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        """Packed visits, waiting up to `timeout` seconds for the first; and the pages whose fetcher died. FileGone if a
        fetcher has reported that its archive was deleted.
        """
        if self._gone:
            raise FileGone(self._gone)
        visits: list[bytes] = []
        lost: list[PageId] = []
        for key, events in self._selector.select(max(0.0, timeout)):
            fetcher: _Fetcher = key.data
            try:
                if events & selectors.EVENT_WRITE:
                    self._flush(fetcher)
                if events & selectors.EVENT_READ:
                    for message in fetcher.receive():
                        visits.extend(self._visits(fetcher, message))
            except (OSError, EOFError, ValueError):
                lost.extend(fetcher.held)
                self._read_the_rest(fetcher)
                self._replace(fetcher)
        return visits, lost

    def release(self, pages: list[PageId]) -> None:
        """Forgets leases that have ended."""
        for fetcher in self._all:
            fetcher.held.difference_update(pages)

    def grant(self, name: int, leases: Mapping[str, AddressLease]) -> None:
        """Grants a fetcher the addresses that it has requested; does nothing if it has died."""
        for fetcher in self._all:
            if fetcher.name == name:
                fetcher.say(pack(leases))
                with contextlib.suppress(OSError):  # it has died
                    self._flush(fetcher)

    def close(self) -> None:
        """Ends all fetchers."""
        for fetcher in self._all:
            fetcher.hang_up()
        for fetcher in self._all:
            fetcher.end()
        self._selector.close()

    def _start(self, number: int) -> _Fetcher:
        self._started += 1
        spare = self._spares.pop() if self._spares else None
        fetcher = _Fetcher(number, self._started, self._settings_of(self._started), spare)
        self._selector.register(fetcher, selectors.EVENT_READ | selectors.EVENT_WRITE, fetcher)
        return fetcher

    def _visits(self, fetcher: _Fetcher, message: bytes) -> Iterator[bytes]:
        """The visits of a message; notes for which page `on_page` is called."""
        for raw in map(bytes, unpack_batch(message)):
            if is_visit(raw):
                yield raw
            elif isinstance(note := unpack_note(raw), str):
                self._gone = note
            elif isinstance(note, AddressesAsked):
                self._request_addresses(fetcher.name, note.addresses)
            else:
                fetcher.calling = note

    def _read_the_rest(self, fetcher: _Fetcher) -> None:
        """Notes for which page a dead fetcher called `on_page`; the leases of its last visits are lost already."""
        with contextlib.suppress(OSError, EOFError, ValueError):
            while messages := fetcher.receive():
                for message in messages:
                    list(self._visits(fetcher, message))

    def _replace(self, fetcher: _Fetcher) -> None:
        self._selector.unregister(fetcher)
        fetcher.end()
        self.restarts += 1
        is_hooks = fetcher.calling in fetcher.held
        if fetcher.calling is not None and is_hooks:
            self._deaths[fetcher.calling] += 1
        if self.restarts > MOST_RESTARTS:
            where = ", while on_page was called" if is_hooks else ""
            raise CentimeError(
                f"fetchers died {self.restarts} times; the last one with code {fetcher.returncode}{where}"
            )
        self._all[fetcher.number] = self._start(fetcher.number)

    def _flush(self, fetcher: _Fetcher) -> None:
        fetcher.flush()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if fetcher.unsent else 0)
        if self._selector.get_key(fetcher).events != events:
            self._selector.modify(fetcher, events, fetcher)
