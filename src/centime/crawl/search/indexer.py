"""The process that keeps the index of a crawl (`following.py`), seen from the crawl: started, watched and ended.

Whatever becomes of it, the crawl goes on: an index can be brought up to date at any time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.processes.companion import Companion
from centime.settings.crawl import CrawlSettings

MODULE = "centime.crawl.search.following"
PATIENCE_SECONDS = 15.0  # for the last update, when the crawl has ended
SHORT_PATIENCE_SECONDS = 2.0  # the same if the crawl goes on for ever: somebody has stopped it, and waits


class Indexer:
    """The process, or none."""

    def __init__(self, folder: Path, settings: CrawlSettings) -> None:
        self._folder = folder
        self._patience_seconds = SHORT_PATIENCE_SECONDS if settings.continuous else PATIENCE_SECONDS
        self._trouble = ""
        self.process: Companion | None = None
        if settings.keeps_index() and settings.keep == "none":
            self._trouble = "no index is kept: --index needs stored pages, such as --keep all"
        elif settings.keeps_index():
            self.process = Companion(MODULE, str(folder))

    def trouble(self) -> str:
        """What stopped it, in words; empty if nothing did."""
        if self.process is not None and not self.process.is_running:
            self._end("the process that keeps the index has ended")
        return self._trouble

    def close(self) -> None:
        """Lets it bring the index up to date a last time, now that the crawl has ended."""
        if self.process is not None:
            self._end("the index is not up to date")

    def _end(self, what: str) -> None:
        process, self.process = self.process, None
        assert process is not None
        process.end(self._patience_seconds)
        if process.failed:
            self._trouble = f"{what}: {process.reason()}; centime index {self._folder} brings it up to date"
        process.close()


@contextmanager
def indexing(folder: Path, settings: CrawlSettings) -> Iterator[Indexer]:
    """Keeps the index of a crawl while the block runs, if its settings ask for it."""
    indexer = Indexer(folder, settings)
    try:
        yield indexer
    finally:
        indexer.close()
