"""Functions that fetchers call, at the top level of a module as users have them."""

import os
from pathlib import Path

from centime import FetchedPage


def save(page: FetchedPage) -> None:
    """Appends a line for each page to the file that the environment names."""
    with Path(os.environ["CENTIME_TEST_HOOK"]).open("a") as file:
        file.write(f"{os.getpid()} {page.status} {page.kind.name} {len(page.text)} {page.url} {page.title}\n")


def fail(page: FetchedPage) -> None:
    raise ValueError(f"no use for {page.url}")
