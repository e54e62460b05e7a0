"""A crawl's folder, opened: the newest snapshot, and on top of it every frame of the journal behind it.

    open_crawl(folder, ...)      to write: locked, its torn tail cut, settings merged with those given now
    read_crawl(folder)           to look at it, also while a crawl runs: nothing on disk is touched

A reader sees the state as of the last frame that was flushed. Snapshots are written by a forked child when replaying
the journal would take longer than a few seconds; two are kept, with the journal that reaches back to the older.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from centime.crawl.engine.memory import give_back_large_blocks
from centime.discover.seeds import read_seeds
from centime.discover.traps import TrapLimits
from centime.frontier.kind import PUBLISHED
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.ledger.window import Interpolation, VariableWindow, Window
from centime.model.address import fingerprint
from centime.model.errors import BadInput, BadSetting, CentimeError, DamagedFile, NoRoom
from centime.model.outcome import Outcome
from centime.model.pattern import check_pattern
from centime.model.row_batch import Pages
from centime.processes.background import Background, in_background
from centime.settings.crawl import CrawlSettings, settings_from
from centime.shard.command import publications
from centime.shard.host_table import Hosts
from centime.shard.message import Seeded
from centime.shard.pages import KnownPages
from centime.shard.placement import Placement
from centime.shard.refreshing import Refreshing
from centime.shard.requests import Requests
from centime.shard.shard import Shard
from centime.store.archive import mend
from centime.store.folder import CrawlFolder, is_crawl
from centime.store.journal import Journal
from centime.store.link_rows import DiskRows
from centime.store.snapshot import Snapshot, facts_of_all, read_newest, write_snapshot

REPLAY_SECONDS = 5.0  # a snapshot is due when the frames behind the last one took so long to apply
MOST_REPLAY_SECONDS = 10.0  # it waits for the one under way no longer than this
MOST_GARBAGE = 0.5  # of the file of rows, before it is compacted
HINTS = {"focus": " (centime set DIR focus=PATTERN=WEIGHT changes a weight)"}
PLACES = ("frontier", "leases", "retries")
WINDOWS: dict[str, Window | None] = {"opic": None, "interpolation": Interpolation(4.0), "variable": VariableWindow(4)}


class OpenCrawl:
    """A crawl with its folder."""

    def __init__(
        self, folder: CrawlFolder, settings: CrawlSettings, shard: Shard, *, damaged: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.shard = shard
        self.damaged = damaged  # what was wrong with newer snapshots
        self.folded = 0
        self.cut_bytes = shard.journal.cut_bytes
        self._writing: Background | None = None
        self._worked = time.process_time()

    def keep_snapshots(self) -> None:
        """Writes a snapshot if one is due, and tidies up behind one that is done."""
        worked = time.process_time() - self._worked
        if self._writing is not None:
            if self._writing.done() is None and worked < MOST_REPLAY_SECONDS:
                return
            self._finish()
        if worked >= REPLAY_SECONDS:
            self._start()

    @property
    def is_behind(self) -> bool:
        """Whether a snapshot is being written and the next is due already: what can wait had better wait, or the
        crawl will have to.
        """
        writing = self._writing is not None and self._writing.done() is None
        return writing and time.process_time() - self._worked >= REPLAY_SECONDS

    def close(self) -> None:
        """Everything on disk, so that the next opening replays nothing."""
        self._finish()
        self._start()
        self._finish()
        self.shard.journal.close()
        self.shard.pages.close()

    def let_go(self) -> None:
        """Lets go of the files of a crawl that was only read."""
        self.shard.ledger.watch = None
        self.shard.pages.close()

    def statistics(self, now: float) -> dict[str, Any]:
        """What the crawl has and has done, for people and programs."""
        shard = self.shard
        fresh, _ = shard.refreshing.fresh(now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)
        counts = {outcome.name.lower(): shard.outcomes[outcome] for outcome in Outcome if shard.outcomes[outcome]}
        good = {"read", "unchanged", "moved", "moved_temporarily"}
        return {
            "folder": str(self.folder.path),
            "known": shard.pages.count,
            "read": shard.read_count,
            "fresh": round(fresh),
            "visits": sum(shard.outcomes.values()),
            "hosts": len(shard.hosts),
            "links": shard.ledger.links if isinstance(shard.ledger, ExactLedger) else None,
            "wire_bytes": shard.wire_bytes,
            "outcomes": counts,
            "errors": {name: count for name, count in counts.items() if name not in good},
            "frontier": len(shard.placement.frontier),
            "leased": len(shard.placement.leases),
            "retry": len(shard.placement.retries),
            "ledger": self.settings.ledger,
            "certified_error": shard.ledger.error() if isinstance(shard.ledger, ExactLedger) else None,
        }

    def top(self, count: int) -> list[dict[str, Any]]:
        """The most important pages."""
        if not self.shard.pages.count:
            return []
        importance = self.shard.ledger.importance()
        best = np.argsort(-importance, kind="stable")[:count]
        return [
            {"importance": float(importance[page]), "url": url}
            for page, url in zip(best.tolist(), self.shard.pages.texts.get_many(best), strict=True)
        ]

    def make_safe(self) -> None:
        """Writes a snapshot at once where one alone is left, because another was damaged, and the journal does not
        reach back.
        """
        if self.shard.journal.first_index and len(facts_of_all(self.folder.snapshots)) < 2:
            with suppress(NoRoom):  # then it goes on as it is
                self._start()
                self._finish()

    def _start(self) -> None:
        shard = self.shard
        shard.journal.rotate()
        if shard.pages.rows.garbage > MOST_GARBAGE:
            shard.replace_rows(shard.pages.rows.compacted())
        self._worked = time.process_time()
        self._writing = in_background(self._write)

    def _write(self) -> None:
        self.shard.pages.sync()
        facts, arrays = shard_state(self.shard)
        write_snapshot(self.folder.snapshots, facts, arrays)

    def _finish(self) -> None:
        if self._writing is None:
            return
        if not self._writing.done(wait=True):
            kind, _, trouble = self._writing.trouble.partition(": ")
            self._writing = None
            if kind == NoRoom.__name__:
                raise NoRoom(trouble)
            raise CentimeError(
                f"{self.folder.snapshots}: a snapshot could not be written: {kind}: {trouble}".removesuffix(": ")
            )
        self._writing = None
        kept = facts_of_all(self.folder.snapshots).values()
        if len(kept) > 1:  # until there are two, the journal is all that a damaged snapshot could be made from again
            self.shard.journal.drop_before(min(facts["frame"] for facts in kept))
        generations = {facts["rows"] for facts in kept} | {self.shard.pages.rows.generation}
        for path in self.folder.state.glob("rows-*.bin"):
            if int(path.stem[5:]) < min(generations):
                path.unlink()


@contextmanager
def open_crawl(
    path: Path, seeds: Sequence[str], given: dict[str, Any], *, where: str = "options"
) -> Iterator[OpenCrawl]:
    """The crawl in a folder, to go on with; made if it is not there. `given` are settings to go on with from now on."""
    _check_patterns(given)
    found = read_seeds(seeds)
    urls = (*found.urls, *found.sitemaps)
    fresh = not is_crawl(path)
    if seeds and not urls:
        raise BadInput(f"{', '.join(seeds)}: holds no URL")
    if fresh and not urls:
        raise BadInput(f"{path}: there is no crawl to go on with; give it a seed to start one")
    if fresh:
        settings = settings_from({"seeds": list(urls)} | given, where=where)
        _new_ledger(settings, None)  # refuses what a ledger refuses, before anything is written
        folder = CrawlFolder.create(path, time.time(), settings.facts())
    else:
        folder = CrawlFolder.open(path, writable=True)
    try:
        if not fresh:
            kept = settings_from(folder.settings, where=str(path))
            settings = settings_from(given, where=where, start=kept)
            for name in ("ledger", "damping", "focus"):
                if getattr(settings, name) != getattr(kept, name):
                    hint = HINTS.get(name, "")
                    raise BadSetting(
                        f"{path}: the {name} of a crawl stays as it was begun: {getattr(kept, name)}{hint}"
                    )
            more = [url for url in urls if url not in settings.seeds]
            settings = settings_from({"seeds": [*settings.seeds, *more]}, where=where, start=settings)
            if settings != kept:
                folder.keep_settings(settings.facts())
        mend(folder.bodies)
        opened = _opened(folder, settings, writable=True)
        opened.make_safe()
        if settings != opened.shard.settings or not opened.shard.journal.next_index:
            opened.shard.configure(time.time(), settings)
        if urls:
            now = time.time()
            opened.shard.seed(Seeded(now, "\n".join(found.urls).encode()))
            opened.shard.seed(Seeded(now, "\n".join(found.sitemaps).encode(), level=PUBLISHED))
            _ask_again(opened.shard, now, urls)
        else:  # a crawl that was killed before its first frame was on disk knows its seeds from its settings alone
            _find_again(opened.shard, settings.seeds)
        yield opened
    finally:
        folder.close()


def _check_patterns(given: dict[str, Any]) -> None:
    """Refuses patterns with which a hostile URL could hold the crawl up; only new ones, since it takes a moment."""
    for name in ("include", "exclude", "focus"):
        words = given.get(name)
        for word in [words] if isinstance(words, str) else words if isinstance(words, list | tuple) else ():
            if isinstance(word, str):
                check_pattern(word.rpartition("=")[0] if name == "focus" else word)


def read_crawl(path: Path) -> OpenCrawl:
    """The crawl in a folder, to look at: also while it runs."""
    for attempt in range(5):
        folder = CrawlFolder.open(path, writable=False)
        try:
            return _opened(folder, settings_from(folder.settings, where=str(path)), writable=False)
        except FileNotFoundError:  # the crawl has written a newer snapshot meanwhile and tidied up
            if attempt == 4:
                raise
    raise AssertionError


def shard_state(shard: Shard) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Facts and arrays that make the same shard again."""
    facts: dict[str, Any] = {"frame": shard.journal.next_index, "rows": shard.pages.rows.generation}
    arrays = {f"pages_{name}": array for name, array in shard.pages.state().items()}
    ledger = shard.ledger
    parts: dict[str, tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]] = {
        "ledger": ledger.state(with_rows=False) if isinstance(ledger, ExactLedger) else ledger.state(),
        **shard.placement.state(),
        "refreshing": shard.refreshing.state(),
    }
    for name, (told, kept) in parts.items():
        facts[name] = told
        arrays |= {f"{name}_{title}": array for title, array in kept.items()}
    facts["counters"] = shard.counters()
    facts["settings"] = shard.settings.facts()
    arrays["hosts"] = np.frombuffer(shard.hosts.state(), dtype=np.uint8)
    arrays["requests"] = np.frombuffer(shard.requests.state(), dtype=np.uint8)
    arrays["limits"] = np.frombuffer(msgspec.msgpack.encode(shard.limits.state()), dtype=np.uint8)
    return facts, arrays


