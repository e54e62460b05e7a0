"""Judges a folder: whether it opens with what was confirmed, and whether check and repair say the truth of it."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import NamedTuple

from bench.faults.disk import Image, Room
from bench.faults.history import History, digest
from bench.faults.tally import Tally
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.repair.repair import repair_crawl
from centime.model.errors import CentimeError


class Wrong(Exception):
    """A law is broken."""


class Content(NamedTuple):
    """What a repaired crawl has."""

    frames: int
    pages: int
    visits: int
    state: str


class Judge:
    """One folder after the other, each held against the recorded crawl."""

    def __init__(self, history: History, folder: Path) -> None:
        self.history = history
        self.folder = folder
        self._room = Room(folder)

    def moment(self, chance: Random) -> int:
        """A moment from which on the folder is a crawl; every second time just after something was confirmed, because
        most steps are those of snapshots."""
        if chance.random() < 0.5:
            return chance.choice(self.history.disk.promises)
        return chance.randint(self.history.begun, len(self.history.disk.steps))

    def show(self, image: Image) -> None:
        """Makes the folder as it is in an image."""
        self._room.show(image)

    def will_change(self) -> None:
        """The folder is about to be changed by the program."""
        self._room.spoil()

    def read(self, tally: Tally) -> CrawlReader | None:
        """The crawl, opened for reading, or None if it says what is wrong."""
        started = perf_counter()
        try:
            reader = read_crawl(self.folder)
        except CentimeError:
            return None
        except Exception as trouble:
            raise Wrong(f"{type(trouble).__name__}: {trouble}") from trouble
        tally.reopening_seconds = max(tally.reopening_seconds, perf_counter() - started)
        return reader

    def opens_as_promised(self, tally: Tally, promised: int) -> bool:
        """Whether the folder opens, with what was confirmed; False if it says what is wrong."""
        reader = self.read(tally)
        if reader is None:
            return False
        self.must_be(reader, promised, self.history.states.get)
        return True

    def must_be(self, reader: CrawlReader, promised: int, expected: Callable[[int], str | None]) -> None:
        """The state of a reader is that of a recorded frame, and no confirmed frame is missing in silence."""
        frame, said = reader.shard.frame, reader.damaged
        try:
            found = digest(reader.shard)
        except (CentimeError, ValueError, LookupError) as trouble:
            raise Wrong(f"after {frame} frames: {type(trouble).__name__}: {trouble}") from trouble
        finally:
            reader.close()
        if frame < promised and not said:
            raise Wrong(f"{frame} frames, but {promised} were confirmed")
        if expected(frame) != found:
            raise Wrong(f"another state after {frame} frames")

    def must_not_be_right(self) -> None:
        """What does not open is not right."""
        try:
            if not check_crawl(self.folder).problems:
                raise Wrong("does not open, but check says it is right")
        except CentimeError:
            pass

    def must_be_right(self, after: str) -> None:
        """Check finds nothing."""
        try:
            problems = check_crawl(self.folder).problems
        except Exception as trouble:
            raise Wrong(f"{after}, but {type(trouble).__name__}: {trouble}") from trouble
        if problems:
            raise Wrong(f"{after}, but {problems[0]}")

    def must_go_on(self) -> None:
        """The crawl can be opened for writing, and is right after that."""
        self.will_change()
        try:
            with open_writer(self.folder, [], {}) as opened:
                opened.close()
        except Exception as trouble:
            raise Wrong(f"cannot be continued: {type(trouble).__name__}: {trouble}") from trouble
        self.must_be_right("continued")

    def repair(self) -> list[str] | None:
        """Repairs the folder; returns what was lost, or None if nothing can be proven."""
        self.will_change()
        try:
            return repair_crawl(self.folder).lost
        except CentimeError:
            return None
        except Exception as trouble:
            raise Wrong(f"repair: {type(trouble).__name__}: {trouble}") from trouble

    def content(self, tally: Tally) -> Content:
        """What a crawl that must open has."""
        reader = self.read(tally)
        if reader is None:
            raise Wrong("does not open after a repair")
        shard = reader.shard
        content = Content(shard.frame, shard.pages.count, sum(shard.outcomes.values()), digest(shard))
        reader.close()
        return content
