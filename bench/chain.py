"""What the chain of frames and the checksums of blocks cost a page: `python -m bench.chain`."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from bench.figure import Figure
from bench.report import run_parts
from centime.files.appended import AppendedFile
from centime.files.frame import frame_head, linked

CALLS = 20_000
ITEM = os.urandom(200)
PAYLOAD = os.urandom(4_000)
PAGE_MICROSECONDS = 515.0  # docs/crawl-benchmarks.md
APPENDS_OF_A_PAGE = 4.0  # texts, ends, origins, records, rows, most of them for several pages at once


def _least(work: Callable[[], object]) -> float:
    """Microseconds of CPU time for each call, the least of seven runs."""
    least = float("inf")
    for _ in range(7):
        before = time.process_time()
        for _ in range(CALLS):
            work()
        least = min(least, time.process_time() - before)
    return least / CALLS * 1e6


def cost() -> Iterator[Figure]:
    """An append with and without its checksum, a link of the chain, and both as a share of a page."""
    with tempfile.TemporaryDirectory() as room:
        file = AppendedFile.open(Path(room) / "items.bin", "items", None, writable=True, unit=8)
        full = _least(lambda: file.append(ITEM))
        with patch.object(AppendedFile, "_add_to_checksums", lambda self, octets: None):
            bare = _least(lambda: file.append(ITEM))
        file.close()
    chain = _least(lambda: linked(1, 2))
    yield Figure("append of 200 bytes", full, "µs")
    yield Figure("its checksum", full - bare, "µs")
    yield Figure("a frame of 4 000 bytes", _least(lambda: frame_head(2, 5, PAYLOAD, 1)), "µs")
    yield Figure("its link of the chain", chain, "µs")
    share = (APPENDS_OF_A_PAGE * (full - bare) + chain) / PAGE_MICROSECONDS
    yield Figure("both for a page, of its CPU time", 100 * share, "%", "at most", 2.0)


if __name__ == "__main__":
    sys.exit(run_parts("bench.chain", "The cost of proving a crawl", {"cost": cost}, {"cost": "chain and checksums"}))
