"""Fuzzing for a stated time: every property test with examples drawn anew, in rounds, with array bounds checked.

    python -m bench.fuzz [--seconds 120] [--tests tests/parse tests/store ...]

A round runs all hypothesis tests of the folders with another seed. The first failure ends it with code 1 and names
the seed, with which `pytest --hypothesis-profile=fuzz --hypothesis-seed=N` fails again.
"""

import argparse
import os
import random
import subprocess
import sys
import time

FOLDERS = ("discover", "fetch", "files", "frontier", "graphs", "ledger", "parse", "refresh", "settings", "store")


def main() -> int:
    """Fuzzes until the time is over; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="bench.fuzz", description="Fuzzes for a stated time.")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long")
    parser.add_argument("--tests", nargs="*", default=[f"tests/{folder}" for folder in FOLDERS], help="where")
    given = parser.parse_args()
    until, rounds = time.monotonic() + given.seconds, 0
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": ".venv/bounds-checked"}
    while (left := until - time.monotonic()) > 0:
        seed = random.SystemRandom().randrange(2**32)
        command = [sys.executable, "-m", "pytest", "--quiet", "-x", "-m", "hypothesis", "-p", "no:cacheprovider"]
        command += ["--numprocesses", "auto", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *given.tests]
        try:
            code = subprocess.run(command, env=checked, timeout=left).returncode
        except subprocess.TimeoutExpired:
            break
        if code:
            print(f"failed with --hypothesis-seed={seed} in round {rounds + 1}")
            return 1
        rounds += 1
    print(f"{rounds} whole rounds and a part of the next, nothing failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