def _opened(folder: CrawlFolder, settings: CrawlSettings, *, writable: bool) -> OpenCrawl:
    give_back_large_blocks()
    journal = Journal.open(folder.journal, writable)
    damaged: tuple[str, ...] = ()
    try:
        snapshot = read_newest(folder.snapshots, writable)
    except DamagedFile as trouble:
        if journal.first_index or not journal.next_index:
            raise
        snapshot, damaged = None, (str(trouble),)  # the journal has everything from the first frame on
    pages = KnownPages.open(folder.state, {} if snapshot is None else _part(snapshot, "pages"), writable)
    ledger = _ledger(settings, pages.rows, snapshot)
    told = settings if snapshot is None else settings_from(snapshot.facts["settings"], where=str(folder.path))
    shard = Shard(told, journal, pages, ledger)
    first = 0
    if snapshot is not None:
        first = snapshot.facts["frame"]
        _restore(shard, snapshot)
    opened = OpenCrawl(folder, settings, shard, damaged=snapshot.damaged if snapshot else damaged)
    for _, kind, payload in journal.frames(first):
        shard.fold(kind, payload)
        opened.folded += 1
    return opened


def _find_again(shard: Shard, seeds: Sequence[str]) -> None:
    missing = [seed for seed in seeds if shard.pages.table.find(np.array([fingerprint(seed)], dtype=np.uint64))[0] < 0]
    if missing:
        shard.seed(Seeded(time.time(), "\n".join(missing).encode()))


