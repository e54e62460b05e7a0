"""A run of the fuzzers: targets take turns, each turn in a forked process, so that a crash and a hang are findings too.

At any time a target has one turn at most, and its inputs are taken by their numbers, one after the other. So the result
does not depend on the number of jobs, and what was done is one number for each target. A finding ends its turn; the
next one begins behind it. When a run begins, the inputs of earlier findings are read again: what fails no longer is
counted as mended.
"""

import gc
import json
import mmap
import os
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.fuzz_mutation import mutated
from bench.fuzz_target import Target

TURN = 500  # inputs of a target with share 1, in one turn
MOST_FINDINGS = 20  # of a target, after which it is left alone
SLOW_SECONDS = 2.0  # for one input, in processor time
HANG_SECONDS = 60.0


@dataclass(slots=True)
class Done:
    """What was done for one target, in all runs."""

    inputs: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)


class Turn:
    """A process that reads inputs of one target."""

    def __init__(self, name: str, target: Target, inputs: Callable[[int], bytes], start: int, end: int) -> None:
        self.name, self.started = name, time.monotonic()
        self._number = mmap.mmap(-1, 8)  # of the input that it reads
        self._seen, self._since = -1, self.started
        struct.pack_into("<q", self._number, 0, start)
        self.pipe, writer = os.pipe()  # closed by the end of the process, however it ends
        self._child = os.fork()
        if not self._child:
            os._exit(self._read(target, inputs, start, end, writer))
        os.close(writer)

    def _read(self, target: Target, inputs: Callable[[int], bytes], start: int, end: int, writer: int) -> int:
        """In the process itself: reads inputs; 1 if there is a finding."""
        slow, clock = SLOW_SECONDS, time.perf_counter
        for number in range(start, end):
            struct.pack_into("<q", self._number, 0, number)
            try:
                data = inputs(number)
                before = clock()
                target.read(data)
                # The first time, a kernel may be compiled, or the machine be busy.
                if clock() - before > slow and (spent := _seconds(target, data)) > slow:
                    raise TimeoutError(f"took {spent:.1f} s")
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}"
                os.write(writer, f"{type(error).__name__}: {error} ({place})"[:400].encode(errors="replace"))
                return 1
        struct.pack_into("<q", self._number, 0, end)
        return 0

    @property
    def at(self) -> int:
        """The number of the input that is read, or behind the last one."""
        return int(struct.unpack_from("<q", self._number)[0])

    def stop_if_stuck(self) -> None:
        """Ends the process if it reads one input for too long."""
        if self.at != self._seen:
            self._seen, self._since = self.at, time.monotonic()
        elif time.monotonic() - self._since > HANG_SECONDS:
            os.kill(self._child, signal.SIGKILL)

    def ended(self) -> str:
        """What was found, empty if nothing was, once the process has ended."""
        with os.fdopen(self.pipe, errors="replace") as pipe:
            said = pipe.read()
        status = os.waitpid(self._child, 0)[1]
        return (said.strip() or f"ended by signal {os.WTERMSIG(status)}") if status else ""


