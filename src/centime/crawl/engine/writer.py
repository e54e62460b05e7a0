"""The one process that writes a crawl: its shard with the journal, and snapshots in the background.

A forked child writes a snapshot when replaying the journal would take longer than a few seconds. Two snapshots are
kept, with the journal that reaches back to the older one.
"""

import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from centime.crawl.engine.assembly import Arrays, object_state, shard_state
from centime.crawl.engine.state import CrawlState
from centime.crawl.notify.delivering import acts_here
from centime.files.listing import list_files
from centime.model.errors import CentimeError, FileGone, NoRoom
from centime.processes.background import Background, in_background
from centime.processes.clock import RunClock
from centime.shard.shard import Shard
from centime.store.folder import CrawlFolder
from centime.store.milestones import write_milestones
from centime.store.snapshot import Named, facts_of_all, write_snapshot

REPLAY_SECONDS = 5.0  # a snapshot is due when applying the frames after the last one took this long
MOST_REPLAY_SECONDS = 10.0  # the crawl waits for an unfinished snapshot once it is this far behind
BATCH = 1 << 20  # pages whose importance is computed at once
MOST_GARBAGE = 0.5  # share of unused bytes in the file of rows at which it is compacted


class CrawlWriter(CrawlState):
    """A crawl opened for writing."""

    shard: Shard
    notes: tuple[str, ...] = ()  # for people: what happened when it was opened
    let_in = 0  # URLs that were refused before, and that new settings accept
    upgraded: tuple[str, ...] = ()  # what opening changed because the folder was of an older format
    said_of_clock = ""  # a sentence if the clock of the machine was set, or if the last run was long ago

    def __init__(
        self, folder: CrawlFolder, shard: Shard, *, damaged: tuple[str, ...] = (), clock: RunClock | None = None
    ) -> None:
        super().__init__(folder, shard, damaged=damaged)
        self.clock = clock or RunClock()
        self.cut_bytes = shard.journal.cut_bytes
        self._writing: Background | None = None
        self._worked = time.process_time()

    @property
    def held_back(self) -> list[str]:
        """The names of subscriptions that are not served, because the folder is foreign."""
        if not self.folder.foreign:
            return []
        return sorted(one["name"] for one in self.shard.requests.subscriptions.facts() if acts_here(one["to"]))

    def keep_snapshots(self) -> None:
        """Starts a snapshot if one is due, and cleans up after one that is finished."""
        worked = time.process_time() - self._worked
        if self._writing is not None:
            if self._writing.done() is None and worked < MOST_REPLAY_SECONDS:
                return
            self._finish()
        if worked >= REPLAY_SECONDS:
            self._start()

    @property
    def is_behind(self) -> bool:
        """Whether a snapshot is being written and the next one is already due: work that can wait should wait."""
        return self.is_writing and time.process_time() - self._worked >= REPLAY_SECONDS

    @property
    def is_writing(self) -> bool:
        """Whether a snapshot is being written."""
        return self._writing is not None and self._writing.done() is None

    def close(self) -> None:
        """Writes a last snapshot, so that the next opening replays nothing, and closes all files."""
        self._finish()
        self._start()
        self._finish()
        self.shard.journal.close()
        self.shard.pages.close()

    def must_be_there(self) -> None:
        """Raises FolderGone or FileGone if the folder, or a file that is open in it, was deleted or replaced."""
        self.folder.must_be_there()
        self.shard.journal.must_be_there()
        for file in self.shard.pages.files:
            file.must_be_there()

    def write_back(self) -> None:
        """Writes files that were deleted or replaced once more under their names, then a last snapshot; closes all."""
        self.shard.journal.write_back()
        for file in self.shard.pages.files:
            file.write_back()
        with suppress(CentimeError):  # a child that has the old files open notices that they are gone
            self._finish()
        self.close()

    def make_safe(self) -> None:
        """Writes a snapshot at once if a damaged one left a single snapshot and the journal does not reach back."""
        if self.shard.journal.first_index and len(facts_of_all(self.folder.snapshots)) < 2:
            with suppress(NoRoom):  # the crawl continues with the one it has
                self._start()
                self._finish()

    def _start(self) -> None:
        shard = self.shard
        shard.journal.rotate()
        if shard.pages.rows.garbage > MOST_GARBAGE:
            shard.replace_rows(shard.pages.rows.compacted())
        self._worked = time.process_time()
        objects = object_state(shard)
        self._writing = in_background(lambda: self._write_apart(objects))

    def _write(self) -> None:
        self._write_milestones()
        self.shard.pages.sync()
        facts, arrays = shard_state(self.shard)
        write_snapshot(self.folder.snapshots, facts, arrays)

    def _write_apart(self, objects: Arrays) -> None:
        """The same in a forked child, which frees every array once it is written: memory that the child still holds is
        copied when the parent changes it.
        """
        shard = self.shard
        self._write_milestones()
        facts, arrays = shard_state(shard, objects)
        del shard.placement, shard.ledger

        def given_up() -> Iterator[Named]:
            while arrays:
                title = next(iter(arrays))
                yield title, arrays.pop(title)
            shard.pages.sync()  # before the snapshot, which refers to these files, gets its name

        write_snapshot(self.folder.snapshots, facts, given_up())

    def _write_milestones(self) -> None:
        shard = self.shard
        count = shard.pages.count
        if count:
            error = None if shard.settings.partitions > 1 else shard.ledger.error()  # one alone certifies nothing
            parts = (
                shard.ledger.importance(np.arange(begin, min(count, begin + BATCH))) for begin in range(0, count, BATCH)
            )
            write_milestones(self.folder.path, shard.pages.last_time(), error, parts)

    def _finish(self) -> None:
        if self._writing is None:
            return
        if not self._writing.done(wait=True) and self._writing.stuck:
            self._write()  # in this process: the child was forked while another thread held a lock
        elif not self._writing.done():
            kind, _, trouble = self._writing.trouble.partition(": ")
            self._writing = None
            for known in (NoRoom, FileGone):
                if kind == known.__name__:
                    raise known(trouble)
            raise CentimeError(
                f"{self.folder.snapshots}: a snapshot could not be written: {kind}: {trouble}".removesuffix(": ")
            )
        self._writing = None
        kept = facts_of_all(self.folder.snapshots).values()
        if len(kept) > 1:  # until there are two, only the journal can replace a damaged snapshot
            self.shard.journal.drop_before(min(facts["frame"] for facts in kept))
        generations = {facts["rows"] for facts in kept} | {self.shard.pages.rows.generation}
        for path in list_files(self.folder.state, "rows-*.bin"):
            if int(path.stem[5:]) < min(generations):
                path.unlink()
