"""Thousands of disks after faults, none of which may change a crawl in silence.

A small crawl with commands and snapshots is recorded once (`recorded.py`). Each world is the disk of that crawl after a
power failure at some moment, or after a fault of the disk itself. The law:

- after a power failure the crawl opens, and its state is that after all confirmed frames, or some more
- after a fault of the disk it opens with exactly such a state, or says what is wrong; `check` never says "right" of a
  different state; `repair` gives a crawl that is right

Over 400 lines because faults, laws and tallies share the recorded history; the disk itself is in `recorded.py`.
"""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter
from unittest.mock import patch

import numpy as np

from bench.faults.recorded import SECTOR, Image, Recording, Step
from bench.faults.small_world import SmallWorld
from centime.crawl.check.check import check_crawl
from centime.crawl.engine import writer
from centime.crawl.engine.assembly import new_ledger, shard_state
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.repair.repair import repair_crawl
from centime.files import appended
from centime.model.errors import CentimeError
from centime.model.ids import page_ids
from centime.settings.reading import decode_settings
from centime.shard.command import PublishCommand
from centime.shard.fold import fold
from centime.shard.pages import KnownPages
from centime.shard.state import ShardState
from centime.store.folder import CrawlFolder
from centime.store.journal import Journal

IN_FILES = ("rows", "row_at", "row_facts", "texts", "text_ends", "origins", "records", "record_at")
IN_FILES_NAMES = frozenset(f"pages_{name}" for name in IN_FILES)  # arrays about places in files


class Inline:
    """A snapshot that is written at once instead of by a child process."""

    stuck = False
    trouble = ""

    def __init__(self, work: Callable[[], None]) -> None:
        work()

    def done(self, *, wait: bool = False) -> bool:
        return True


@contextmanager
def _written_at_once() -> Iterator[None]:
    """Snapshots are written by this process, which keeps its state, unlike a child."""
    with (
        patch.object(writer, "in_background", Inline),
        patch.object(CrawlWriter, "_write_apart", lambda opened, objects: opened._write()),
    ):
        yield


@dataclass(slots=True)
class History:
    """A recorded crawl: its disk, and its state after every frame."""

    recording: Recording
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


def record(room: Path, seed: int = 1, pages: int = 160) -> History:
    """Runs the crawl and remembers it."""
    recording = Recording(room / "crawl")
    frames: list[tuple[int, bytes]] = []
    append, sync = Journal.append, Journal.sync

    def remembered(journal: Journal, kind: int, payload: bytes) -> int:
        frames.append((kind, payload))
        return append(journal, kind, payload)

    def synced(journal: Journal) -> None:
        sync(journal)
        recording.promise(journal.next_index)

    with (
        _written_at_once(),
        patch.object(Journal, "append", remembered),
        patch.object(Journal, "sync", synced),
        recording.watching(),
    ):
        _live(room / "crawl", SmallWorld(pages, seed))
    states = _states(room / "crawl", frames)
    with _written_at_once():
        _live(room / "other", SmallWorld(pages, seed + 1))
    files = {
        str(path.relative_to(room / "other")): bytearray(path.read_bytes())
        for path in (room / "other").rglob("*")
        if path.is_file()
    }
    return History(recording, states, Image(files))


def _live(folder: Path, world: SmallWorld) -> None:
    """Three runs of a crawl, the last of which is still going on at the end."""
    now = 1_000.0
    with patch("time.time", lambda: now), patch.object(appended, "SMALLEST_STEP", 1 << 14):
        for run in range(3):
            with open_writer(folder, [] if run else [world.seed], {"scope": "any", "delay": 0.5}) as opened:
                for turn in range(14):
                    now = world.turn(opened.shard, now)
                    opened.shard.journal.flush()
                    if turn % 3 == 2:
                        opened.shard.journal.sync()
                    if turn == 7:
                        opened.shard.command(now, PublishCommand(id=f"{run}", time=now, urls=world.url(run).encode()))
                        _snapshot(opened)
                if run < 2:
                    opened.close()
                else:
                    opened.shard.journal.sync()


def _snapshot(opened: CrawlWriter) -> None:
    opened._start()
    opened._finish()


def _states(folder: Path, frames: list[tuple[int, bytes]]) -> dict[int, str]:
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


# ---- faults


def _some_file(image: Image, chance: Random, least: int = 1) -> str:
    """A file by chance; every second time one outside the snapshots, which have most of the files."""
    names = [name for name, data in sorted(image.files.items()) if len(data) >= least and "/." not in f"/{name}"]
    others = [name for name in names if not name.startswith("snapshots/")]
    return chance.choice(others if others and chance.random() < 0.5 else names)


