"""Opens a crawl to resume it, or creates one: locks it, removes an unfinished frame, merges the settings given now."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from centime.crawl.engine.assembly import JournalBehind, assemble, new_ledger
from centime.crawl.engine.clock import clocked, said_of_clock
from centime.crawl.engine.damage import damage_closes, log_damage, log_loss
from centime.crawl.engine.letting_in import let_in
from centime.crawl.engine.writer import CrawlWriter
from centime.discover.seeds import must_fit, read_seeds
from centime.frontier.kind import DISCOVERY, PUBLISHED
from centime.model.address import fingerprint, partition_of
from centime.model.errors import BadInput, BadSetting, CentimeError, DamagedFile, FileGone
from centime.model.ids import page_ids
from centime.processes.clock import RunClock
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings, settings_from
from centime.settings.secrets import Secrets, hide, read_secrets, write_secrets
from centime.shard.fold import fold
from centime.shard.message import PLAIN, Role, Seeded
from centime.shard.people.command import publications
from centime.shard.shard import Shard
from centime.store.archives.archive import complete_open_files
from centime.store.folder import CrawlFolder, is_crawl
from centime.store.record import Mark
from centime.store.upgrade import upgrade
from centime.store.versions.database import belong_to

HINTS = {"focus": " (centime set DIR focus=PATTERN=WEIGHT changes a weight)"}


@contextmanager
def open_writer(
    path: Path,
    seeds: Sequence[str],
    given: dict[str, Any],
    *,
    where: str = "options",
    clock: RunClock | None = None,
    trust: bool = False,
) -> Iterator[CrawlWriter]:
    """The crawl in a folder, opened for writing or created; `given` are new settings by the names of the options.
    `clock` is the time of the run, by default that of this machine. `trust` makes the folder this user's own
    (`store/ownership.py`).
    """
    clock = clock or RunClock()
    found = read_seeds(seeds)
    urls = (*found.urls, *found.sitemaps)
    fresh = not is_crawl(path)
    upgraded: list[str] = []
    if seeds and not urls:
        raise BadInput(f"{', '.join(seeds)}: holds no URL")
    if fresh and not urls:
        raise BadInput(f"{path}: there is no crawl to continue; give a seed to start one")
    if fresh:
        settings, secrets = hide(settings_from(_usual(urls, given) | given, where=where), given.keys(), Secrets())
        new_ledger(settings, None)  # raises what the ledger would refuse, before anything is written
        folder = CrawlFolder.create(path, clock(), settings.facts())
    else:
        with damage_closes(path):
            upgraded = upgrade(path)
            folder = CrawlFolder.open(path, writable=True)
    try:
        if not fresh:
            kept = decode_settings(folder.settings, where=str(path))
            known_secrets = read_secrets(path)
            settings, secrets = hide(settings_from(given, where=where, start=kept), given.keys(), known_secrets)
            for name in ("ledger", "damping", "focus", "partition", "partitions"):
                if getattr(settings, name) != getattr(kept, name):
                    hint = HINTS.get(name, "")
                    raise BadSetting(
                        f"{path}: the {name} of a crawl cannot change after its start: {getattr(kept, name)}{hint}"
                    )
            known = set(settings.seeds)
            merged = [*settings.seeds, *(url for url in urls if url not in known)]
            must_fit(merged)
            settings = settings_from({"seeds": merged}, where=where, start=settings)
            if settings != kept:
                folder.keep_settings(settings.facts())
        if secrets != (Secrets() if fresh else known_secrets):
            write_secrets(path, secrets)
        notes = [folder.trust()] if trust else []
        with damage_closes(path):
            log_loss(one.loss for one in complete_open_files(folder.bodies) if one.loss)
            if settings.keep == "versions":
                belong_to(folder.versions, folder.identity)  # so that the fetchers find a complete database
            opened = _opened(folder, settings, clock)
        log_damage(opened.damaged)
        opened.upgraded = tuple(upgraded)
        opened.notes = tuple(note for note in notes if note)
        opened.make_safe()
        begins = not opened.shard.journal.next_index  # with its settings; otherwise the clock comes first
        if not begins:
            _set_clock(opened, clock)
        if begins or settings != opened.shard.settings:
            opened.shard.configure(clock(), settings)
            opened.let_in = let_in(opened.shard, clock())
        if begins:
            _set_clock(opened, clock)
        if urls:
            now = clock()
            _read_as_sitemaps(opened.shard, now, found.sitemaps)
            _seed(opened.shard, now, _own(settings, found.urls), found.guessed, DISCOVERY, PLAIN)
            _seed(opened.shard, now, _own(settings, found.sitemaps), found.guessed, PUBLISHED, Role.SITEMAP)
            _ask_again(opened.shard, now, urls)
        else:  # a crawl that was killed before its first frame was on disk knows its seeds from its settings alone
            _find_again(opened.shard, clock(), _own(settings, settings.seeds))
        try:
            yield opened
        except FileGone as gone:
            folder.must_be_there()
            opened.write_back()
            raise FileGone(
                f"{gone}; what the crawl had written was written again, and the same command continues it"
            ) from gone
        except (OSError, CentimeError):
            folder.must_be_there()  # reports a missing folder, if that is why a file is missing
            raise
    finally:
        folder.close()


def _usual(urls: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with which a crawl begins: a crawl without an end keeps versions."""
    return {"seeds": list(urls), "keep": "versions" if given.get("continuous") is True else "none"}


