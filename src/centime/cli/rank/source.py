"""The graph that a command reads: a graph file, standard input, a pipe, or the currently known links of a crawl.

Graphs are read twice if their links are not sorted, so the data of a pipe is first copied to a temporary file, which is
removed when the program ends."""

import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from centime.model.errors import BadInput

if TYPE_CHECKING:
    from centime.graphs.names import NamedGraph

_COPIES: list[tuple[TemporaryDirectory[str], Path, str]] = []
"""Folders that remove themselves when the program ends, the file in each, and what people call it."""


def is_crawl_folder(path: Path) -> bool:
    """Whether the path is the folder of a crawl."""
    if not path.is_dir():
        return False
    from centime.cluster.folder import is_cluster
    from centime.store.folder import is_crawl

    return is_crawl(path) or is_cluster(path)


def graph_file(path: Path, form: str | None = None) -> Path:
    """The file to read: the path itself, or a copy of what standard input (`-`) or a pipe gives, an edge list by
    default.
    """
    piped = str(path) == "-"
    with suppress(OSError):
        piped = piped or stat.S_ISFIFO(path.stat().st_mode)
    if not piped and form is None:
        return path
    if not piped and not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    suffix = _suffix(form)
    folder = TemporaryDirectory(prefix="centime-")
    name = "standard input" if str(path) == "-" else path.name
    copy = Path(folder.name) / f"{name}{suffix}"
    _COPIES.append((folder, copy, "standard input" if str(path) == "-" else str(path)))
    if not piped:
        copy.symlink_to(path.resolve())
        return copy
    with copy.open("wb") as file:
        if str(path) == "-":
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    return copy


def as_given(text: str) -> str:
    """A text in which names of temporary copies are replaced by the names that the user gave."""
    for _, copy, name in _COPIES:
        text = text.replace(str(copy), name)
    return text


def _suffix(form: str | None) -> str:
    """The end of a file name that gives a format."""
    from centime.graphs.files import SUFFIXES

    if form is None:
        return ".txt"
    known = {suffix[1:]: suffix for suffixes in SUFFIXES.values() for suffix in suffixes}
    known |= {name: suffixes[0] for name, suffixes in SUFFIXES.items()}
    if form not in known:
        raise BadInput(f"there is no format {form!r}; the formats are {', '.join(SUFFIXES)}")
    return known[form]


def read_graph(path: Path, *, weighed: bool = True) -> "NamedGraph":
    """Reads the graph of a file, a pipe or a crawl; the crawl may be running. The links of a crawl have the weights
    that it gives them unless `weighed` is false.
    """
    if not is_crawl_folder(path):
        from centime.graphs.files import read_named

        return read_named(graph_file(path))
    from centime.cluster.report.parts import parts_of
    from centime.crawl.report.graph import crawl_graph

    parts = parts_of(path)
    try:
        return crawl_graph(parts.linked, weighed=weighed)
    finally:
        parts.close()