def _flip(image: Image, history: History, chance: Random) -> None:
    data = image.files[_some_file(image, chance)]
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _zero(image: Image, history: History, chance: Random) -> None:
    data = image.files[_some_file(image, chance)]
    begin = chance.randrange(len(data)) // SECTOR * SECTOR
    size = min(SECTOR * chance.choice([1, 8]), len(data) - begin)
    data[begin : begin + size] = bytes(size)


def _cut(image: Image, history: History, chance: Random) -> None:
    data = image.files[_some_file(image, chance)]
    del data[chance.randrange(len(data)) :]


def _miss(image: Image, history: History, chance: Random) -> None:
    del image.files[_some_file(image, chance)]


def _foreign(image: Image, history: History, chance: Random) -> None:
    names = sorted(set(image.files) & set(history.other.files))
    name = chance.choice(names)
    image.files[name] = bytearray(history.other.files[name])


def _stale(image: Image, history: History, chance: Random) -> None:
    earlier = history.recording.after(chance.randrange(len(history.recording.steps)))
    names = sorted(name for name in set(image.files) & set(earlier.files) if earlier.files[name] != image.files[name])
    if names:
        name = chance.choice(names)
        image.files[name] = bytearray(earlier.files[name])


def _swap(image: Image, history: History, chance: Random) -> None:
    first, second = _some_file(image, chance), _some_file(image, chance)
    image.files[first], image.files[second] = image.files[second], image.files[first]


def _misdirect(image: Image, history: History, chance: Random) -> None:
    """A write of the run that went to another place, too."""
    writes = [step for step in history.recording.steps if step.kind == "write" and step.data]
    step = chance.choice(writes)
    data = image.files[_some_file(image, chance)]
    at = chance.randrange(len(data)) // SECTOR * SECTOR
    piece = step.data[: len(data) - at]
    data[at : at + len(piece)] = piece


def _lose(image: Image, history: History, chance: Random) -> None:
    """A part of a file that was written and confirmed, and is as it was before."""
    data = image.files[_some_file(image, chance, SECTOR + 1)]
    begin = chance.randrange(len(data)) // SECTOR * SECTOR
    data[begin : begin + SECTOR] = bytes(len(data[begin : begin + SECTOR]))


FAULTS: dict[str, Callable[[Image, History, Random], None]] = {
    "flipped bits": _flip,
    "zeroed sectors": _zero,
    "file cut": _cut,
    "file missing": _miss,
    "file of another crawl": _foreign,
    "file of another time": _stale,
    "files swapped": _swap,
    "write misdirected": _misdirect,
    "write lost": _lose,
}
POWER = "power failure"
REFUSED = "call refused"


