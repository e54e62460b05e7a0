"""The scheduler for Scrapy beside Scrapy's own, and under Scrapy's own tests of schedulers.

    python -m bench.scrapy [PART ...] [--json]

`speed` crawls three generated sites of 8 hosts on the loopback interface, each with Scrapy's scheduler in memory, with
the same in a job directory, and with Centime's, one after the other; pages per CPU-second between page WARM and the end
of the crawl, so that neither imports nor the loading of kernels count: kernels that run uncompiled until compiling pays
are loaded with the first visits here (`compile_at_once`), which takes some 0.6 CPU-seconds of each run. `tests` fetches
Scrapy's source distribution and runs its tests of schedulers, with Centime's in the place of the default one.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bench.figure import Figure
from bench.report import Benchmarks, run_parts

SEEDS = (1, 2, 3)
PAGES, WARM = 1_500, 500
CONFORMANCE = Path(__file__).parent / "scrapy_conformance.py"
NOT_OURS = {  # tests of what only Scrapy's own scheduler has
    "TestMigration": "about files of Scrapy's priority queues",
    "TestIncompatibility": "about a setting that Scrapy's priority queues refuse",
    "test_scheduler_without_crawler": "about a constructor without a crawler",
}


def speed() -> Iterator[Figure]:
    """Pages per CPU-second with each scheduler."""
    found: dict[str, list[float]] = {"memory": [], "jobdir": [], "centime": []}
    with tempfile.TemporaryDirectory() as folder:
        with _site(0) as port:
            _crawl("centime", port, f"{folder}/first")  # compiles what is not compiled yet
        for seed in SEEDS:
            with _site(seed) as port:
                for kind, rates in found.items():
                    rates.append(_crawl(kind, port, f"{folder}/{kind}{seed}"))
    for kind, rates in found.items():
        yield Figure(f"{kind}: median of {len(SEEDS)} sites", median(rates), "pages/CPU-s")
    for peer in ("memory", "jobdir"):
        ratios = [ours / theirs for ours, theirs in zip(found["centime"], found[peer], strict=True)]
        yield Figure(f"centime over {peer}: median", median(ratios), "times", "at least", 0.9)
        yield Figure(f"centime over {peer}: least", min(ratios), "times")


def tests() -> Iterator[Figure]:
    """How many of Scrapy's own tests of schedulers pass."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        wanted = f"scrapy=={version('scrapy')}"
        subprocess.run([*fetch, "--no-binary", "scrapy", "--dest", folder, wanted], check=True, stdout=sys.stderr)
        (packed,) = Path(folder).glob("*.tar.gz")
        subprocess.run(["tar", "xzf", packed, "-C", folder], check=True)
        (source,) = (path for path in Path(folder).iterdir() if path.is_dir())
        plugins = Path(folder) / "plugins"
        needed = ["pytest-twisted", "greenlet", "decorator"]  # of Scrapy's tests; they stay out of this environment
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(plugins), *needed]
        subprocess.run(install, check=True, stdout=sys.stderr)
        plugin = source / "centime_in_place.py"
        plugin.write_text(CONFORMANCE.read_text())
        left_out = " and ".join(f"not {name}" for name in NOT_OURS)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "centime_in_place",
            "-p",
            "no:cacheprovider",
            "--reactor=asyncio",
        ]
        files = ["tests/test_scheduler.py", "tests/test_scheduler_base.py"]
        done = subprocess.run(
            [*command, "-k", left_out, "--junitxml", "found.xml", *files],
            cwd=source,
            env=os.environ | {"PYTHONPATH": f"{plugins}{os.pathsep}{source}"},
            stdout=sys.stderr,
            check=False,
        )
        counts = _counts((source / "found.xml").read_text())
    yield Figure("Scrapy's tests of schedulers that pass", counts["tests"] - counts["failures"] - counts["errors"], "")
    yield Figure("that fail", counts["failures"] + counts["errors"] + (done.returncode > 1), "", "at most", 0)
    yield Figure(f"left out: {'; '.join(f'{name} ({why})' for name, why in NOT_OURS.items())}", len(NOT_OURS), "")


def _counts(report: str) -> dict[str, int]:
    head = report.partition("<testsuite ")[2].partition(">")[0]
    return {name: int(head.partition(f'{name}="')[2].partition('"')[0]) for name in ("tests", "failures", "errors")}


@contextmanager
def _site(seed: int) -> Iterator[str]:
    """The port of a generated site, in a process of its own."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.scrapy_site", str(seed), str(PAGES)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


def _crawl(kind: str, port: str, folder: str) -> float:
    """Pages per CPU-second of a crawl in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "bench.scrapy_crawl",
        kind,
        port,
        folder,
        str(PAGES),
        str(WARM),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    pages, cpu = json.loads(done.stdout)
    assert pages >= PAGES - WARM, f"{kind}: {pages} pages after the first {WARM}"
    return float(pages / cpu)


PARTS: Benchmarks = {"speed": speed, "tests": tests}
ABOUT = {"speed": "pages/CPU-s beside Scrapy's own scheduler", "tests": "Scrapy's own tests of schedulers"}

if __name__ == "__main__":
    sys.exit(run_parts("bench.scrapy", "The scheduler for Scrapy", PARTS, ABOUT))
