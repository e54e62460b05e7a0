"""The process that keeps the index of a crawl (`following.py`), seen from the crawl: started, watched and ended.

Whatever becomes of it, the crawl goes on: an index can be brought up to date at any time.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.settings.crawl import CrawlSettings

MODULE = "centime.crawl.search.following"
PATIENCE_SECONDS = 15.0  # for the last update, when the crawl has ended
SHORT_PATIENCE_SECONDS = 2.0  # the same if the crawl goes on for ever: somebody has stopped it, and waits


class Indexer:
    """The process, or none."""

    def __init__(self, folder: Path, settings: CrawlSettings) -> None:
        self._folder = folder
        self._patience_seconds = SHORT_PATIENCE_SECONDS if settings.continuous else PATIENCE_SECONDS
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._process: subprocess.Popen[bytes] | None = None
        self._trouble = ""
        if settings.keeps_index() and settings.keep == "none":
            self._trouble = "no index is kept: --index needs stored pages, such as --keep all"
        elif settings.keeps_index():
            command = [sys.executable, "-m", MODULE, str(folder)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said
            )

    def trouble(self) -> str:
        """What stopped it, in words; empty if nothing did."""
        if self._process is not None and self._process.poll() is not None:
            self._end("the process that keeps the index has ended", 0.0)
        return self._trouble

    def close(self) -> None:
        """Lets it bring the index up to date a last time, now that the crawl has ended."""
        if self._process is not None:
            self._end("the index is not up to date", self._patience_seconds)
        self._said.close()

    def _end(self, what: str, patience_seconds: float) -> None:
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.close()
            process.wait(patience_seconds or None)
        except subprocess.TimeoutExpired:
            process.terminate()  # it keeps what it has done
            _wait(process, self._patience_seconds)
        if process.returncode:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").split("\n")
            why = next((line for line in reversed(lines) if line.strip()), f"exit code {process.returncode}")
            self._trouble = f"{what}: {why}; centime index {self._folder} brings it up to date"


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Waits for it to end, and ends it if it does not."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def indexing(folder: Path, settings: CrawlSettings) -> Iterator[Indexer]:
    """Keeps the index of a crawl while the block runs, if its settings ask for it."""
    indexer = Indexer(folder, settings)
    try:
        yield indexer
    finally:
        indexer.close()