@dataclass(slots=True)
class Tally:
    """What became of the worlds of one kind."""

    opened: int = 0  # with a promised state
    said: int = 0  # what is wrong
    tried: int = 0  # repairs
    repaired: int = 0  # so that they were right
    seconds: float = 0.0  # the longest repair
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Adds another tally to this one."""
        self.opened += other.opened
        self.said += other.said
        self.tried += other.tried
        self.repaired += other.repaired
        self.seconds = max(self.seconds, other.seconds)
        self.wrong += other.wrong

    @property
    def count(self) -> int:
        return self.opened + self.said + len(self.wrong)


def worlds(
    history: History,
    room: Path,
    count: int,
    seed: int | str,
    *,
    repair: float = 0.2,
    kinds: Sequence[str] = (POWER, *FAULTS),
) -> dict[str, Tally]:
    """Tries that many worlds; repairs this share of those that say what is wrong."""
    tallies = {kind: Tally() for kind in kinds}
    for number in range(count):
        chance = Random(f"{seed} {number}")
        kind = kinds[number % len(kinds)]
        folder = room / "world"
        shutil.rmtree(folder, ignore_errors=True)
        moment = _moment(history, chance)
        image = history.recording.after(moment, chance if kind == POWER else None)
        if kind != POWER:
            FAULTS[kind](image, history, chance)
        image.write_to(folder)
        promised = history.recording.promised(moment)
        _judge(tallies[kind], history, folder, promised, kind, f"{kind} {seed} {number}", chance.random() < repair)
    return tallies


def _moment(history: History, chance: Random) -> int:
    """A moment from which on the folder is a crawl; every second time just after something was confirmed, because most
    steps are those of snapshots.
    """
    steps = history.recording.steps
    begun = next(number for number, step in enumerate(steps) if step.target == "centime.json") + 2
    if chance.random() < 0.5:
        return chance.choice([number for number, step in enumerate(steps, 1) if step.kind == "promise"])
    return chance.randint(begun, len(steps))


def _judge(tally: Tally, history: History, folder: Path, promised: int, kind: str, title: str, repair: bool) -> None:
    try:
        reader = read_crawl(folder)
    except CentimeError as trouble:
        if kind == POWER:
            tally.wrong.append(f"{title}: does not open: {trouble}")
            return
        tally.said += 1
        _judge_silence(tally, folder, title)
        if repair:
            _judge_repair(tally, folder, title)
        return
    except Exception as trouble:
        tally.wrong.append(f"{title}: {type(trouble).__name__}: {trouble}")
        return
    frame, said = reader.shard.frame, reader.damaged
    try:
        found = digest(reader.shard)
    except (CentimeError, ValueError, LookupError) as trouble:
        found = f"{type(trouble).__name__}: {trouble}"
    reader.close()
    if frame < promised and not said:
        tally.wrong.append(f"{title}: {frame} frames, but {promised} were confirmed")
    elif history.states.get(frame) != found:
        tally.wrong.append(f"{title}: another state after {frame} frames")
    else:
        tally.opened += 1
        if kind == POWER:
            _judge_continuing(tally, folder, title)


def _judge_silence(tally: Tally, folder: Path, title: str) -> None:
    try:
        if not check_crawl(folder).problems:
            tally.wrong.append(f"{title}: does not open, but check says it is right")
    except CentimeError:
        pass


def _judge_continuing(tally: Tally, folder: Path, title: str) -> None:
    """After a power failure the crawl is opened for writing, and is right after that."""
    try:
        with _written_at_once(), open_writer(folder, [], {}) as opened:
            opened.close()
        problems = check_crawl(folder).problems
    except Exception as trouble:
        tally.wrong.append(f"{title}: cannot be continued: {type(trouble).__name__}: {trouble}")
        return
    if problems:
        tally.wrong.append(f"{title}: continued, but {problems[0]}")


def _judge_repair(tally: Tally, folder: Path, title: str) -> None:
    started = perf_counter()
    tally.tried += 1
    try:
        repair_crawl(folder)
        problems = check_crawl(folder).problems
    except CentimeError:
        return  # it says that nothing can be proven
    except Exception as trouble:
        tally.wrong.append(f"{title}: repair: {type(trouble).__name__}: {trouble}")
        return
    tally.seconds = max(tally.seconds, perf_counter() - started)
    if problems:
        tally.wrong.append(f"{title}: repaired, but {problems[0]}")
    else:
        tally.repaired += 1


# ---- calls that the system refuses


def refusals(room: Path, count: int, seed: int) -> Tally:
    """Crawls in which one call of the disk fails with ENOSPC or EIO; the folder must then hold what was confirmed."""
    tally = Tally()
    with tempfile.TemporaryDirectory(dir=room) as first:
        steps = len(record(Path(first), seed).recording.steps)
    for number in range(count):
        chance = Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory(dir=room) as each:
            _refuse(tally, Path(each) / "crawl", chance, chance.randrange(steps), f"{REFUSED} {seed} {number}")
    return tally


def _refuse(tally: Tally, folder: Path, chance: Random, at: int, title: str) -> None:
    recording, left = Recording(folder), [at]
    trouble = chance.choice([errno.ENOSPC, errno.EIO])
    promised = [0]
    sync = Journal.sync

    def refuse(step: Step) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(trouble, "refused")

    def synced(journal: Journal) -> None:
        sync(journal)
        promised[0] = journal.next_index

    try:
        with (
            _written_at_once(),
            patch.object(Journal, "sync", synced),
            recording.watching(refuse),
        ):
            _live(folder, SmallWorld(160, 1))
    except (CentimeError, OSError):
        tally.said += 1
    else:
        tally.opened += 1
    try:
        reader = read_crawl(folder)
    except CentimeError as problem:
        if promised[0]:
            tally.wrong.append(f"{title}: does not open: {problem}")
        return
    if reader.shard.frame < promised[0]:
        tally.wrong.append(f"{title}: {reader.shard.frame} frames, but {promised[0]} were confirmed")
    reader.close()
    if problems := check_crawl(folder).problems:
        tally.wrong.append(f"{title}: {problems[0]}")


@contextmanager
def recorded(seed: int = 1) -> Iterator[tuple[History, Path]]:
    """A recorded crawl, and a folder for worlds."""
    memory = Path("/dev/shm")  # a file system in memory, if there is one: worlds are many and small
    with tempfile.TemporaryDirectory(prefix="worlds-", dir=memory if memory.is_dir() else None) as room:
        yield record(Path(room), seed), Path(room)
