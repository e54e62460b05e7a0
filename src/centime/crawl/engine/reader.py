"""A crawl opened for reading, also while it runs. A reader holds no lock, has no journal to write and changes no file.

    reader = read_crawl(path)      newest snapshot and the frames after it, as of the last frame that was flushed
    reader.follow()                applies the frames that were written since: a fraction of the work of opening again

A reader's state is its own copy in memory. The append-only files are mapped read-only up to the end of the snapshot,
and continue in memory. So that following a crawl for weeks does not grow without bound, `follow` starts again from a
newer snapshot once the copy holds more than MOST_OWN_BYTES beyond the files. It does the same if the writer has removed
a segment that the reader still needs. `reader.shard` is another object then: do not keep it across calls of `follow`.
"""

from pathlib import Path

from centime.crawl.engine.assembly import Assembled, JournalBehind, assemble
from centime.crawl.engine.damage import damage_closes, log_damage
from centime.crawl.engine.state import CrawlState
from centime.ledger.protocol import PageLedger
from centime.model.errors import DamagedFile
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings
from centime.shard.fold import fold
from centime.shard.pages import KnownPages
from centime.shard.state import ShardState
from centime.store.folder import CrawlFolder
from centime.store.journal import Cursor, Journal
from centime.store.snapshot import newest_name

MOST_OWN_BYTES = 256 << 20
TRIES = 5  # a running crawl may remove a snapshot while it is being opened; a newer one is there then


class CrawlReader(CrawlState):
    """A crawl opened for reading; made by `read_crawl`."""

    def __init__(self, path: Path) -> None:
        folder, assembled = _assembled(path)
        super().__init__(folder, assembled.shard, damaged=assembled.damaged)
        self._take(assembled)
        self._stale = False

    def follow(self) -> int:
        """Applies the frames that were written since the last call; returns how many frames this state is now ahead.

        DamagedFile: the folder was damaged or removed meanwhile; the reader keeps its state.
        """
        before = self.shard.frame
        newer = self.shard.pages.own_bytes > MOST_OWN_BYTES and newest_name(self.folder.snapshots) != self._snapshot
        stale, self._stale = self._stale, True  # until all frames are applied
        if stale or newer or not self._replay():
            old, (self.folder, assembled) = self.shard, _assembled(self.folder.path)
            _close(old)
            self.shard, self.damaged = assembled.shard, assembled.damaged
            self._take(assembled)
        self._stale = False
        return self.shard.frame - before

    def close(self) -> None:
        """Closes all files."""
        _close(self.shard)

    def _take(self, assembled: Assembled[ShardState]) -> None:
        self._journal = assembled.journal
        self._snapshot = newest_name(self.folder.snapshots)
        self._cursor: Cursor | None = None
        self.folded = 0  # frames applied since the snapshot
        if not self._replay():
            raise DamagedFile(f"{self.folder.journal}: the journal does not reach back to the newest snapshot")

    def _replay(self) -> bool:
        """Applies all frames that are there; False if a segment that is needed is gone."""
        try:
            for cursor, kind, payload in self._journal.follow(self._cursor, self.shard.frame, self.shard.chain):
                fold(self.shard, kind, payload)
                self._cursor, self.shard.chain = cursor, cursor.chain
                self.folded += 1
        except FileNotFoundError:
            return False
        return True


def read_crawl(path: Path) -> CrawlReader:
    """The crawl in a folder, opened for reading; logs what is damaged, DamagedCrawl if it does not open."""
    with damage_closes(path):
        reader = CrawlReader(path)
    log_damage(reader.damaged)
    return reader


def _assembled(path: Path) -> tuple[CrawlFolder, Assembled[ShardState]]:
    for attempt in range(TRIES):
        folder = CrawlFolder.open(path, writable=False)
        settings = decode_settings(folder.settings, where=str(path))
        try:
            return folder, assemble(folder, settings, _reading, writable=False)
        except FileNotFoundError:
            if attempt == TRIES - 1:
                raise
        except JournalBehind as trouble:  # or the journal has grown since it was opened
            if attempt == TRIES - 1:
                raise DamagedFile(str(trouble)) from trouble
    raise AssertionError


def _reading(settings: CrawlSettings, _: Journal, pages: KnownPages, ledger: PageLedger) -> ShardState:
    return ShardState(settings, pages, ledger)


def _close(shard: ShardState) -> None:
    shard.ledger.watch = None
    shard.pages.close()
