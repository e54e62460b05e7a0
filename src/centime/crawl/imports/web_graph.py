"""Common Crawl's web graph: hosts or domains as numbered vertices, and the links between them.

    vertices    0<TAB>com.example<TAB>...      names in reversed order
    edges       0<TAB>17                       by number, those of a source together

Both files are needed; give them together. A vertex represents the home page of its host, and there is no visit: the
links count until the page is read. The names are kept as one text with offsets, some 30 bytes for each. An edge of a
host that the crawl does not accept is left out like any link.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from centime.crawl.imports.finding import Finding, Item, Trouble
from centime.crawl.imports.lines import Lines
from centime.model.errors import BadInput

VERTEX = re.compile(rb"(\d{1,12})\t([a-z0-9_-]+(?:\.[a-z0-9_-]+)+|[a-z0-9-]+)(?:\t|\Z)")
EDGE = re.compile(rb"(\d{1,12})\t(\d{1,12})\s*\Z")
MOST_LINKS = 65_534  # of a vertex


class WebGraphSource:
    """The links of a web graph, as those of home pages."""

    format = "webgraph"

    def __init__(self, vertices: Path, edges: Path) -> None:
        self.name = str(edges)
        self._vertices = vertices
        self._edges = Lines(edges)
        self.size = self._edges.size

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The links behind a position."""
        names = _Names(self._vertices)
        yield from ((0, trouble) for trouble in names.troubles)
        wrong: list[tuple[int, Trouble]] = []

        def links() -> Iterator[tuple[int, int, int]]:
            for end, line in self._edges.read(position):
                found = None if isinstance(line, Trouble) else EDGE.match(line)
                if found is not None:
                    yield int(found[1]), int(found[2]), end
                elif isinstance(line, Trouble) or line.strip():
                    what = line if isinstance(line, Trouble) else Trouble(f"a line is not an edge: {line[:60]!r}")
                    wrong.append((end, what))

        for source, edges in groupby(links(), key=lambda edge: edge[0]):
            targets: list[int] = []
            behind = position
            for _, target, end in edges:
                behind = end
                if len(targets) < MOST_LINKS:
                    targets.append(target)
            url = names.url(source)
            hrefs = tuple(name for name in map(names.url, targets) if name)
            yield from wrong
            wrong.clear()
            yield behind, Finding(url, 0.0, hrefs=hrefs, only_links=True) if url else None
        yield from wrong

    def place(self) -> int:
        """How far the edges were read."""
        return self._edges.at


class _Names:
    """The names of vertices by their numbers."""

    def __init__(self, path: Path) -> None:
        self.troubles: list[Trouble] = []
        texts: list[bytes] = []
        ends = np.zeros(1024, dtype=np.int64)
        at = count = 0
        for _, line in Lines(path).read(0):
            found = None if isinstance(line, Trouble) else VERTEX.match(line)
            if found is None or int(found[1]) != count:
                what = line if isinstance(line, Trouble) else Trouble(f"{path}: a line is not the vertex {count}")
                self.troubles.append(what)
                if found is None:
                    continue
                raise BadInput(f"{path}: vertices are numbered from 0 in their order; {count} is not there")
            if count + 1 >= len(ends):
                ends = np.concatenate([ends, np.zeros_like(ends)])
            texts.append(found[2])
            at += len(found[2])
            count += 1
            ends[count] = at
        self._text, self._ends, self._count = b"".join(texts), ends, count

    def url(self, number: int) -> str:
        """The URL of the home page of a vertex; empty if there is none."""
        if number >= self._count:
            return ""
        name = self._text[self._ends[number] : self._ends[number + 1]].decode()
        return f"https://{'.'.join(reversed(name.split('.')))}/"
