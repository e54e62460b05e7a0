"""Ranking beyond memory: seconds an iteration under a cap that the system enforces, with nothing of the links in the
page cache."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure

PROGRAM = """
import json, os, resource, sys, time
from pathlib import Path
from bench.streamed import StreamedWeb
from centime.rank.sliced.solver import out_of_core
from centime.rank.sliced.solver import SliceSolver
pages, cap = int(float(sys.argv[1])), int(float(sys.argv[2]) * 2**20)
folder, error = Path(sys.argv[3]), float(sys.argv[4])
out_of_core.rank_links(StreamedWeb(5000), {"name": "warm"}, folder / "warm", 8 << 20, error=1e-3)
out_of_core.rank_links(StreamedWeb(5000), {"name": "warm"}, folder / "warm", 8 << 20, error=1e-3)
seconds = []
whole = SliceSolver.iterate
def iterate(self, step=None):
    for path in self.slices.folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    started = time.perf_counter()
    whole(self, step)
    seconds.append(time.perf_counter() - started)
SliceSolver.iterate = iterate
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
limit = int(status["VmData"].split()[0]) * 1024 + cap + (8 << 20)  # and the stack of one more thread
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
web = StreamedWeb(pages)
found = out_of_core.rank_links(web, {"name": web.name}, folder / "work", cap, error=error, threads=2)
print(json.dumps({"links": found.links, "read": found.read_seconds, "solve": found.solve_seconds,
                  "iterations": found.iterations, "error": found.certified_error,
                  "least": min(seconds), "mean": sum(seconds) / len(seconds)}))
"""


def ranked(pages: float, cap: float, error: float) -> dict[str, float]:
    """One ranking in a process of its own, under the cap, in MB."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        command = [sys.executable, "-c", PROGRAM, str(pages), str(cap), str(Path(folder).absolute()), str(error)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def beyond() -> Iterator[Figure]:
    """10 million pages under 400 MB and under 64 MB, and how time grows with the links."""
    for cap in (400, 64):
        found = ranked(1e7, cap, 1e-4)
        label = f"10 M pages, {found['links'] / 1e6:.0f} M links under {cap} MB, cold"
        yield Figure(f"{label}: an iteration", found["least"], "s", "at most", 1.0)
        yield Figure("  in the mean", found["mean"], "s")
        yield Figure("  making the slices", found["read"], "s")
        yield Figure(
            f"  {found['iterations']:.0f} iterations to a certified error", found["error"], "", "at most", 1e-4
        )
    for pages in (1.25e6, 2.5e6, 5e6, 1e7, 2e7):
        found = ranked(pages, 80, 1e-2)
        yield Figure(
            f"time grows with the links: {found['links'] / 1e6:.0f} M links under 80 MB",
            found["least"] / found["links"] * 1e9,
            "ns/link",
        )


def huge() -> Iterator[Figure]:
    """100 million pages, 1 000 million links, under 2 GB: only when asked for."""
    found = ranked(1e8, 2000, 1e-3)
    yield Figure(f"100 M pages, {found['links'] / 1e6:.0f} M links under 2 GB: making the slices", found["read"], "s")
    yield Figure("  an iteration, cold", found["mean"], "s")
    yield Figure(f"  all {found['iterations']:.0f} iterations", found["solve"], "s")
    yield Figure("  certified error", found["error"], "", "at most", 1e-3)
