"""A disk that fails to read: the crawl says so or does without the file, and nothing is lost once the disk is well."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.model.errors import CentimeError
from tests.crawl.repair.test_repair import facts, killed

__all__ = ["killed"]  # a fixture


@contextmanager
def unreadable(number: int) -> Iterator[list[int]]:
    """The read with this number fails; yields the number of reads."""
    seen = [0]

    def failing(read: Any) -> Any:
        def wrapped(*given: Any, **named: Any) -> Any:
            seen[0] += 1
            if seen[0] == number:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return read(*given, **named)

        return wrapped

    with (
        patch.object(os, "pread", failing(os.pread)),
        patch.object(os, "readv", failing(os.readv)),
        patch.object(Path, "read_bytes", failing(Path.read_bytes)),
    ):
        yield seen


def test_a_read_that_fails_is_said_and_costs_nothing(killed: Path, tmp_path: Path) -> None:
    expected, folder = facts(killed), tmp_path / "c"
    with unreadable(0) as seen:
        read_crawl(killed).close()
    assert seen[0] > 50
    said = 0
    for number in sorted(Random(1).sample(range(1, seen[0] + 1), 10)):
        shutil.copytree(killed, folder)
        for open_it in (_read, _continue):
            try:
                with unreadable(number):
                    open_it(folder)
            except (CentimeError, OSError):
                said += 1
        assert check_crawl(folder).problems == [], number
        assert facts(folder)[:2] == expected[:2], number  # URLs and visits
        shutil.rmtree(folder)
    assert said > 5


def _read(folder: Path) -> None:
    read_crawl(folder).close()


def _continue(folder: Path) -> None:
    with open_writer(folder, [], {}) as opened:
        opened.close()


@pytest.mark.parametrize("number", [1, 7, 20])
def test_a_check_that_cannot_read_does_not_say_right(killed: Path, number: int) -> None:
    with unreadable(number):
        try:
            problems = check_crawl(killed).problems
        except (CentimeError, OSError):
            return
    assert problems


def test_a_read_that_fails_names_its_file(killed: Path) -> None:
    with unreadable(0) as seen:
        read_crawl(killed).close()
    named = []
    for number in range(1, seen[0] + 1):
        try:
            with unreadable(number):
                _read(killed)
        except OSError as trouble:
            named.append(Path(trouble.filename or ""))
    assert len(named) > 20
    assert all(path.is_file() and path.is_relative_to(killed) for path in named)
