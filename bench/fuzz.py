"""Fuzzing: every reader of foreign bytes with mutated inputs, then every property test with new examples.

    python -m bench.fuzz [--seconds 120]      half of the time for each of the two, array bounds checked
    python -m bench.fuzz --inputs 10000000    mutated inputs until there are so many in all; a run that is stopped goes
                                              on where it was; --jobs 2 for two processes
    python -m bench.fuzz --table              what was done so far, also while a run goes on
    python -m bench.fuzz --show TARGET NUMBER writes one input to standard output

Targets are in `fuzz_targets.py`, turns in `fuzz_run.py`. What was done so far, and the inputs of findings, are in the
folder `fuzz/`. The exit code is 1 if anything was found. A round of property tests runs all hypothesis tests of the
folders with another seed. The first failure ends it and names the seed, with which
`pytest --hypothesis-profile=fuzz --hypothesis-seed=N` fails again.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.fuzz_failures import FAILURES
from bench.fuzz_run import Run, show, written

FOLDERS = ("discover", "fetch", "files", "frontier", "graphs", "ledger", "parse", "refresh", "settings", "store")
CHECKED = {"NUMBA_BOUNDSCHECK": "1"}
KEPT = Path("fuzz")
ENDING_SECONDS = 30.0  # for tests that are interrupted


def main() -> int:
    """Fuzzes as the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description="Fuzzes readers and property tests.")
    parser.add_argument("--seconds", type=float, help="how long; default: 120, or as long as --inputs takes")
    parser.add_argument("--inputs", type=int, help="mutated inputs in all, of this run and those before it")
    parser.add_argument("--jobs", type=int, default=1, help="processes for mutated inputs; the result is the same")
    parser.add_argument("--only", nargs="*", help="targets; default: all")
    parser.add_argument("--tests", nargs="*", default=[f"tests/{folder}" for folder in FOLDERS], help="property tests")
    parser.add_argument("--table", action="store_true", help="show what was done so far")
    parser.add_argument("--show", nargs=2, metavar=("TARGET", "NUMBER"), help="write one input to standard output")
    given = parser.parse_args()
    if given.table:
        return show(written(KEPT))
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
        run = Run({name: target for name, target in every.items() if not given.only or name in given.only}, KEPT)
        run.go_on(time.monotonic() + (seconds if alone else seconds / 2), given.inputs, given.jobs)
    found = show(run.done)
    return 1 if found or (not alone and _rounds(time.monotonic() + seconds / 2, given.tests)) else 0


def _rounds(until: float, tests: list[str]) -> bool:
    """Runs property tests with new examples until the time is over; returns whether one failed."""
    rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        failures = Path(folder) / "failures"
        while (left := until - time.monotonic()) > 0:
            seed = random.SystemRandom().randrange(2**32)
            finished = _round(seed, tests, left, failures)
            if failures.exists():
                print(f"failed with --hypothesis-seed={seed} in round {rounds + 1}:\n{failures.read_text()}", end="")
                return True
            rounds += finished
    print(f"{rounds} whole rounds of property tests and a part of the next, nothing failed")
    return False


def _round(seed: int, tests: list[str], seconds: float, failures: Path) -> bool:
    """Runs property tests once; names those that fail in a file as soon as they do. Returns whether there was time for
    all.
    """
    command = [sys.executable, "-m", "pytest", "--quiet", "-x", "-m", "hypothesis", "-p", "no:cacheprovider"]
    command += ["-p", "bench.fuzz_failures", "--numprocesses", "auto", *tests]
    command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
    started = subprocess.Popen(command, env=os.environ | {FAILURES: str(failures)})
    try:
        code = started.wait(seconds)
    except subprocess.TimeoutExpired:
        started.send_signal(signal.SIGINT)  # so that it shows what has failed so far
        try:
            started.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        return False
    if code and not failures.exists():
        failures.write_text(f"the tests ended with exit code {code}\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
