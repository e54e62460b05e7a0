"""Fetchers that are forked from the process of the tests, which has imported and compiled what they need: to start a
program takes two seconds of CPU, and a hundred tests start fetchers.

A child keeps no file of the process but its socket: a connection of a test's server would stay open in it."""

import os
from pathlib import Path

from centime.crawl.engine import fetchers
from centime.crawl.worker.fetching import main
from centime.processes import spare
from centime.processes.spare import Spare
from centime.settings.crawl import FetcherSettings

_start = fetchers._Fetcher.__init__


def fork_fetchers() -> None:
    """Lets all crawls of this process fork their fetchers from now on."""
    fetchers._Fetcher.__init__ = _forked  # type: ignore[method-assign,assignment]


def start_fetchers() -> None:
    """Lets fetchers be programs again, as those of a Python program are."""
    fetchers._Fetcher.__init__ = _start  # type: ignore[method-assign]


def _forked(self: fetchers._Fetcher, number: int, settings: FetcherSettings, one: Spare | None) -> None:
    _start(self, number, settings, one or spare.fork_spare(_fetch, []))


def _fetch(connection: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if number not in (0, 1, 2, connection, nothing):
            os.dup2(nothing, number)  # not closed: an object of the parent may close that number later
    main(connection)
