"""The crawler's benchmarks: prints each figure beside what was promised, and ends with code 1 if a promise is not kept.

    python -m bench.crawl [PART ...] [--json]

`pages` and `size` fetch nginx and four packages of documentation from Debian, about 52 MB, once, into `build/bench`.
"""

import sys

from bench.crawl_pages import pages
from bench.crawl_shard import ingest, size
from bench.report import Benchmarks, run_parts

PARTS: Benchmarks = {"pages": pages, "ingest": ingest, "size": size}
ABOUT = {
    "pages": "pages/CPU-s beside a bare loop and Scrapy, two fetchers",
    "ingest": "new URLs a second",
    "size": "ten million known URLs",
}


if __name__ == "__main__":
    sys.exit(run_parts("bench.crawl", "The crawler's benchmarks", PARTS, ABOUT))
