"""Children that are forked from the process of the tests, which has imported and compiled what they need: to start a
program takes up to two seconds of CPU, and hundreds of tests start fetchers and other children. They are forked when
they are needed, none in advance: to fork a process that has imported all tests takes 25 ms of CPU, and many tests give
commands that start nothing.

Simulated webs are served by forked children too, unless the process has threads at that moment.

A child keeps no file of the process but its socket: a connection of a test's server would stay open in it."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from centime.crawl.documents import examining
from centime.crawl.engine import fetchers
from centime.crawl.notify import delivering
from centime.crawl.worker import fetching
from centime.lab.webbox import process as serving
from centime.processes import spare as spares
from centime.processes.handle import ChildProcess
from centime.processes.spare import Spare

MAINS: dict[str, Callable[[int], None]] = {
    "centime.crawl.documents.examining": examining.main,
    "centime.crawl.notify.delivering": delivering.main,
    "centime.crawl.worker.fetching": fetching.main,
}
_start, _in_advance, _start_web = ChildProcess.__init__, fetchers.spare_fetchers, serving.start_program


def fork_children() -> None:
    """Lets this process fork its children from now on."""
    ChildProcess.__init__ = _forked  # type: ignore[method-assign]
    fetchers.spare_fetchers = _none_in_advance
    serving.start_program = _forked_web


def start_children() -> None:
    """Lets children be programs again, as those of a Python program are."""
    ChildProcess.__init__ = _start  # type: ignore[method-assign]
    fetchers.spare_fetchers = _in_advance
    serving.start_program = _start_web


@contextmanager
def _none_in_advance(count: int | None = None) -> Iterator[list[Spare]]:
    yield []


def _forked(self: ChildProcess, module: str, first: bytes, spare: Spare | None = None) -> None:
    if spare is None and module in MAINS:
        spare = spares.fork_spare(lambda connection: _work(MAINS[module], connection), [])
    _start(self, module, first, spare)


class ForkedWeb:
    """A forked child that serves a simulated web, used as the program is that it stands for."""

    def __init__(self, settings: str, log: str) -> None:
        def serve(connection: int) -> None:
            os.dup2(connection, 0)
            os.dup2(connection, 1)
            sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
            serving.main(settings, log)

        self._child = spares.fork_spare(lambda connection: _work(serve, connection), [])
        self.pid, self.stdin = self._child.pid, self._child.connection
        self.stdout = self.stdin.makefile("rb")

    def __enter__(self) -> "ForkedWeb":
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.stdout.close()  # both use one socket
        self._child.wait(60.0)


def _forked_web(settings: str, log: str) -> Any:
    return _start_web(settings, log) if threading.active_count() > 1 else ForkedWeb(settings, log)


def _work(main: Callable[[int], None], connection: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if number not in (0, 1, 2, connection, nothing):
            os.dup2(nothing, number)  # not closed: an object of the parent may close that number later
    main(connection)
