"""The process that keeps the index of a crawl (`following.py`), seen from the crawl: started, watched and ended.

If it fails, the crawl continues: an index can be brought up to date at any time. A crawl that ends by itself waits for
its index, however long that takes, because a user who wants an index will search it next. A run that was stopped, or
whose time is over, does not wait.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.processes.companion import Companion
from centime.settings.crawl import CrawlSettings

MODULE = "centime.crawl.search.following"
PATIENCE_SECONDS = 2.0  # for the last update, once a person waits for the end


class Indexer:
    """The process, or none; `is_hurried` says whether the run has been stopped, or is to end by now."""

    def __init__(self, folder: Path, settings: CrawlSettings, is_hurried: Callable[[], bool]) -> None:
        self._folder = folder
        self._is_hurried = is_hurried
        self._trouble = ""
        self.process: Companion | None = None
        if settings.keeps_index() and settings.keep == "none":
            self._trouble = "no index is kept: --index needs stored pages, such as --keep all"
        elif settings.keeps_index():
            self.process = Companion(MODULE, str(folder))

    def trouble(self) -> str:
        """Why it stopped, in words; empty if it did not."""
        if self.process is not None and not self.process.is_running:
            self._end("the process that keeps the index has ended")
        return self._trouble

    def close(self) -> None:
        """Waits for a last update of the index, now that the crawl has ended."""
        if self.process is not None:
            self._end("the index is not up to date")

    def _end(self, what: str) -> None:
        process, self.process = self.process, None
        assert process is not None
        process.end(PATIENCE_SECONDS, self._is_hurried)
        if process.failed:
            self._trouble = f"{what}: {process.reason()}; centime index {self._folder} brings it up to date"
        process.close()


@contextmanager
def indexing(folder: Path, settings: CrawlSettings, is_hurried: Callable[[], bool]) -> Iterator[Indexer]:
    """Keeps the index of a crawl up to date while the block runs, if its settings say so."""
    indexer = Indexer(folder, settings, is_hurried)
    try:
        yield indexer
    finally:
        indexer.close()
