"""A target of fuzzing: good inputs, which are mutated, and a law that any input must obey.

The law: an input is read, or it is refused with the exception that stands for a bad input. Everything else (another
exception, an array index out of bounds, a wrong round trip, more than SLOW_SECONDS) is a finding.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

URL = "http://a.example/b/c?d=e"


class Broken(Exception):
    """A law does not hold."""


def must(holds: bool, law: str) -> None:
    """Broken if a law does not hold."""
    if not holds:
        raise Broken(law)


@dataclass(frozen=True, slots=True)
class Target:
    """Good inputs, what is done with a mutated one, and how many of a hundred inputs are about of this target."""

    seeds: list[bytes]
    read: Callable[[bytes], object]
    words: tuple[bytes, ...] = ()  # that mutations insert
    share: int = 1


class InputFile:
    """A file that takes one input after the other: it stays open, which is twice as fast as to write it anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def take(self, data: bytes) -> Path:
        """Makes this the content of the file; returns its path."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, data, 0)
        return self.path


def own(folder: Path, name: str) -> Path:
    """A new folder for the files of one target, inside another one."""
    (folder / name).mkdir()
    return folder / name
