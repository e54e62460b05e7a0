"""What an HTTP request costs: Centime's exchange, with all its guarantees, beside a bare session of aiohttp.

    python -m bench.exchange [PART ...] [--json]

`kept` sends requests over kept connections, `fresh` makes a connection for each. Server and clients are processes of
their own on this machine; only the CPU of the client counts, user and system. The clients take turns, and for each kind
of answer the least of the repeats counts. aiohttp is a peer (`bench/peers.in`); without it only the exchange is
measured."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

from bench.exchange_server import CODINGS, SIZES
from bench.figure import Figure
from bench.report import Benchmarks, run_parts

REPEATS, REQUESTS = 7, 3_200
CLIENTS = ("exchange", "aiohttp")


def requests(kind: str) -> Iterator[Figure]:
    """Microseconds of each client for each kind of answer, and how much cheaper the exchange is."""
    clients = [name for name in CLIENTS if name == "exchange" or find_spec(name)]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    with subprocess.Popen([sys.executable, "-m", "bench.exchange_server"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = server.stdout.readline().strip()
            for _ in range(REPEATS):
                for name in clients:
                    runs[name].append(_run(name, port, kind))
        finally:
            server.terminate()
    for size in SIZES:
        for coding in CODINGS:
            least = {name: min(run[f"{size}/{coding}"] for run in runs[name]) for name in clients}
            for name in clients:
                yield Figure(f"{size // 1000} KB, {coding}: {name}", least[name], "µs/request")
            if "aiohttp" in least:
                ratio = least["aiohttp"] / least["exchange"]
                yield Figure(f"{size // 1000} KB, {coding}: aiohttp over exchange", ratio, "times")


def _run(name: str, port: str, kind: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.exchange_run", name, port, kind, str(REQUESTS)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {answer: float(cost) for answer, cost in json.loads(done.stdout).items()}


PARTS: Benchmarks = {"kept": partial(requests, "kept"), "fresh": partial(requests, "fresh")}
ABOUT = {"kept": "requests over kept connections", "fresh": "requests over new connections"}


if __name__ == "__main__":
    sys.exit(run_parts("bench.exchange", "The cost of an HTTP request", PARTS, ABOUT))
