"""The faults: each lets a crawl run for a while, hurts it, and says how many frames and visits must have survived."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.faults.crawler import Crawler, start
from bench.faults.proof import confirmed_end, last_frame, whole_frames

MOST_PAUSE_SECONDS = 0.4  # between the first visit of a run and its kill
LARGEST_TEAR = 20_000  # bytes


class Promised(NamedTuple):
    """What must be there after a fault; `trouble` says what was wrong with the way the crawl ended, `damaged` what a
    check must find."""

    frames: int
    visits: int
    trouble: str = ""
    damaged: str = ""


class Patient(NamedTuple):
    """The crawl that is hurt, and what chance decides."""

    folder: Path
    arguments: list[str]
    chance: Random

    def run_a_while(self) -> Crawler:
        """The crawl, started, at some moment after its first visit, or at its end."""
        crawler = start(self.folder, self.arguments)
        if crawler.wait_for("visits"):
            time.sleep(self.chance.uniform(0, MOST_PAUSE_SECONDS))
        return crawler


def _kill_at_start(patient: Patient) -> Promised:
    """All at once, while it opens its folder or waits for its first page."""
    crawler = start(patient.folder, patient.arguments)
    time.sleep(patient.chance.uniform(0, 0.1) if patient.chance.random() < 0.5 else patient.chance.uniform(0, 1.0))
    crawler.kill_all()
    return Promised(*crawler.flushed())


def _kill_all(patient: Patient) -> Promised:
    crawler = patient.run_a_while()
    crawler.kill_all()
    return Promised(*crawler.flushed())


def _kill_shard(patient: Patient) -> Promised:
    """The shard alone: fetchers and a snapshot under way learn of it by themselves."""
    crawler = patient.run_a_while()
    crawler.kill_shard()
    return Promised(*crawler.flushed())


def _kill_fetcher(patient: Patient) -> Promised:
    """One fetcher; the crawl must go on as if nothing had happened, until it is asked to stop."""
    return _kill_child(patient, Crawler.fetchers)


def _kill_notifier(patient: Patient) -> Promised:
    """The process that notifies subscribers; another one must take its place."""
    return _kill_child(patient, Crawler.notifiers)


def _kill_child(patient: Patient, of: Callable[[Crawler], list[int]]) -> Promised:
    crawler = patient.run_a_while()
    children = of(crawler)
    if children:
        os.kill(patient.chance.choice(children), signal.SIGKILL)
    if crawler.wait_for("visits", more=20):
        os.kill(crawler.process, signal.SIGTERM)
    code, said = crawler.wait()
    return Promised(*crawler.flushed(), trouble=f"ended with {code}: {said}" if code else "")


def _kill_in_snapshot(patient: Patient) -> Promised:
    crawler = start(patient.folder, patient.arguments)
    if crawler.wait_for("visits") and crawler.wait_for("a snapshot"):
        time.sleep(patient.chance.uniform(0, 0.004))
    crawler.kill_all()
    return Promised(*crawler.flushed())


def _kill_shard_in_snapshot(patient: Patient) -> Promised:
    """The shard alone, while its child writes a snapshot, and another crawl at once in its place."""
    crawler = start(patient.folder, patient.arguments)
    if crawler.wait_for("visits") and crawler.wait_for("a snapshot"):
        time.sleep(patient.chance.uniform(0, 0.004))
    crawler.kill_shard()
    before = crawler.flushed()
    after = _kill_all(patient)
    return Promised(max(before[0], after.frames), max(before[1], after.visits))


def _then(damage: Callable[[Path, Random], int]) -> Callable[[Patient], Promised]:
    def kill_and_damage(patient: Patient) -> Promised:
        crawler = patient.run_a_while()
        crawler.kill_all()
        frames, visits = crawler.flushed()
        segment = max((patient.folder / "journal").glob("[0-9]*.log"))
        kept = damage(segment, patient.chance)
        return Promised(kept, visits if kept >= frames else 0)

    return kill_and_damage


def _tear(segment: Path, chance: Random) -> int:
    """Bytes off the end of the journal that were not confirmed, as if the disk had not had them; the frames before must
    be there."""
    size = segment.stat().st_size
    size -= chance.randint(0, min(LARGEST_TEAR, size - confirmed_end(segment)))
    os.truncate(segment, size)
    return whole_frames(segment, size)


def _corrupt(segment: Path, chance: Random) -> int:
    """Bytes changed in the last frame, if it was not confirmed."""
    begin, size = max(last_frame(segment), confirmed_end(segment)), segment.stat().st_size
    kept = whole_frames(segment, begin)
    with segment.open("r+b") as file:
        for _ in range(chance.randint(1, 4) if size > begin else 0):
            at = chance.randrange(begin, size)
            file.seek(at)
            octet = file.read(1)[0]
            file.seek(at)
            file.write(bytes([octet ^ chance.randint(1, 255)]))
    return min(kept, whole_frames(segment, size))


def _zeros(segment: Path, chance: Random) -> int:
    """The last frame, unless it was confirmed, and some room behind it all zeros, as a file system may leave them."""
    begin, size = max(last_frame(segment), confirmed_end(segment)), segment.stat().st_size
    begin = chance.randint(begin, size)
    os.truncate(segment, begin)
    os.truncate(segment, max(size, begin) + chance.randint(1, 100_000))
    return whole_frames(segment, begin)


def _garbage(segment: Path, chance: Random) -> int:
    """Noise behind the last frame."""
    with segment.open("ab") as file:
        file.write(chance.randbytes(chance.randint(1, 5_000)))
    return whole_frames(segment, segment.stat().st_size)


def _damage_snapshot(patient: Patient) -> Promised:
    """A byte of the newest snapshot changed: the one before it, or the journal alone, must do."""
    crawler = patient.run_a_while()
    crawler.kill_all()
    names = sorted(path for path in (patient.folder / "snapshots").glob("[0-9]*") if path.name.isdigit())
    files = sorted(path for path in names[-1].iterdir() if path.stat().st_size) if names else []
    if not files:
        return Promised(*crawler.flushed())
    path = patient.chance.choice(files)
    data = bytearray(path.read_bytes())
    data[patient.chance.randrange(len(data))] ^= patient.chance.randint(1, 255)
    path.write_bytes(data)
    return Promised(*crawler.flushed(), damaged=names[-1].name)


def _fill_disk(patient: Patient) -> Promised:
    """A disk that gets full: one sentence, code 1, and all is there once there is room."""
    crawler = start(
        patient.folder, patient.arguments, room=patient.chance.randint(0, 400_000), seed=patient.chance.getrandbits(32)
    )
    code, said = crawler.wait()
    wrong = code not in (0, 1) or (code == 1 and ("disk is full" not in said or said.count("\n") != 1))
    return Promised(*crawler.flushed(), trouble=f"ended with {code}: {said}" if wrong else "")


AT_THE_START = "everything killed at the start"
KILLS: dict[str, Callable[[Patient], Promised]] = {
    "everything killed": _kill_all,
    AT_THE_START: _kill_at_start,
    "the shard killed": _kill_shard,
    "a fetcher killed": _kill_fetcher,
    "everything killed in a snapshot": _kill_in_snapshot,
    "the shard killed in a snapshot": _kill_shard_in_snapshot,
}
FAULTS: dict[str, Callable[[Patient], Promised]] = {
    **KILLS,
    "killed, tail torn": _then(_tear),
    "killed, tail corrupted": _then(_corrupt),
    "killed, tail zeros": _then(_zeros),
    "killed, garbage behind": _then(_garbage),
    "killed, newest snapshot damaged": _damage_snapshot,
    "disk full": _fill_disk,
}
CONTINUOUS = {**KILLS, "the notifier killed": _kill_notifier}
"""Faults after which a continuous crawl has told its subscribers exactly what changed: no frame that was flushed is
lost, so no change is found twice."""
