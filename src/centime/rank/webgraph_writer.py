"""WebGraph's BV format, written: `name.graph` in `webgraph_codes.py`'s records and `name.properties`.

A WebGraph holds neither weights nor repeated links; a graph that has some is refused. Links must come in the order of their sources.
Memory: a block of links, the rows of a window, 8 bytes per page. The `.offsets` file for random access is WebGraph's own to make.
"""

from pathlib import Path

import numpy as np

from centime.model.errors import BadGraph
from centime.model.graph import Offsets, Targets
from centime.rank.bits import FILE_ORDER, Words
from centime.rank.survey import Survey
from centime.rank.webgraph_codes import DEEPEST, LEAST_INTERVAL, WINDOW, WORDS_PER_LINK, WORDS_PER_ROW, K, encode_rows

BLOCK_ROWS = 1 << 16

PROPERTIES = """#BVGraph properties
version=0
graphclass=it.unimi.dsi.webgraph.BVGraph
nodes={pages}
arcs={links}
windowsize={window}
maxrefcount={deepest}
minintervallength={least_interval}
zetak={k}
compressionflags=
"""


def properties_of(survey: Survey) -> str:
    """The text of the `.properties` file."""
    return PROPERTIES.format(pages=survey.pages, links=survey.links, window=WINDOW, deepest=DEEPEST, least_interval=LEAST_INTERVAL, k=K)


def write_webgraph(survey: Survey, path: Path, suffixes: list[str]) -> None:
    """Writes the `.graph` file."""
    name = survey.file.name
    if survey.weighted:
        raise BadGraph(f"{name}: the links have weights, which a WebGraph cannot hold")
    writer = RowWriter(survey.offsets(), name)
    with path.open("wb") as file:
        for block in survey.blocks():
            file.write(writer.add(block.targets))
        file.write(writer.end())


class RowWriter:
    """Takes the targets of all links in the order of their sources and gives the bytes of whole rows."""

    def __init__(self, offsets: Offsets, name: str) -> None:
        """Starts before page 0; `offsets` are where all rows start."""
        self._all_offsets = offsets
        self._name = name
        self._page = 0  # the first page that is not written yet
        self._kept = 0  # rows before it that are still here
        self._targets: Targets = np.empty(0, dtype=np.int32)  # of the rows kept and of those that wait
        self._depths = np.zeros(0, dtype=np.int64)
        self._words: Words = np.zeros(1, dtype=np.uint32)
        self._bit = 0

    def add(self, targets: Targets) -> bytes:
        """The bytes that have become whole with these targets."""
        self._targets = np.concatenate([self._targets, targets])
        here = int(self._all_offsets[self._page - self._kept]) + len(self._targets)
        whole = int(np.searchsorted(self._all_offsets, here, side="right")) - 1
        written = b""
        while self._page < whole:
            written += self._write(min(whole, self._page + BLOCK_ROWS))
        return written

    def end(self) -> bytes:
        """The bytes of what is left."""
        rest = self.add(np.empty(0, dtype=np.int32))
        return rest + self._words[:1].astype(FILE_ORDER).tobytes()[: (self._bit + 7) // 8]

    def _write(self, stop: int) -> bytes:
        start = self._page - self._kept
        offsets = self._all_offsets[start : stop + 1] - self._all_offsets[start]
        links = self._targets[: offsets[-1]]
        twice = _sort_rows(offsets, links)
        if twice is not None:
            raise BadGraph(f"{self._name}: page {start + twice} has a link twice, which a WebGraph cannot hold")
        new_links = int(offsets[-1] - offsets[self._kept])
        words = np.zeros(WORDS_PER_ROW * (stop - self._page) + WORDS_PER_LINK * new_links + 2, dtype=np.uint32)
        words[0] = self._words[0]
        depths = np.zeros(stop - start, dtype=np.int64)
        depths[: self._kept] = self._depths
        bit = int(encode_rows(offsets, links, self._kept, start, depths, words, self._bit))
        full = bit // 32
        self._words, self._bit = words[full : full + 1], bit % 32
        keep = min(WINDOW, stop)
        self._targets = self._targets[offsets[stop - start - keep] :].copy()
        self._depths = depths[len(depths) - keep :].copy()
        self._page, self._kept = stop, keep
        return words[:full].astype(FILE_ORDER).tobytes()


def _sort_rows(offsets: Offsets, targets: Targets) -> int | None:
    """Sorts the links of every row; returns a row that names a page twice, if there is one."""
    keys = np.repeat(np.arange(len(offsets) - 1) << 32, np.diff(offsets)) | targets
    keys.sort()
    targets[:] = keys & 0xFFFFFFFF
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    return int(keys[twice[0]] >> 32) if len(twice) else None
