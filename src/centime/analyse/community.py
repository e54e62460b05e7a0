"""Communities: any set of pages, chosen by a file, a host, a domain, a pattern, or as the cluster around a page.

| source | the pages |
|---|---|
| `host:www.example.org` | whose URL has this host |
| `domain:example.org` | whose URL has this host or one below it |
| `pattern:REGEX` | whose name the regular expression matches somewhere |
| `cluster:PAGE` | that are linked more closely with this page than with the rest (`cluster`) |
| anything else | named in this file, one per line; empty lines and lines that start with # are passed over |

Guaranteed: a community has at least one page, each counted once; a name that the graph does not have is refused by its line.

Traps: hosts and domains need pages that are named by URLs. A page without a host, such as a plain number, is in no site.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from centime.analyse.transition import Pages
from centime.model.errors import BadInput

HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)")


class Names(Protocol):
    """The names of a graph's pages."""

    def __len__(self) -> int: ...

    def __getitem__(self, page: int, /) -> str: ...

    def find(self, name: str, /) -> int | None:
        """The page of this name, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """Names of pages that have none: their numbers, from 0."""

    pages: int

    def __len__(self) -> int:
        return self.pages

    def __getitem__(self, page: int) -> str:
        return str(page)

    def find(self, name: str) -> int | None:
        """The page of this number, if there is one."""
        return int(name) if name.isascii() and name.isdecimal() and int(name) < self.pages else None


@dataclass(frozen=True, slots=True)
class Community:
    """A named set of pages, their numbers rising."""

    name: str
    pages: Pages


Cluster = Callable[[int], Pages]


def chosen_community(choice: str, names: Names, cluster: Cluster) -> Community:
    """The community of NAME=SOURCE; `cluster` gives the pages around one."""
    name, equals, source = choice.partition("=")
    if not (name and equals and source):
        raise BadInput(f"a community is given as NAME=FILE, host:.., domain:.., pattern:.. or cluster:.. after the =, not {choice!r}")
    kind, colon, value = source.partition(":")
    match kind if colon else "":
        case "host":
            pages = [page for page, host in enumerate(_hosts(names)) if host == value.lower()]
        case "domain":
            pages = [page for page, host in enumerate(_hosts(names)) if host == value.lower() or host.endswith(f".{value.lower()}")]
        case "pattern":
            expression = _compiled(value)
            pages = [page for page in range(len(names)) if expression.search(names[page])]
        case "cluster":
            pages = cluster(page_named(value, names)).tolist()
        case _:
            pages = _listed(Path(source), names)
    if not pages:
        raise BadInput(f"community {name}: no page of the graph is in {source}")
    return Community(name, np.unique(np.asarray(pages, dtype=np.int64)))


def page_named(name: str, names: Names) -> int:
    """The number of the page of this name; a sentence if there is none."""
    page = names.find(name)
    if page is None:
        raise BadInput(f"the graph has no page {name}; its pages are named like {names[0]}" if len(names) else "the graph has no pages")
    return page


def sites(names: Names) -> tuple[Pages, Sequence[str]]:
    """The number of each page's host among the hosts, in order of their first pages, and the hosts; "" is the host of a page without."""
    numbers: dict[str, int] = {}
    labels = np.fromiter((numbers.setdefault(host, len(numbers)) for host in _hosts(names)), dtype=np.int64, count=len(names))
    if not any(numbers):
        raise BadInput("sites need pages that are named by URLs, such as http://www.example.org/")
    return labels, list(numbers)


def host_of(name: str) -> str:
    """The host of a URL, in lower case; empty when the name is no URL."""
    found = HOST.match(name)
    return found[1].lower() if found else ""


def _hosts(names: Names) -> Iterator[str]:
    return (host_of(names[page]) for page in range(len(names)))


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as wrong:
        raise BadInput(f"the pattern {expression!r} is no regular expression: {wrong}") from None


def _listed(path: Path, names: Names) -> list[int]:
    pages = []
    for line, text in read_lines(path):
        page = names.find(text)
        if page is None:
            raise BadInput(f"{path}, line {line}: the graph has no page {text}")
        pages.append(page)
    return pages


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that say something, each with its number and without the blanks around it."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({(reason.strerror or str(reason)).lower()})") from None
    except UnicodeDecodeError as wrong:
        raise BadInput(f"{path}: the file is not text in UTF-8 (byte {wrong.start})") from None
    return ((line, content) for line, content in enumerate(map(str.strip, text.splitlines()), 1) if content and not content.startswith("#"))
