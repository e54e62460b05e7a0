"""Examines documents in a process of its own; one that takes too long is given up, and the next gets a new process."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from centime.crawl.documents.examining import Examined, Task, unpack_examined
from centime.processes.handle import ChildProcess
from centime.shard.message import pack
from centime.warehouse.loader import State

MODULE = "centime.crawl.documents.examining"
MOST_SECONDS = 20.0  # for one document, once the process runs
START_SECONDS = 60.0


class Examiner:
    """Sends documents to the process, one after the other."""

    def __init__(self, folder: Path, seconds: float = MOST_SECONDS, module: str = MODULE) -> None:
        self._folder = folder
        self._module = module
        self._seconds = seconds
        self._child: ChildProcess | None = None

    def examine(self, task: Task) -> Examined:
        """The results for a document, or that it was given up."""
        patience = self._seconds
        if self._child is None:
            self._child = ChildProcess(self._module, str(self._folder.absolute()).encode())
            patience += START_SECONDS
        self._child.say(pack([task]))
        until = time.monotonic() + patience
        try:
            while (left := until - time.monotonic()) > 0:
                for message in self._child.exchange(left):
                    return unpack_examined(message)
            trouble = f"it takes more than {self._seconds:g} seconds"
        except (EOFError, OSError):
            trouble = "it takes more memory than a document may, or crashes the program that reads it"
        self.close()
        return Examined(task.url, State.GIVEN_UP, trouble)

    def examine_many(self, tasks: Sequence[Task]) -> list[Examined]:
        """The results for several documents, in their order: quicker, because they are sent without waiting
        for each result."""
        found: list[Examined] = []
        while len(found) < len(tasks):
            self._examine_next(tasks, found)
        return found

    def _examine_next(self, tasks: Sequence[Task], found: list[Examined]) -> None:
        """Sends all remaining documents; if the process ends, the next document without a result has ended it."""
        if self._child is None:
            found.append(self.examine(tasks[len(found)]))  # starts the process
            return
        self._child.say(pack(tasks[len(found) :]))
        until = time.monotonic() + self._seconds
        try:
            while len(found) < len(tasks) and (left := until - time.monotonic()) > 0:
                messages = self._child.exchange(left)
                found += map(unpack_examined, messages)
                until = time.monotonic() + self._seconds if messages else until
        except (EOFError, OSError):
            pass
        if len(found) < len(tasks):
            self.close()
            found.append(self.examine(tasks[len(found)]))

    def close(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.kill()
            self._child = None


@contextmanager
def examiner(folder: Path, seconds: float = MOST_SECONDS, module: str = MODULE) -> Iterator[Examiner]:
    """An examiner of the documents of a crawl, whose process ends with the block; `module` is what it runs."""
    made = Examiner(folder, seconds, module)
    try:
        yield made
    finally:
        made.close()
