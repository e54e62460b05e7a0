"""The crawl behind the queue: takes the visits of spiders, and knows the importance of pages.

Visits are imported as those of other programs are (`shard/importing.py`), in batches, each a frame of the journal that
says how many visits of the log it completes: `SOURCE` in `imports`. The crawl is created with the first of them. Its
scope is `any`, because the spider decides what is fetched, and it finds no traps.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from centime.crawl.engine.loop import FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.imports.finding import Finding
from centime.crawl.imports.visiting import Made, VisitMaker
from centime.processes.clock import RunClock
from centime.settings.crawl import fetcher_settings
from centime.shard.message import Imported, Returned
from centime.store.folder import is_crawl

SOURCE = "scrapy"
MAKER_SECONDS = 3_600.0
SETTINGS = {"scope": "any", "traps": "off", "longest-url": None}

Numbers = npt.NDArray[np.int64]


class CrawledPages:
    """The crawl in a folder, which is created when the first visit comes."""

    def __init__(self, folder: Path, log: int, clock: RunClock) -> None:
        """`log` is the identity of the log: with another log, the count begins again."""
        self.folder = folder
        self._clock = clock
        self._source = f"{SOURCE}:{log:x}"
        self._stack = ExitStack()
        self._writer: CrawlWriter | None = None
        self._maker: VisitMaker | None = None
        self._maker_until = 0.0
        self._paid: list[npt.NDArray[np.int32]] = []
        self._all_paid = False
        if is_crawl(folder):
            self._open(())

    @property
    def is_open(self) -> bool:
        """Whether there is a crawl."""
        return self._writer is not None

    @property
    def count(self) -> int:
        """How many pages are known."""
        return 0 if self._writer is None else self._writer.shard.pages.count

    @property
    def imported(self) -> int:
        """How many visits of the log the crawl has."""
        return 0 if self._writer is None else self._writer.shard.imports.get(self._source, 0)

    def take(self, visits: Sequence[Finding], position: int) -> int:
        """Imports visits; `position` is how many of the log are imported then. Returns how many counted."""
        if self._writer is None:
            seed = next((visit.url for visit in visits if visit.url.startswith(("http://", "https://"))), None)
            if seed is None:
                return 0
            self._open((seed,))
        assert self._writer is not None
        maker = self._maker_of(self._writer)
        made = [one for visit in visits if (one := self._made(maker, visit)) is not None]
        frame = Imported(
            self._clock(),
            self._source,
            position,
            "\n".join([one.url for one in made]).encode(),
            [msgspec.Raw(one.packed) for one in made],
            bytes(one.knowledge for one in made),
        )
        taken = self._writer.shard.imported(frame).taken
        self._writer.shard.journal.flush()
        self._writer.keep_snapshots()
        return taken

    def sync(self) -> None:
        """Waits until the journal is on the disk."""
        if self._writer is not None:
            self._writer.must_be_there()
            self._writer.shard.journal.sync()

    def find(self, prints: Sequence[int]) -> list[int]:
        """The numbers of the pages with these fingerprints of URLs; -1 for one that is not known."""
        if self._writer is None:
            return [-1] * len(prints)
        found: list[int] = self._writer.shard.pages.table.find(np.array(prints, dtype=np.uint64)).tolist()
        return found

    def weights(self, pages: Sequence[int]) -> list[float]:
        """The money that links have paid to pages, which also orders the frontier of a crawl."""
        if self._writer is None or not pages:
            return [0.0] * len(pages)
        weights: list[float] = self._writer.shard.unread_keys(np.array(pages, dtype=np.int64)).tolist()
        return weights

    def changed(self) -> list[int] | None:
        """The pages whose weights have changed since the last call; None for all."""
        everything, paid = self._all_paid, self._paid
        self._all_paid, self._paid = False, []
        if everything:
            return None
        return np.unique(np.concatenate(paid)).tolist() if paid else []

    def worth(self, pages: Sequence[int]) -> list[float]:
        """The worth of reading pages again now, by their importance and their change rates."""
        if self._writer is None or not pages:
            return [0.0] * len(pages)
        shard = self._writer.shard
        numbers = np.array(pages, dtype=np.int64)
        known = shard.refreshing.book.contains(numbers)
        worth = shard.refreshing.worth(numbers, self._clock(), shard.value)
        result: list[float] = np.where(known, worth, 0.0).tolist()
        return result

    def error(self) -> float | None:
        """The certified error of importance; None without a crawl."""
        return None if self._writer is None else self._writer.shard.ledger.error()

    def settle(self) -> None:
        """Pays debts until the certified error is small."""
        if self._writer is not None:
            shard = self._writer.shard
            shard.settle(FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE * max(1, shard.ledger.pages))

    def close(self) -> None:
        """Writes a snapshot and closes the folder."""
        with self._stack:
            if self._writer is not None:
                self._writer.close()
        self._writer = None

    def _open(self, seeds: Sequence[str]) -> None:
        given = SETTINGS if seeds else {}
        writer = self._stack.enter_context(
            open_writer(self.folder, seeds, dict(given), where="settings of Scrapy", clock=self._clock)
        )
        writer.shard.returned(Returned(self._clock(), [], all=True))
        ledger = writer.shard.ledger
        watch = ledger.watch

        def watch_too(paid: npt.NDArray[np.int32] | None) -> None:
            if watch is not None:
                watch(paid)
            if paid is None:
                self._all_paid = True
            else:
                self._paid.append(paid)

        ledger.watch = watch_too
        self._writer = writer

    def _maker_of(self, writer: CrawlWriter) -> VisitMaker:
        """A maker of visits; it refuses times in the future, so it is usable for a day."""
        now, settings = self._clock(), writer.settings
        if self._maker is None or now > self._maker_until:
            fetching = fetcher_settings(settings, settings.fetch_settings(), SOURCE, writer.folder)
            self._maker, self._maker_until = VisitMaker(writer.shard, fetching, None, now), now + MAKER_SECONDS
        return self._maker

    @staticmethod
    def _made(maker: VisitMaker, visit: Finding) -> Made | None:
        url = maker.url_of(visit)
        page = maker.page_of(url)
        return None if maker.refusal(url, page, visit) else maker.made(url, page, visit)
