"""What a page costs here and in another checkout of Centime, such as an older commit, on the same real pages.

    git worktree add ../older COMMIT && make -C ../older .venv/ready
    python -m bench.crawl_beside ../older [--turns 4] [--json]

Both crawl the whole documentation of `bench.crawl pages` with one fetcher, in turn, because a machine is slower in one
quarter of an hour than in the next. Of each the least and the median CPU count, once as it is, and once without the
first `FEW` pages, in which programs start and kernels are loaded.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.crawl_pages import ALL, FEW, HOSTS, Run, per_cpu_second, timed_crawl
from bench.crawl_server import documentation
from bench.figure import Figure
from bench.report import report


def beside(python: str, turns: int) -> Iterator[Figure]:
    """Microseconds of CPU a page of both, and their ratios."""
    with documentation() as served:

        def crawl(program: str, most: int) -> Run:
            return timed_crawl(served.seeds(HOSTS), "host", 1, most, python=program)

        runs: dict[str, list[tuple[Run, Run]]] = {sys.executable: [], python: []}
        for program in runs:
            crawl(program, FEW)  # compiles what is not compiled yet
        for turn in range(turns):
            for program in sorted(runs, reverse=bool(turn % 2)):
                runs[program].append((crawl(program, FEW), crawl(program, ALL)))
    here, there = runs[sys.executable], runs[python]
    yield Figure("pages here", here[0][1].pages, "")
    yield Figure("pages there", there[0][1].pages, "")
    for name, cost in (
        ("least, whole crawl", lambda some: min(full.cpu / full.pages for _, full in some)),
        ("median, whole crawl", lambda some: median(full.cpu / full.pages for _, full in some)),
        (f"least, without the first {FEW} pages", lambda some: 1 / per_cpu_second(some)),
    ):
        yield Figure(f"{name}: here", cost(here) * 1e6, "us of CPU a page")
        yield Figure(f"{name}: there", cost(there) * 1e6, "us of CPU a page")
        yield Figure(f"{name}: here over there", cost(here) / cost(there), "")


def main() -> int:
    """The exit code of the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench.crawl_beside", description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="a checkout of Centime with an environment in .venv")
    parser.add_argument("--turns", type=int, default=4, help="how often both crawl all pages (default: 4)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    given = parser.parse_args()
    python = given.checkout.resolve() / ".venv" / "bin" / "python"
    if not python.exists():
        parser.error(f"{python} is not there: run make .venv/ready in {given.checkout}")
    return report({"beside": lambda: beside(str(python), given.turns)}, ["beside"], as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