class Run:
    """A run over targets, which goes on where the last one ended."""

    def __init__(self, targets: dict[str, Target], kept: Path) -> None:
        self.targets, self.kept = targets, kept
        before = written(kept)
        self.done = {name: before.get(name, Done()) for name in targets}
        for target in targets.values():
            for seed in target.seeds:
                target.read(seed)  # so kernels are loaded before the processes are forked
        gc.freeze()  # forked processes need not copy what never changes
        for name in targets:
            self._forget_mended(name)

    def go_on(self, until: float, inputs: int | None = None, jobs: int = 1) -> None:
        """Takes turns until the time is over, or there are so many inputs."""
        shares = sum(target.share for target in self.targets.values())
        wanted = {
            name: sys.maxsize if inputs is None else -(-inputs * target.share // shares)
            for name, target in self.targets.items()
        }
        turns: dict[int, Turn] = {}  # by pipe
        while True:
            while len(turns) < jobs and time.monotonic() < until:
                name = self._next(wanted, {turn.name for turn in turns.values()})
                if name is None:
                    break
                start, target = self.done[name].inputs, self.targets[name]
                end = min(start + TURN * target.share, wanted[name])
                turn = Turn(name, target, partial(mutated, name, target), start, end)
                turns[turn.pipe] = turn
            if not turns:
                return
            for pipe in select.select(list(turns), [], [], 1.0)[0]:
                self._take(turns.pop(pipe))
            for turn in turns.values():
                turn.stop_if_stuck()

    def _next(self, wanted: dict[str, int], busy: set[str]) -> str | None:
        """The target that lags behind most, for its share."""
        able = [
            name
            for name, done in self.done.items()
            if name not in busy and done.inputs < wanted[name] and len(done.findings) < MOST_FINDINGS
        ]
        return min(able, key=lambda name: self.done[name].inputs / self.targets[name].share, default=None)

    def _take(self, turn: Turn) -> None:
        """Notes what a turn did."""
        done, finding, at = self.done[turn.name], turn.ended(), turn.at
        if finding:
            done.findings.append(f"{at}: {finding}")
            self.kept.mkdir(exist_ok=True)
            self._file(turn.name, at).write_bytes(mutated(turn.name, self.targets[turn.name], at))
            at += 1
        done.inputs = at
        done.seconds = round(done.seconds + time.monotonic() - turn.started, 3)
        self._keep()

    def _forget_mended(self, name: str) -> None:
        """Reads the inputs of earlier findings again."""
        done, target = self.done[name], self.targets[name]
        for finding in done.findings[:]:
            number = int(finding.partition(":")[0])
            turn = Turn(name, target, lambda number: self._file(name, number).read_bytes(), number, number + 1)
            while not select.select([turn.pipe], [], [], 1.0)[0]:
                turn.stop_if_stuck()
            if not turn.ended():
                done.findings.remove(finding)
                done.mended.append(finding)

    def _file(self, name: str, number: int) -> Path:
        return self.kept / f"{name.replace(' ', '-')}-{number}.bin"

    def _keep(self) -> None:
        self.kept.mkdir(exist_ok=True)
        beside = self.kept / "done.json.part"
        every = written(self.kept) | self.done
        beside.write_text(json.dumps({name: asdict(done) for name, done in every.items()}, indent=1))
        beside.replace(self.kept / "done.json")


def written(kept: Path) -> dict[str, Done]:
    """What was done so far, by target, as the folder says."""
    file = kept / "done.json"
    return {name: Done(**facts) for name, facts in json.loads(file.read_text()).items()} if file.exists() else {}


def show(every: dict[str, Done]) -> int:
    """Writes the table of all runs so far, and the findings; returns 1 if there are any, else 0."""
    table = Table(title="mutated inputs, array bounds checked", title_justify="left", box=None)
    for column in ("target", "inputs", "seconds", "findings", "mended"):
        table.add_column(column, justify="left" if column == "target" else "right")
    whole = Done()
    for name, done in every.items():
        _add_row(table, name, done)
        whole.inputs, whole.seconds = whole.inputs + done.inputs, whole.seconds + done.seconds
        whole.findings, whole.mended = whole.findings + done.findings, whole.mended + done.mended
    _add_row(table, "all", whole)
    console = Console()
    console.print(table)
    for name, done in every.items():
        for finding in done.findings:
            console.print(f"{name} {finding}", markup=False, highlight=False)
    return 1 if whole.findings else 0


def _add_row(table: Table, name: str, done: Done) -> None:
    table.add_row(name, f"{done.inputs:,}", f"{done.seconds:,.0f}", str(len(done.findings)), str(len(done.mended)))


def _seconds(target: Target, data: bytes) -> float:
    before = time.process_time()
    target.read(data)
    return time.process_time() - before
