"""The crawler's benchmarks: prints each figure beside what was promised, and ends with code 1 if a promise is not kept.

    python -m bench.crawl [PART ...] [--json]

`pages` fetches nginx and four packages of documentation from Debian, about 52 MB, once, into `build/bench`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.__main__ import as_json, shown
from bench.crawl_pages import pages
from bench.crawl_shard import ingest, size
from bench.figure import Figure

PARTS: dict[str, Callable[[], Iterator[Figure]]] = {"pages": pages, "ingest": ingest, "size": size}
ABOUT = {
    "pages": "pages/CPU-s beside a bare loop and Scrapy, two fetchers",
    "ingest": "new URLs a second",
    "size": "ten million known URLs",
}


def main() -> int:
    """The exit code: 1 if a promise is not kept."""
    listed = "; ".join(f"{name}: {about}" for name, about in ABOUT.items())
    parser = argparse.ArgumentParser(prog="python -m bench.crawl", description=f"The crawler's benchmarks. {listed}.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    console = Console(quiet=chosen.json)
    found: dict[str, list[Figure]] = {}
    for name in chosen.parts or PARTS:
        started = perf_counter()
        with console.status(f"{name} ..."):
            found[name] = list(PARTS[name]())
        table = Table(title=f"{name} ({perf_counter() - started:.0f} s)", title_justify="left", box=None, show_header=False, min_width=110)
        for figure in found[name]:
            promise = "" if figure.limit is None else f"{figure.kind} {shown(figure.limit)}"
            verdict = {True: "[green]kept", False: "[red]missed", None: ""}[figure.kept]
            table.add_row(figure.name, f"{shown(figure.value)} {figure.unit}", promise, verdict)
        console.print(table)
    if chosen.json:
        print(json.dumps({name: [as_json(figure) for figure in figures] for name, figures in found.items()}))
    return 1 if any(figure.kept is False for figures in found.values() for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
