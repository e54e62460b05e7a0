"""Fuzzing: every reader of foreign bytes with mutated inputs, then every property test with new examples.

    python -m bench.fuzz [--seconds 120]      half of the time for each of the two, array bounds checked
    python -m bench.fuzz --inputs 10000000    mutated inputs until there are so many in all; a run that is stopped goes
                                              on where it was
    python -m bench.fuzz --show TARGET NUMBER writes one input to standard output

Targets are in `fuzz_targets.py`. Each works in forked processes, so a crash or a hang is a finding as well as a broken
law. What was done so far, and the inputs of findings, are in the folder `fuzz/`. The exit code is 1 if anything was
found. A round of property tests runs all hypothesis tests of the folders with another seed. The first failure ends it
and names the seed, with which `pytest --hypothesis-profile=fuzz --hypothesis-seed=N` fails again.
"""

import argparse
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from bench.fuzz_targets import Target

FOLDERS = ("discover", "fetch", "files", "frontier", "graphs", "ledger", "parse", "refresh", "settings", "store")
CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": ".venv/bounds-checked"}
TURN = 200  # inputs of a target with share 1, in one turn
MOST_FINDINGS = 20  # of a target, after which it is left alone
SLOW_SECONDS = 2.0  # for one input, in processor time
HANG_SECONDS = 60.0
KEPT = Path("fuzz")


@dataclass(slots=True)
class Done:
    """What was done for one target, in all runs."""

    inputs: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)


