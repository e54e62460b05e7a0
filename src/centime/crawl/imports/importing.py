"""Imports files into a crawl: their visits, one frame of the journal after the other, each at its own time.

    for each file, in the order of the first time that it has:
        behind the position that the state remembers:   finding -> visit -> frame of up to BATCH visits

A frame says up to which position its file is imported, so that after a crash, Ctrl-C or kill -9 the same command
continues behind the last frame, and nothing is imported twice; a visit that is not later than the last one of its page
is left out anyway. A file is identified by its path, size and modification time: one that was modified is read again,
and visits that were already imported are left out.

Memory is bounded by a batch, and by what the reader of a format holds.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import xxhash

from centime.crawl.engine.loop import FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE, SYNC_SECONDS
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.imports.detecting import sources_of
from centime.crawl.imports.elsewhere import References
from centime.crawl.imports.finding import FAILED, Finding, Listed, Reading, Refused, Source, Trouble
from centime.crawl.imports.once_archive import OnceArchive
from centime.crawl.imports.visiting import Made, VisitMaker
from centime.crawl.worker.fetching import keeper_of
from centime.discover.canonical import canonical
from centime.model.errors import BadInput
from centime.settings.crawl import Keep, fetcher_settings
from centime.shard.message import Imported, Knowledge, Returned
from centime.shard.people.command import publications

BATCH = 256  # visits of a frame, at most
BATCH_BYTES = 1 << 20
BATCH_RECORDS = 20_000  # the most records that a frame may step over
MOST_TROUBLES = 20  # that are reported; the others are only counted
LISTED = 10_000  # pages of sitemaps that are published at once

Step = Callable[[float, str], None]


@dataclass(slots=True)
class ImportReport:
    """The figures of an import so far."""

    files: int = 0
    records: int = 0  # that say something of a page
    visits: int = 0  # imported
    links: int = 0  # pages of which only links were imported
    listed: int = 0  # pages that sitemaps list
    left_out: Counter[str] = field(default_factory=Counter)  # by reason
    troubles: list[str] = field(default_factory=list)
    trouble_count: int = 0
    stopped: bool = False

    def note(self, text: str) -> None:
        """Counts a trouble, and keeps the text of the first ones."""
        self.trouble_count += 1
        if len(self.troubles) < MOST_TROUBLES:
            self.troubles.append(text)

    def facts(self) -> dict[str, object]:
        """The report for people and programs."""
        return {
            "files": self.files,
            "records": self.records,
            "visits": self.visits,
            **({"link_rows": self.links} if self.links else {}),
            **({"listed": self.listed} if self.listed else {}),
            "left_out": dict(self.left_out.most_common()),
            "troubles": self.troubles,
            "trouble_count": self.trouble_count,
            "stopped": self.stopped,
        }


class Importer:
    """Imports files into an opened crawl. `keep` says which bodies are stored, as the setting of the crawl does."""

    def __init__(self, opened: CrawlWriter, *, keep: Keep = "none") -> None:
        settings = opened.settings
        if settings.partitions > 1:
            raise BadInput(f"{opened.folder.path}: a crawl in partitions does not support imports")
        now = opened.clock()
        self.report = ImportReport()
        self._opened, self._shard = opened, opened.shard
        self._synced = now
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(now))
        fetching = fetcher_settings(settings, settings.fetch_settings(), f"import-{stamp}", opened.folder)
        fetching = msgspec.structs.replace(fetching, keep=keep)
        self._most_bytes = settings.most_page_bytes
        self._keeper = keeper_of(fetching, OnceArchive)
        self._references = References(opened.folder.imported, f"import-{stamp}")
        self._maker = VisitMaker(opened.shard, fetching, self._keeper, now)
        self._batch: list[Made] = []
        self._pending: set[str] = set()
        self._bytes = self._stepped = 0
        self._stop = False
        self._shard.returned(Returned(now, [], all=True))

    def stop(self, *_: object) -> None:
        """Ends the import after the current record."""
        self._stop = True

    def sources(self, paths: Sequence[Path], form: str = "") -> list[Source]:
        """The files to import; BadInput names the first that cannot be."""
        names = {host.name for host in self._shard.hosts.all}
        reading = Reading(
            self._most_bytes,
            self._maker.refusal_as_written,
            lambda host: f"http://{host}" in names and f"https://{host}" not in names,
        )
        return sources_of(paths, form, reading)

    def run(self, sources: Sequence[Source], step: Step = lambda done, what: None) -> ImportReport:
        """Imports the files; `step` receives the bytes read since the last call, and the name of the file."""
        try:
            for source in self._by_time(sources):
                if self._stop:
                    break
                self._import(source, step)
                self.report.files += not self._stop
        finally:
            self.report.stopped = self._stop
            if self._keeper is not None:
                self._keeper.close()
            self._references.close()
        return self.report

    def _by_time(self, sources: Sequence[Source]) -> list[Source]:
        """The files in the order of the first times that they have: histories grow at their ends."""
        return sorted(sources, key=_first_time) if len(sources) > 1 else list(sources)

    def _import(self, source: Source, step: Step) -> None:
        key, read = _key(source), 0
        position = self._shard.imports.get(key, 0)
        listed: list[Listed] = []
        for position, item in source.items(position):  # noqa: B020 (the position advances)
            match item:
                case Finding():
                    self.report.records += 1
                    self._take(key, item)
                case Trouble(text):
                    self.report.note(f"{source.name}: {text}")
                case Listed():
                    self.report.records += 1
                    listed.append(item)
                case Refused(reason):
                    self.report.records += 1
                    self.report.left_out[reason] += 1
                case None:
                    pass
            self._stepped += 1
            if len(listed) >= LISTED:
                self._publish(listed)
            if len(self._batch) >= BATCH or self._bytes >= BATCH_BYTES or self._stepped >= BATCH_RECORDS:
                self._write(key, position)
                step(source.place() - read, source.name)
                read = source.place()
            if self._stop:
                break
        self._publish(listed)
        self._write(key, position)
        step(source.place() - read, source.name)

    def _take(self, key: str, finding: Finding) -> None:
        url = self._maker.url_of(finding)
        if url in self._pending and (finding.body is not None or finding.hrefs is not None or finding.revisits):
            self._write(key, self._shard.imports.get(key, 0))  # it is compared with the visit before
        page = self._maker.page_of(url)
        refusal = self._maker.refusal(url, page, finding)
        made = None if refusal else self._maker.made(url, page, finding)
        if made is None:
            self.report.left_out[refusal or FAILED.reason] += 1
            return
        self._batch.append(made)
        self._pending.add(url)
        self._bytes += len(made.packed)

    def _publish(self, listed: list[Listed]) -> None:
        """Adds the pages that a sitemap lists to the crawl."""
        urls = {url: one for one in listed if (url := canonical(one.url)) and not self._maker.out_of_scope(url)}
        if len(listed) > len(urls):
            self.report.left_out["out of scope"] += len(listed) - len(urls)
        self.report.listed += len(urls)
        now = self._opened.clock()
        modified = [one.modified for one in urls.values()]
        periods = [one.period for one in urls.values()]
        for command in publications(
            list(urls), time=now, publisher="import", modified=modified, periods=periods, by="import"
        ):
            self._shard.command(now, command)
        listed.clear()

    def _write(self, key: str, position: int) -> None:
        """Writes a frame, and a snapshot if one is due."""
        if not self._batch and self._shard.imports.get(key, 0) == position:
            return
        now = self._opened.clock()
        batch = sorted(self._batch, key=lambda one: one.time)
        frame = Imported(
            now,
            key,
            position,
            "\n".join([one.url for one in batch]).encode(),
            [msgspec.Raw(one.packed) for one in batch],
            bytes(one.knowledge for one in batch),
        )
        self._references.add([one.reference for one in batch])
        taken = self._shard.imported(frame)
        rows = sum(one.knowledge is Knowledge.LINKS for one in batch)
        self.report.links += min(rows, taken.taken)
        self.report.visits += max(0, taken.taken - rows)
        for reason, count in (("known", taken.old), ("bounds of the crawl", taken.refused)):
            if count:
                self.report.left_out[reason] += count
        self._batch.clear()
        self._pending.clear()
        self._bytes = self._stepped = 0
        if abs(now - self._synced) >= SYNC_SECONDS:
            self._opened.must_be_there()
            self._references.sync()
            self._shard.journal.sync()
            self._synced = now
        else:
            self._shard.journal.flush()
        self._opened.keep_snapshots()


@contextmanager
def importing(opened: CrawlWriter, *, keep: Keep = "none") -> Iterator[Importer]:
    """An importer; at its end the ledger is settled, and a snapshot is written."""
    importer = Importer(opened, keep=keep)
    yield importer
    opened.shard.settle(FINAL_ERROR, FINAL_PAYMENTS_PER_PAGE * max(1, opened.shard.ledger.pages))
    opened.close()


def _key(source: Source) -> str:
    """The key of a file as it is now."""
    path = Path(source.name).absolute()
    found = path.stat()
    return xxhash.xxh3_128_hexdigest(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\0{source.format}".encode())


def _first_time(source: Source) -> float:
    """The time of the first visit that a file has; 0 if it has none."""
    for number, (_, item) in enumerate(source.items(0)):
        if isinstance(item, Finding):
            return item.time
        if number > 1_000:
            break
    return 0.0
