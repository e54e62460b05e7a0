"""The process that keeps the index of a running crawl: `python -m centime.crawl.search.following DIR`.

It reads the folder as any reader does, follows the crawl, and brings the index up to date again and again, with a low
priority. It rests at least as long as an update took. When its standard input ends, the crawl has ended: it updates the
index once more, and ends; SIGTERM ends it sooner, and finished work is kept. It dies with the crawl if that is killed.

It holds a copy of the crawl's state. If something stops it, it writes one sentence to standard error; the crawl
continues.
"""

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

from centime.crawl.report.opening import look_at
from centime.crawl.search.updating import update_index
from centime.model.errors import CentimeError, InUse
from centime.processes.collection import collect_rarely
from centime.processes.parent import die_with_parent

REST_SECONDS = 5.0
NICENESS = 10  # with the lowest priority, the last update would take too long on a busy machine


def follow(folder: Path) -> None:
    """Keeps the index until standard input ends."""
    reader = look_at(folder)
    is_ending = False
    while True:
        began = time.monotonic()
        with contextlib.suppress(InUse):  # another process runs `centime index`
            reader.follow()
            update_index(reader)
        if is_ending:
            return
        rest = max(REST_SECONDS, time.monotonic() - began)
        is_ending = bool(select.select([0], [], [], rest)[0])


def main() -> None:
    """Runs the process."""
    die_with_parent()
    collect_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the crawl decides when to stop
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("there was no time to finish"))
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    try:
        follow(Path(sys.argv[1]))
    except (CentimeError, OSError, MemoryError) as trouble:
        sys.exit(str(trouble) or type(trouble).__name__)


if __name__ == "__main__":
    main()
