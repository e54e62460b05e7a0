"""Repairs and runs that fail in turn: killed, without power, or refused by the disk at any of their calls.

- a repair that failed is repeated: it gives what one that did not fail gives, or no less
- a run that failed after a crash has lost nothing that was confirmed, before the first crash or since
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from time import perf_counter

from bench.faults.damage import DAMAGE
from bench.faults.disk import Image, Step
from bench.faults.history import FIRST_TIME, RUNS, digest, go_on, journaled, states_of
from bench.faults.judging import Content, Judge, Wrong
from bench.faults.recorded import Recording
from bench.faults.tally import Tally
from centime.crawl.repair.repair import repair_crawl
from centime.model.errors import CentimeError
from centime.shard.fold import fold
from centime.store.folder import is_crawl

REFUSED = "killed, call of the run refused"
TRIES = 50  # to damage a crawl so that it does not open
LATER = 5_000.0  # the time of a run after all recorded ones
SOME_STEPS = 600  # about as many as a run has


@contextmanager
def _refused(recording: Recording, at: int, chance: Random) -> Iterator[None]:
    """One call of the disk fails with ENOSPC or EIO: the one with this number."""
    left, trouble = [at], chance.choice([errno.ENOSPC, errno.EIO])

    def refuse(step: Step) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(trouble, "refused")

    with recording.watching(refuse):
        yield


# ---- runs


def _killed_again(judge: Judge, tally: Tally, chance: Random) -> None:
    """A crawl that goes on after a crash, and crashes again."""
    _run(judge, tally, chance, refuse=False)


def _run_refused(judge: Judge, tally: Tally, chance: Random) -> None:
    """A crawl that goes on after a crash, or is just created, until a call is refused."""
    if chance.random() < 0.2:
        _creation_refused(judge, tally, chance)
    else:
        _run(judge, tally, chance, refuse=True)


def _creation_refused(judge: Judge, tally: Tally, chance: Random) -> None:
    judge.show(Image())
    judge.will_change()
    recording, at, said = Recording(judge.folder), chance.randrange(SOME_STEPS), False
    with journaled(recording.promise) as frames:
        try:
            with _refused(recording, at, chance):
                go_on(judge.folder, judge.history.world, FIRST_TIME, 0, ends=True)
        except (CentimeError, OSError):
            said = True
    promised = recording.disk().promised(len(recording.steps))
    if is_crawl(judge.folder):
        reader = judge.read(tally)
        if reader is None:
            raise Wrong("does not open after its first run failed")
        judge.must_be(reader, promised, states_of(judge.folder, frames).get)
    elif promised:
        raise Wrong(f"is no crawl, but {promised} frames were confirmed")
    try:
        go_on(judge.folder, judge.history.world, LATER, 0, ends=True)
    except (CentimeError, OSError) as trouble:
        raise Wrong(f"cannot be begun again: {trouble}") from trouble
    judge.must_be_right("begun again")
    tally.said += said
    tally.right += not said


def _run(judge: Judge, tally: Tally, chance: Random, *, refuse: bool) -> None:
    disk, moment = judge.history.disk, judge.moment(chance)
    judge.show(disk.after_power_failure(moment, chance) if chance.random() < 0.5 else disk.image(moment))
    base = judge.read(tally)
    if base is None:
        raise Wrong("does not open after a crash")
    begin = base.shard.frame
    if judge.history.states.get(begin) != digest(base.shard) or begin < disk.promised(moment):
        raise Wrong(f"another state after {begin} frames")
    judge.will_change()
    recording = Recording(judge.folder)
    at = chance.randrange(SOME_STEPS)
    said = False
    with journaled(recording.promise) as frames:
        try:
            with _refused(recording, at, chance) if refuse else recording.watching():
                go_on(judge.folder, judge.history.world, LATER, RUNS, ends=chance.random() < 0.5)
        except (CentimeError, OSError) as trouble:
            if not refuse:
                raise Wrong(f"cannot be continued: {trouble}") from trouble
            said = True
    failed = recording.disk()
    end = len(recording.steps)
    if not refuse:
        end = chance.randint(recording.begun, end)
        judge.show(failed.after_power_failure(end, chance) if chance.random() < 0.5 else failed.image(end))
    reader = judge.read(tally)
    if reader is None:
        raise Wrong("does not open after a run that failed")

    def expected(frame: int) -> str:
        for kind, payload in frames[: frame - begin]:
            fold(base.shard, kind, payload)
        return digest(base.shard)

    judge.must_be(reader, max(begin, failed.promised(end)), expected)
    base.close()
    judge.must_go_on()
    tally.said += said
    tally.right += not said


# ---- repairs


def _repair_killed(judge: Judge, tally: Tally, chance: Random) -> None:
    """A repair that is killed, or loses its power, at any of its calls."""
    _, recording, first = _repaired(judge, tally, chance)
    disk = recording.disk()
    at = chance.randint(recording.begun, len(recording.steps))
    judge.show(disk.after_power_failure(at, chance) if chance.random() < 0.5 else disk.image(at))
    _repair_again(judge, tally, first)


def _repair_refused(judge: Judge, tally: Tally, chance: Random) -> None:
    """A repair of which a call is refused."""
    image, recording, first = _repaired(judge, tally, chance)
    count = len(recording.steps) - recording.begun
    judge.show(image)
    judge.will_change()
    recording = Recording(judge.folder)
    try:
        with _refused(recording, chance.randrange(max(1, count)), chance):
            repair_crawl(judge.folder)
    except (CentimeError, OSError):
        pass
    except Exception as trouble:
        raise Wrong(f"repair that is refused a call: {type(trouble).__name__}: {trouble}") from trouble
    _repair_again(judge, tally, first)


def _repaired(judge: Judge, tally: Tally, chance: Random) -> tuple[Image, Recording, Content | None]:
    """A damaged disk, and the repair of it: what it did, and what the crawl has then, or None if nothing can be
    proven."""
    for _ in range(TRIES):
        image = DAMAGE[chance.choice(list(DAMAGE))](judge.history, judge.moment(chance), chance)
        judge.show(image)
        reader = judge.read(tally)
        if reader is None:
            break
        reader.close()
    judge.will_change()
    recording = Recording(judge.folder)
    with recording.watching():
        lost = judge.repair()
    return image, recording, None if lost is None else judge.content(tally)


def _repair_again(judge: Judge, tally: Tally, first: Content | None) -> None:
    tally.repairs += 1
    started = perf_counter()
    lost = judge.repair()
    seconds = perf_counter() - started
    if lost is None:
        if first is not None:
            raise Wrong("the repair that failed cannot be repeated")
        tally.said += 1
        return
    tally.repair_seconds = max(tally.repair_seconds, seconds)
    judge.must_be_right("repaired again")
    if first is not None:
        now = judge.content(tally)
        if now.frames < first.frames or now.pages < first.pages or now.visits < first.visits:
            raise Wrong(f"the repeated repair has {now[:3]} frames, pages and visits, the first one had {first[:3]}")
    tally.repaired += 1
    tally.said += 1


FAILING: dict[str, Callable[[Judge, Tally, Random], None]] = {
    "killed, run killed again": _killed_again,
    REFUSED: _run_refused,
    "damaged, repair killed": _repair_killed,
    "damaged, call of the repair refused": _repair_refused,
}