def _ask_again(shard: Shard, now: float, seeds: Sequence[str]) -> None:
    """Has seeds read once more that are given again and were not there: what was in the way may be gone, as a
    refused address is.
    """
    pages = shard.pages.table.find(np.array([fingerprint(seed) for seed in seeds], dtype=np.uint64)).tolist()
    last = [shard.pages.last(page) if page >= 0 else None for page in pages]
    missed = [
        seed
        for seed, record in zip(seeds, last, strict=True)
        if record and not (record.outcome.present or record.outcome.redirect)
    ]
    for order in publications(missed, time=now, publisher="seeds"):
        shard.command(now, order)


def _restore(shard: Shard, snapshot: Snapshot) -> None:
    facts, arrays = snapshot.facts, snapshot.arrays
    shard.hosts = Hosts.from_state(arrays["hosts"].tobytes())
    shard.placement = Placement.from_state({name: (facts[name], _part(snapshot, name)) for name in PLACES})
    shard.refreshing = Refreshing.from_state(facts["refreshing"], _part(snapshot, "refreshing"), shard.refreshing)
    shard.requests = Requests.from_state(arrays["requests"].tobytes())
    shard.limits = TrapLimits.from_state(msgspec.msgpack.decode(arrays["limits"].tobytes()))
    shard.set_counters(facts["counters"])