def main() -> int:
    """Fuzzes as the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description="Fuzzes readers and property tests.")
    parser.add_argument("--seconds", type=float, help="how long; default: 120, or as long as --inputs takes")
    parser.add_argument("--inputs", type=int, help="mutated inputs in all, of this run and those before it")
    parser.add_argument("--only", nargs="*", help="targets; default: all")
    parser.add_argument("--tests", nargs="*", default=[f"tests/{folder}" for folder in FOLDERS], help="property tests")
    parser.add_argument("--show", nargs=2, metavar=("TARGET", "NUMBER"), help="write one input to standard output")
    given = parser.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        return subprocess.run([sys.executable, "-m", "bench.fuzz", *sys.argv[1:]], env=os.environ | CHECKED).returncode
    seconds = given.seconds or (120.0 if given.inputs is None else float("inf"))
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        from bench.fuzz_mutation import mutated
        from bench.fuzz_targets import targets
        from centime.model.kernel import compile_at_once

        compile_at_once()
        every = targets(Path(folder))
        if given.show:
            name, number = given.show
            sys.stdout.buffer.write(mutated(name, every[name], int(number)))
            return 0
        alone = given.inputs is not None
        run = Run({name: target for name, target in every.items() if not given.only or name in given.only})
        run.go_on(time.monotonic() + (seconds if alone else seconds / 2), given.inputs or sys.maxsize)
    run.show()
    found = any(done.findings for done in run.done.values())
    return 1 if found or (not alone and _rounds(time.monotonic() + seconds / 2, given.tests)) else 0


class Run:
    """A run over targets, which goes on where the last one ended."""

    def __init__(self, targets: "dict[str, Target]") -> None:
        self.targets = targets
        kept = json.loads((KEPT / "done.json").read_text()) if (KEPT / "done.json").exists() else {}
        self.done = {name: Done(**kept.get(name, {})) for name in targets}
        for target in targets.values():
            for seed in target.seeds:
                target.read(seed)  # so kernels are loaded before the children are forked
        self._number = mmap.mmap(-1, 8)  # of the input that the child is reading

    def go_on(self, until: float, inputs: int) -> None:
        """Takes turns until the time is over or there are so many inputs."""
        while (left := inputs - sum(done.inputs for done in self.done.values())) > 0:
            able = [name for name in self.targets if len(self.done[name].findings) < MOST_FINDINGS]
            if not able:
                return
            for name in able:
                count = min(TURN * self.targets[name].share, left)
                if time.monotonic() >= until or count <= 0:
                    return
                self._turn(name, count)
                left -= count
                self._keep()

    def _turn(self, name: str, count: int) -> None:
        done, started = self.done[name], time.monotonic()
        end = done.inputs + count
        while done.inputs < end and len(done.findings) < MOST_FINDINGS:
            struct.pack_into("<q", self._number, 0, done.inputs)
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                os.close(reader)
                os._exit(self._child(name, done.inputs, end, writer))
            os.close(writer)
            status = self._wait(child)
            with os.fdopen(reader) as pipe:
                said = pipe.read()
            at = struct.unpack_from("<q", self._number)[0]
            if status:
                done.findings.append(f"{at}: {said.strip() or f'ended by signal {status}'}")
                self._save(name, at)
                at += 1
            done.inputs = at
        done.seconds += time.monotonic() - started

    def _child(self, name: str, start: int, end: int, writer: int) -> int:
        from bench.fuzz_mutation import mutated

        target = self.targets[name]
        for number in range(start, end):
            struct.pack_into("<q", self._number, 0, number)
            try:
                data = mutated(name, target, number)
                # The first time, a kernel may be compiled.
                if _seconds(target, data) > SLOW_SECONDS and (spent := _seconds(target, data)) > SLOW_SECONDS:
                    raise TimeoutError(f"took {spent:.1f} s")
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}"
                os.write(writer, f"{type(error).__name__}: {error} ({place})"[:400].encode(errors="replace"))
                return 1
        struct.pack_into("<q", self._number, 0, end)
        return 0

    def _wait(self, child: int) -> int:
        """How the child ended: 0 well, 1 with a finding, else the signal that ended it."""
        seen, since, pause = -1, time.monotonic(), 0.001
        while True:
            process, status = os.waitpid(child, os.WNOHANG)
            if process:
                return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
            time.sleep(pause)
            pause = min(0.05, 2 * pause)
            now = struct.unpack_from("<q", self._number)[0]
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > HANG_SECONDS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return signal.SIGKILL

    def _save(self, name: str, number: int) -> None:
        from bench.fuzz_mutation import mutated

        KEPT.mkdir(exist_ok=True)
        file = KEPT / f"{name.replace(' ', '-')}-{number}.bin"
        file.write_bytes(mutated(name, self.targets[name], number))

    def _keep(self) -> None:
        KEPT.mkdir(exist_ok=True)
        facts = {
            name: {"inputs": done.inputs, "seconds": round(done.seconds, 1), "findings": done.findings}
            for name, done in self.done.items()
        }
        kept = json.loads((KEPT / "done.json").read_text()) if (KEPT / "done.json").exists() else {}
        beside = KEPT / "done.json.part"
        beside.write_text(json.dumps(kept | facts, indent=1))
        beside.replace(KEPT / "done.json")

    def show(self) -> None:
        """Writes the table of all runs so far, and the findings."""
        table = Table(title="mutated inputs, array bounds checked", title_justify="left", box=None)
        for column in ("target", "inputs", "seconds", "findings"):
            table.add_column(column, justify="left" if column == "target" else "right")
        for name, done in self.done.items():
            table.add_row(name, f"{done.inputs:,}", f"{done.seconds:,.0f}", str(len(done.findings)))
        every = list(self.done.values())
        found = sum(len(done.findings) for done in every)
        table.add_row(
            "all", f"{sum(done.inputs for done in every):,}", f"{sum(done.seconds for done in every):,.0f}", str(found)
        )
        console = Console()
        console.print(table)
        for name, done in self.done.items():
            for finding in done.findings:
                console.print(f"{name} {finding}", markup=False, highlight=False)


def _seconds(target: "Target", data: bytes) -> float:
    before = time.process_time()
    target.read(data)
    return time.process_time() - before


def _rounds(until: float, tests: list[str]) -> bool:
    """Runs property tests with new examples until the time is over; returns whether one failed."""
    rounds = 0
    while (left := until - time.monotonic()) > 0:
        seed = random.SystemRandom().randrange(2**32)
        command = [sys.executable, "-m", "pytest", "--quiet", "-x", "-m", "hypothesis", "-p", "no:cacheprovider"]
        command += ["--numprocesses", "auto", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *tests]
        try:
            code = subprocess.run(command, timeout=left).returncode
        except subprocess.TimeoutExpired:
            break
        if code:
            print(f"failed with --hypothesis-seed={seed} in round {rounds + 1}")
            return True
        rounds += 1
    print(f"{rounds} whole rounds of property tests and a part of the next, nothing failed")
    return False


if __name__ == "__main__":
    sys.exit(main())
