"""Thousands of disks after faults, none of which may change a crawl in silence.

A small crawl is recorded once (`history.py`). Each world is the disk of that crawl after a kill or a power failure at
some moment, or after a fault of the disk itself (`damage.py`), or one on which a repair or a run fails in turn
(`failing.py`). The law:

- after a kill or a power failure the crawl opens, and its state is that after all confirmed frames, or some more; it
  goes on, and is right after that
- after a fault of the disk it opens with exactly such a state, or says what is wrong; `check` never says "right" of a
  different state; `repair` gives a crawl that is right, or says that nothing can be proven

What becomes of a world follows from its number and the seed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from time import perf_counter

from bench.faults.damage import DAMAGE
from bench.faults.disk import Image
from bench.faults.failing import FAILING
from bench.faults.history import History, in_small
from bench.faults.judging import Judge, Wrong
from bench.faults.tally import Tallies, Tally

KILLED = "process killed"
POWER = "power failure"


def _kill(history: History, moment: int, chance: Random) -> Image:
    return history.disk.image(moment)


def _power(history: History, moment: int, chance: Random) -> Image:
    return history.disk.after_power_failure(moment, chance)


CRASHES: dict[str, Callable[[History, int, Random], Image]] = {KILLED: _kill, POWER: _power}
QUICK = (*CRASHES, *DAMAGE)
KINDS = (*QUICK * 4, *FAILING)  # in turn; those that fail in turn take several runs or repairs each, and are fewer


def worlds(
    history: History,
    room: Path,
    numbers: range,
    seed: int,
    *,
    repair: float = 1.0,
    kinds: Sequence[str] = KINDS,
) -> Tallies:
    """Tries the worlds of these numbers; repairs this share of those that say what is wrong."""
    judge = Judge(history, room / "world")
    tallies = {kind: Tally() for kind in dict.fromkeys(kinds)}
    with in_small():
        for number in numbers:
            kind = kinds[number % len(kinds)]
            tallies[kind].count += 1
            try:
                _judge(judge, tallies[kind], Random(f"{seed} {number}"), kind, repair)
            except Wrong as wrong:
                tallies[kind].wrong.append(f"{kind}, world {number} of seed {seed}: {wrong}")
    return tallies


def _judge(judge: Judge, tally: Tally, chance: Random, kind: str, repair: float) -> None:
    if kind in FAILING:
        FAILING[kind](judge, tally, chance)
    elif kind in CRASHES:
        _judge_crash(judge, tally, chance, CRASHES[kind])
    else:
        _judge_damage(judge, tally, chance, DAMAGE[kind], repair)


def _judge_crash(judge: Judge, tally: Tally, chance: Random, crash: Callable[[History, int, Random], Image]) -> None:
    moment = judge.moment(chance)
    judge.show(crash(judge.history, moment, chance))
    if not judge.opens_as_promised(tally, judge.history.disk.promised(moment)):
        raise Wrong("does not open")
    judge.must_go_on()
    tally.right += 1


def _judge_damage(
    judge: Judge, tally: Tally, chance: Random, damage: Callable[[History, int, Random], Image], repair: float
) -> None:
    moment = judge.moment(chance)
    judge.show(damage(judge.history, moment, chance))
    if judge.opens_as_promised(tally, judge.history.disk.promised(moment)):
        tally.right += 1
        return
    judge.must_not_be_right()
    if chance.random() < repair:
        tally.repairs += 1
        started = perf_counter()
        repaired = judge.repair()
        if repaired is not None:
            tally.repair_seconds = max(tally.repair_seconds, perf_counter() - started)
            judge.must_be_right("repaired")
            tally.repaired += 1
    tally.said += 1
