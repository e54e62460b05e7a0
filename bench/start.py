"""How long a program waits before the ledger works: import, first use with nothing compiled yet, later uses."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from bench.figure import Figure

PROGRAM = """
import json, time
started = time.perf_counter()
from centime import Ledger
imported = time.perf_counter()
ledger = Ledger()
ledger.visit("home", ["news", "about"])
ledger.visit("news", ["home"])
ledger.settle(error=1e-9)
ledger.top(3)
print(json.dumps([imported - started, time.perf_counter() - started]))
"""


def run(cache: str) -> list[float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True)
    return [float(value) for value in json.loads(done.stdout)]


def start() -> Iterator[Figure]:
    """Import, first kernel use and later runs, each in a process of its own."""
    first = float("inf")
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first = min(first, run(cache)[1])
            later = [run(cache) for _ in range(5)]
    yield Figure("from centime import Ledger", min(imported for imported, _ in later), "s", "at most", 0.5)
    yield Figure("first use, nothing compiled yet", first, "s", "at most", 3.0)
    yield Figure("later uses, compiled code cached", min(used for _, used in later), "s", "at most", 1.0)
