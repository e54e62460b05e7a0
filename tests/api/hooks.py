"""Functions that fetchers call, at the top level of a module as users have them."""

import os
import signal
from pathlib import Path

from centime import FetchedPage


def save(page: FetchedPage) -> None:
    """Appends a line for each page to the file that the environment names."""
    with Path(os.environ["CENTIME_TEST_HOOK"]).open("a") as file:
        file.write(f"{os.getpid()} {page.status} {page.kind.name} {len(page.text)} {page.url} {page.title}\n")


def end(page: FetchedPage) -> None:
    """Ends the process for the page that the environment names: by its own hand, or by a crash."""
    url, _, how = os.environ["CENTIME_TEST_HOOK"].partition(" ")
    if page.url == url:
        if how == "exit":
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSEGV)


def fail(page: FetchedPage) -> None:
    raise ValueError(f"no use for {page.url}")
