"""How long a program waits before the ledger works, and what a crawl of two pages costs: with nothing compiled yet, and
later.
"""

import http.server
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench.figure import Figure
from bench.report import Benchmarks, run_parts

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


class _TwoPages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"" if self.path == "/robots.txt" else b"<a href=/>home</a> <a href=/more>more</a>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        """Prints nothing."""


@contextmanager
def _site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _TwoPages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _crawl(url: str, cache: str) -> float:
    """CPU seconds of a crawl of two pages, all its processes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "centime", "crawl", f"{folder}/c", url, "--pages", "2", "--delay", "0"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*command, "--allow-network", "127.0.0.0/8"],
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
            check=True,
            capture_output=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def crawls() -> Iterator[Figure]:
    """A crawl of two pages by the command, first and later."""
    first = later = float("inf")
    with _site() as url:
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                first = min(first, _crawl(url, cache))
                later = min(later, *(_crawl(url, cache) for _ in range(3)))
    yield Figure("crawl of two pages, nothing compiled yet", first, "CPU s", "at most", 20.0)
    yield Figure("crawl of two pages, later", later, "CPU s", "at most", 1.5)


PARTS: Benchmarks = {"ledger": start, "crawl": crawls}
ABOUT = {"ledger": "the ledger in a Python program", "crawl": "a crawl of two pages by the command"}


if __name__ == "__main__":
    sys.exit(run_parts("bench.start", "What the first use of Centime costs, and the later ones", PARTS, ABOUT))