def _opened(folder: CrawlFolder, settings: CrawlSettings, clock: RunClock) -> CrawlWriter:
    try:
        assembled = assemble(folder, settings, Shard, writable=True)
    except JournalBehind as trouble:
        raise DamagedFile(str(trouble)) from trouble
    writer = CrawlWriter(folder, assembled.shard, damaged=assembled.damaged, clock=clock)
    shard = assembled.shard
    for cursor, kind, payload in assembled.journal.follow(None, shard.frame, shard.chain):
        fold(shard, kind, payload)
        shard.chain = cursor.chain
        writer.folded += 1
    return writer


def _set_clock(opened: CrawlWriter, clock: RunClock) -> None:
    """Adopts the clock of this run; moves the times in the crawl's state if it was set since the last run."""
    shard = opened.shard
    frame = clocked(clock, shard)
    opened.said_of_clock = said_of_clock(opened.folder.path, frame, clock(), shard.latest)
    if frame is not None:
        shard.set_clock(frame)


def _own(settings: CrawlSettings, urls: Sequence[str]) -> Sequence[str]:
    """The seeds that this partition owns; other partitions own the others."""
    if settings.partitions == 1:
        return urls
    return [url for url in urls if partition_of(url, settings.partitions) == settings.partition]


def _find_again(shard: Shard, now: float, seeds: Sequence[str]) -> None:
    missing = [seed for seed in seeds if shard.pages.table.find_one(fingerprint(seed)) is None]
    if missing:
        shard.seed(Seeded(now, "\n".join(missing).encode()))


def _seed(shard: Shard, now: float, urls: Sequence[str], guessed: Set[str], level: int, role: Role) -> None:
    """Adds seeds, those whose scheme is guessed apart from the others."""
    some = [url for url in urls if url in guessed]
    others = [url for url in urls if url not in guessed]
    shard.seed(Seeded(now, "\n".join(others).encode(), level=level, role=role))
    if some:
        shard.seed(Seeded(now, "\n".join(some).encode(), level=level, role=role | Role.GUESSED))


def _read_as_sitemaps(shard: Shard, now: float, sitemaps: Sequence[str]) -> None:
    """Fetches pages again that were read as something else before a person called them sitemaps."""
    pages = shard.pages.table.find(np.array([fingerprint(url) for url in sitemaps], dtype=np.uint64))
    last = [shard.pages.last(page) if page >= 0 else None for page in page_ids(pages)]
    others = [url for url, record in zip(sitemaps, last, strict=True) if record and Mark.SITEMAP not in record.marks]
    for command in publications(others, time=now, source="sitemap", publisher="seeds"):
        shard.command(now, command)


def _ask_again(shard: Shard, now: float, seeds: Sequence[str]) -> None:
    """Retries seeds that could not be read and are given again: the obstacle may be gone."""
    pages = shard.pages.table.find(np.array([fingerprint(seed) for seed in seeds], dtype=np.uint64))
    last = [shard.pages.last(page) if page >= 0 else None for page in page_ids(pages)]
    missed = [
        seed
        for seed, record in zip(seeds, last, strict=True)
        if record and not (record.outcome.present or record.outcome.redirect)
    ]
    for command in publications(missed, time=now, publisher="seeds"):
        shard.command(now, command)
