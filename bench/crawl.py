"""The crawler's benchmarks: prints each figure beside what was promised, and ends with code 1 if a promise is not kept.

    python -m bench.crawl [PART ...] [--json]

`pages` and `size` fetch nginx and four packages of documentation from Debian, about 52 MB, once, into `build/bench`.
"""

import argparse
import sys

from bench.crawl_pages import pages
from bench.crawl_shard import ingest, size
from bench.report import Benchmarks, report

PARTS: Benchmarks = {"pages": pages, "ingest": ingest, "size": size}
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
    return report(PARTS, chosen.parts or PARTS, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
