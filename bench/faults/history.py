"""A small crawl with commands and snapshots, recorded once: its disk at every moment, its state after every frame."""

import gc
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from bench.faults.disk import Disk, Image
from bench.faults.recorded import Recording
from bench.faults.small_world import SEED, World, url_of
from centime.crawl.engine import writer
from centime.crawl.engine.assembly import new_ledger, shard_state
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.files import appended
from centime.model.ids import page_ids
from centime.model.outcome import Outcome
from centime.settings.reading import decode_settings
from centime.shard.fold import fold
from centime.shard.pages import KnownPages
from centime.shard.people.command import PublishCommand
from centime.shard.state import ShardState
from centime.store.folder import CrawlFolder
from centime.store.journal import Journal

PAGES = 160
RUNS = 3
FIRST_TIME = 1_000.0
TURNS = 10  # of a run
LEASES = 3  # of a turn
ALLOCATED = 1 << 14  # bytes at a time, so that the images of disks are small
IN_FILES = ("rows", "row_at", "row_facts", "texts", "text_ends", "origins", "records", "record_at")
IN_FILES_NAMES = frozenset(f"pages_{name}" for name in IN_FILES)  # arrays about places in files

Frames = list[tuple[int, bytes]]


class Inline:
    """A snapshot that is written at once instead of by a child process."""

    stuck = False
    trouble = ""

    def __init__(self, work: Callable[[], None]) -> None:
        work()

    def done(self, *, wait: bool = False) -> bool:
        return True


@contextmanager
def in_small() -> Iterator[None]:
    """Files take room in small steps, and snapshots are written by this process, which keeps its state, unlike a
    child."""
    with (
        patch.object(writer, "in_background", Inline),
        patch.object(CrawlWriter, "_write_apart", lambda opened, objects: opened._write()),
        patch.object(appended, "SMALLEST_STEP", ALLOCATED),
    ):
        yield


@contextmanager
def journaled(promise: Callable[[int], None]) -> Iterator[Frames]:
    """All frames that are appended to a journal; `promise` gets the number of those that are confirmed."""
    frames: Frames = []
    append, sync = Journal.append, Journal.sync

    def remembered(journal: Journal, kind: int, payload: bytes) -> int:
        frames.append((kind, payload))
        return append(journal, kind, payload)

    def synced(journal: Journal) -> None:
        sync(journal)
        promise(journal.next_index)

    with patch.object(Journal, "append", remembered), patch.object(Journal, "sync", synced):
        yield frames


@dataclass(frozen=True, slots=True)
class History:
    """A recorded crawl."""

    world: World
    disk: Disk
    begun: int  # the first moment at which the folder is a crawl
    states: dict[int, str]
    other: Image  # the disk of another crawl


def digest(shard: ShardState) -> str:
    """What a crawl knows, without where it is in files."""
    facts, arrays = shard_state(shard)
    told = {name: value for name, value in facts.items() if name not in ("rows", "chain")}
    made = hashlib.sha256(repr(told).encode())
    for name, array in sorted(arrays.items()):
        if name not in IN_FILES_NAMES:
            made.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for url in shard.pages.texts.every():
        made.update(url.encode())
    pages = np.arange(shard.pages.count, dtype=np.int64)
    made.update(shard.pages.rows.gather(pages).links().tobytes())
    made.update(repr([shard.pages.last(page) for page in page_ids(pages)]).encode())
    return made.hexdigest()


def record(room: Path, seed: int = 1) -> History:
    """Runs the crawl and remembers it."""
    recording, world = Recording(room / "crawl"), _world(seed)
    with in_small(), journaled(recording.promise) as frames, recording.watching():
        _live(room / "crawl", world)
    with in_small():
        _live(room / "other", _world(seed + 1))
    files: dict[str, bytes | bytearray] = {
        str(path.relative_to(room / "other")): path.read_bytes()
        for path in sorted((room / "other").rglob("*"))
        if path.is_file()
    }
    begun = next(number for number, step in enumerate(recording.steps) if step.target == "centime.json") + 2
    return History(world, recording.disk(), begun, states_of(room / "crawl", frames), Image(files))


def _world(seed: int) -> World:
    world = World(PAGES, seed)
    world.with_etags = True
    world.outcomes = dict.fromkeys(range(10, PAGES, 11), Outcome.GONE)
    return world


def _live(folder: Path, world: World) -> None:
    """Three runs of a crawl, the last of which is still going on at the end."""
    now = FIRST_TIME
    for run in range(RUNS):
        now = go_on(folder, world, now, run, ends=run < RUNS - 1)


def go_on(folder: Path, world: World, now: float, run: int, *, ends: bool) -> float:
    """One run of a crawl, with syncs, a command and a snapshot; returns the time after it."""
    with (
        patch("time.time", lambda: now),
        open_writer(folder, [] if run else [SEED], {"scope": "any", "delay": 0.5}) as opened,
    ):
        for turn in range(TURNS):
            leases = opened.shard.lease(now, LEASES)
            if leases:
                opened.shard.record(now + 0.1, [world.visit(lease, now) for lease in leases])
            now += 0.7
            opened.shard.journal.flush()
            if turn % 3 == 2:
                opened.shard.journal.sync()
            if turn == TURNS // 2:
                opened.shard.command(now, PublishCommand(id=f"{run}", time=now, urls=url_of(run).encode()))
                opened._start()
                opened._finish()
        if ends:
            opened.close()
        else:
            opened.shard.journal.sync()
    return now


def states_of(folder: Path, frames: Frames) -> dict[int, str]:
    """The digests of a crawl after each of its frames, by their number."""
    about = CrawlFolder.open(folder, writable=False)
    settings = decode_settings(about.settings, where=str(folder))
    with tempfile.TemporaryDirectory() as room:
        pages = KnownPages.open(Path(room), {}, writable=False)
        shard = ShardState(settings, pages, new_ledger(settings, pages.rows))
        states = {0: digest(shard)}
        for kind, payload in frames:
            fold(shard, kind, payload)
            states[shard.frame] = digest(shard)
    return states


@contextmanager
def recorded(seed: int = 1) -> Iterator[tuple[History, Path]]:
    """A recorded crawl, and a folder for worlds."""
    memory = Path("/dev/shm")  # a file system in memory, if there is one: worlds are many and small
    with tempfile.TemporaryDirectory(prefix="worlds-", dir=memory if memory.is_dir() else None) as room:
        history = record(Path(room), seed)
        gc.collect()
        gc.freeze()  # what is here stays: no later collection looks at it
        yield history, Path(room)
