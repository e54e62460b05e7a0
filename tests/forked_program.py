"""A child that a test kills or limits, forked from its process: to start a program takes more than a second of CPU."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from centime.processes.parent import die_with_parent


@dataclass(slots=True)
class Forked:
    """A child, the lines that it says, and its exit code once it has ended."""

    process: int
    said: TextIO
    code: int | None = None


@contextmanager
def forked(work: Callable[[TextIO], int | None]) -> Iterator[Forked]:
    """Does the work in a child, which says lines to this process and ends with the code that the work returns; it has
    ended when the context ends."""
    heard, told = os.pipe()
    parent, process = os.getpid(), os.fork()
    if not process:
        code = 1
        try:
            die_with_parent(parent)
            os.close(heard)
            with os.fdopen(told, "w", buffering=1) as lines:
                code = work(lines) or 0
        finally:
            os._exit(code)
    os.close(told)
    with os.fdopen(heard) as said:
        child = Forked(process, said)
        try:
            yield child
        finally:
            child.code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
