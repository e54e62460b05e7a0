"""Runs the benchmarks asked for, or all the quick ones, and prints each figure beside what was promised."""

import argparse
import sys
from pathlib import Path

from bench.beyond import beyond, huge
from bench.error import changing_error, static_error
from bench.exactness import exactness
from bench.memory import memory
from bench.ranking import file_to_scores, generated, one_pass, real
from bench.report import Benchmarks, report
from bench.settling import settling
from bench.speed import speed
from bench.start import start

RANKING = ("rank-real", "rank-generated", "rank-pass", "rank-memory", "rank-beyond")
LONG = ("exactness", "rank-huge")


def benchmarks(graph: Path | None) -> Benchmarks:
    return {
        "start": start,
        "memory": memory,
        "speed": lambda: speed(100_000, 2_500_000),
        "speed-large": lambda: speed(10_000_000, 700_000),
        "settling": lambda: settling(graph),
        "static-error": static_error,
        "changing-error": changing_error,
        "exactness": exactness,
        "rank-real": lambda: real(graph),
        "rank-generated": generated,
        "rank-pass": one_pass,
        "rank-memory": lambda: file_to_scores(graph),
        "rank-beyond": beyond,
        "rank-huge": huge,
    }


def main() -> int:
    names = list(benchmarks(None))
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, epilog="example: python -m bench speed start --json"
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which: {', '.join(names)}, or `rank` for all of ranking (default: all others except {', '.join(LONG)})",
    )
    parser.add_argument("--graph", type=Path, help="a real link graph to settle (default: a generated one)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    if "rank" in chosen.names:
        chosen.names = [name for name in chosen.names if name != "rank"] + list(RANKING)
    if unknown := set(chosen.names) - set(names):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    names = chosen.names or [name for name in names if name not in LONG + RANKING]
    return report(benchmarks(chosen.graph), names, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