def _part(snapshot: Snapshot, name: str) -> dict[str, npt.NDArray[Any]]:
    return {
        title.removeprefix(f"{name}_"): array
        for title, array in snapshot.arrays.items()
        if title.startswith(f"{name}_")
    }


def _ledger(settings: CrawlSettings, rows: DiskRows, snapshot: Snapshot | None) -> ExactLedger | OpicLedger:
    if snapshot is not None:
        facts, arrays = snapshot.facts["ledger"], _part(snapshot, "ledger")
        return (
            ExactLedger.from_state(facts, arrays, rows)
            if settings.ledger == "exact"
            else OpicLedger.from_state(facts, arrays)
        )
    return _new_ledger(settings, rows)


def _new_ledger(settings: CrawlSettings, rows: DiskRows | None) -> ExactLedger | OpicLedger:
    ledger: ExactLedger | OpicLedger = ExactLedger(damping=settings.damping, rows=rows)
    if settings.ledger != "exact":
        ledger = OpicLedger(damping=settings.damping, window=WINDOWS[settings.ledger])
    for number, (_, weight) in enumerate(settings.focus_rules(), 1):
        ledger.set_focus(number, weight)
    return ledger


def rows_of(shard: Shard, batch: int = 65_536) -> Iterator[tuple[Pages, npt.NDArray[np.int64], npt.NDArray[np.int32]]]:
    """All rows: the pages, how many links each has, and where they lead, a batch of pages at a time."""
    for begin in range(0, shard.pages.count, batch):
        pages = np.arange(begin, min(begin + batch, shard.pages.count), dtype=np.int64)
        rows = shard.pages.rows.gather(pages)
        yield pages, rows.lengths, rows.links()
