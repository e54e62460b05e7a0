"""Communities: sets of pages, given by a file, a host, a domain, a pattern, or as the cluster around a page.

| source | the pages |
|---|---|
| `host:www.example.org` | whose URL has this host |
| `domain:example.org` | whose URL has this host or a subdomain of it |
| `pattern:REGEX` | whose name the regular expression matches somewhere |
| `cluster:PAGE` | that are linked more closely with this page than with the rest (`cluster.py`) |
| anything else | listed in this file, one per line; empty lines and lines that start with # are ignored |

Guaranteed: a community has at least one page, and each page once. A name that the graph does not have is refused with
its line number.

Trap: hosts and domains need URLs as page names; the caller provides the host of each page.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from centime.analyse.transition import Pages
from centime.model.errors import BadInput
from centime.model.pattern import check_pattern, compiled


class Names(Protocol):
    """The names of the pages of a graph."""

    def __len__(self) -> int: ...

    def __getitem__(self, page: int, /) -> str: ...

    def find(self, name: str, /) -> int | None:
        """The page with this name, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """The names of pages without names: their numbers, starting at `first`."""

    pages: int
    first: int = 0

    def __len__(self) -> int:
        return self.pages

    def __getitem__(self, page: int) -> str:
        return str(page + self.first)

    def find(self, name: str) -> int | None:
        """The page with this number, or None."""
        page = int(name) - self.first if name.isascii() and name.isdecimal() else -1
        return page if 0 <= page < self.pages else None


@dataclass(frozen=True, slots=True)
class Community:
    """A named set of pages, sorted by number."""

    name: str
    pages: Pages


Sites = Callable[[], tuple[npt.NDArray[np.integer[Any]], Names]]
"""Returns the number of the host of each page, and the hosts."""
Cluster = Callable[[int], Pages]
"""Returns the cluster around a page."""


def chosen_community(choice: str, names: Names, sites: Sites, cluster: Cluster) -> Community:
    """The community that NAME=SOURCE describes."""
    name, equals, source = choice.partition("=")
    if not (name and equals and source):
        raise BadInput(
            f"a community is NAME=FILE, or NAME= with host:.., domain:.., pattern:.. or cluster:.., not {choice!r}"
        )
    kind, colon, value = source.partition(":")
    match kind if colon else "":
        case "host":
            pages = _of_hosts(sites, lambda host: host == value.lower())
        case "domain":
            pages = _of_hosts(sites, lambda host: f".{host}".endswith(f".{value.lower()}"))
        case "pattern":
            check_pattern(value)
            expression = compiled(value)
            pages = np.array([page for page in range(len(names)) if expression.search(names[page])], dtype=np.int64)
        case "cluster":
            pages = cluster(page_named(value, names))
        case _:
            pages = np.array(_listed(Path(source), names), dtype=np.int64)
    if not len(pages):
        raise BadInput(f"community {name}: no page of the graph is in {source}")
    return Community(name, np.unique(pages))


def page_named(name: str, names: Names) -> int:
    """The page with this name; BadInput if there is none."""
    page = names.find(name)
    if page is None:
        raise BadInput(
            f"the graph has no page {name}; its pages are named like {names[0]}"
            if len(names)
            else "the graph has no pages"
        )
    return page


def _of_hosts(sites: Sites, wanted: Callable[[str], bool]) -> Pages:
    labels, hosts = sites()
    chosen = np.array([wanted(hosts[number]) for number in range(len(hosts))], dtype=np.bool_)
    return np.flatnonzero(chosen[labels])


def _listed(path: Path, names: Names) -> list[int]:
    pages = []
    for line, text in read_lines(path):
        page = names.find(text)
        if page is None:
            raise BadInput(f"{path}, line {line}: the graph has no page {text}")
        pages.append(page)
    return pages


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are neither empty nor comments, stripped, with their line numbers."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({(reason.strerror or str(reason)).lower()})") from None
    except UnicodeDecodeError as wrong:
        raise BadInput(f"{path}: the file is not text in UTF-8 (byte {wrong.start})") from None
    return (
        (line, content)
        for line, content in enumerate(map(str.strip, text.splitlines()), 1)
        if content and not content.startswith("#")
    )
