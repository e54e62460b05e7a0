"""Slow hosts do not stop the others: what good hosts lose beside 30 000 that drip, are dead or refuse.

    python -m bench.isolation [--json]

One crawl. At first it knows GOOD hosts, each polite DELAY apart, and their rate is measured. Then it learns of BAD
hosts of each bad kind, each a domain of its own, and the rate of the good hosts is measured again while all of them are
tried. Last, pages of the good hosts begin to link to NEW_HOSTS new ones, which must be found beside the bad ones."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from bench.isolation_server import NEW_HOSTS
from bench.report import Benchmarks, run_parts
from centime.crawl.engine.loop import Engine
from centime.crawl.engine.opening import open_writer
from centime.shard.message import Seeded

GOOD, BAD = 20, 10_000
DELAY = 0.2
WARM_UP, ALONE, BESIDE, LAST = 10.0, 20.0, 60.0, 60.0  # seconds
KINDS = ("drip", "dead", "refusing")


class Crawl:
    """A crawl whose good hosts are counted."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.shard = engine, engine.shard

    def read(self, kind: str) -> int:
        """Pages read from the hosts of a kind."""
        return sum(host.read for host in self.shard.hosts.all if host.name.startswith(f"http://{kind}"))

    def hosts(self, kind: str) -> int:
        """Hosts of a kind that were visited."""
        return sum(host.visits > 0 for host in self.shard.hosts.all if host.name.startswith(f"http://{kind}"))

    def learn(self, ports: list[int]) -> None:
        """Makes the bad hosts known."""
        urls = [
            f"http://{kind}{number}.{kind}{number}.test:{port}/"
            for number in range(BAD)
            for kind, port in zip(KINDS, ports, strict=True)
        ]
        self.shard.seed(Seeded(time.time(), "\n".join(urls).encode()))

    def rate(self, seconds: float) -> float:
        """Pages per second of the good hosts while the crawl runs for some seconds."""
        before, began = self.read("good"), time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            self.engine.step()
        return (self.read("good") - before) / passed


def isolation() -> Iterator[Figure]:
    """The rate of good hosts, alone and beside bad ones."""
    command = [sys.executable, "-m", "bench.isolation_server"]
    given = {"scope": "any", "delay": DELAY, "allow-network": ["127.0.0.0/8"], "resolve": ["*.test=127.0.0.1"]}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory(prefix="isolation-") as folder,
    ):
        assert server.stdout is not None
        try:
            good, *bad = map(int, server.stdout.readline().split())
            seeds = [f"http://good{number}.good{number}.test:{good}/" for number in range(GOOD)]
            with open_writer(Path(folder) / "crawl", seeds, given | {"workers": 2}) as opened:
                engine = Engine(opened)
                crawl = Crawl(engine)
                crawl.rate(WARM_UP)
                alone = crawl.rate(ALONE)
                crawl.learn(bad)
                beside = crawl.rate(BESIDE)
                tried = {kind: crawl.hosts(kind) for kind in KINDS}
                server.send_signal(signal.SIGUSR1)
                last = crawl.rate(LAST)
                found = crawl.hosts("new")
                engine.stop()
                engine.stop()
                engine.finish()
        finally:
            server.terminate()
    yield Figure(f"{GOOD} good hosts alone", alone, "pages/s")
    for kind, count in tried.items():
        yield Figure(f"of {BAD} {kind} hosts, tried in {BESIDE:.0f} s", float(count), "")
    yield Figure(f"good hosts beside {len(KINDS) * BAD} bad ones", beside, "pages/s")
    yield Figure("of their rate alone", beside / alone, "", "at least", 0.9)
    yield Figure("the minute after", last / alone, "", "at least", 0.9)
    yield Figure(f"new good hosts that were found then, of {NEW_HOSTS}", float(found), "", "at least", NEW_HOSTS)


PARTS: Benchmarks = {"isolation": isolation}
ABOUT = {"isolation": "good hosts beside hosts that drip, are dead or refuse"}


if __name__ == "__main__":
    sys.exit(run_parts("bench.isolation", "Slow hosts do not stop the others", PARTS, ABOUT))
