"""Writes the BV format of WebGraph: `name.graph` with the records of `codes.py`, and `name.properties`.

A WebGraph holds neither weights nor repeated links: a graph with weights is refused, and repeated links of a page are
merged and counted. Links must be sorted by source. Memory: a block of links, the rows of a window, 8 bytes per page.
WebGraph itself can create the `.offsets` file for random access.
"""

from pathlib import Path

import numpy as np

from centime.graphs.survey import Survey
from centime.graphs.webgraph.bits import FILE_ORDER, Words
from centime.graphs.webgraph.codes import DEEPEST, LEAST_INTERVAL, WINDOW, WORDS_PER_LINK, WORDS_PER_ROW, K, encode_rows
from centime.model.errors import BadGraph
from centime.model.graph import Offsets, Targets

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


def properties_of(pages: int, links: int) -> str:
    """The text of the `.properties` file."""
    return PROPERTIES.format(
        pages=pages, links=links, window=WINDOW, deepest=DEEPEST, least_interval=LEAST_INTERVAL, k=K
    )


def write_webgraph(survey: Survey, path: Path) -> int:
    """Writes the `.graph` file and returns the number of merged links."""
    if survey.weighted:
        raise BadGraph(f"{survey.file.name}: the links have weights, which a WebGraph cannot hold")
    writer = RowWriter(survey.offsets())
    with path.open("wb") as file:
        for block in survey.blocks():
            file.write(writer.add(block.targets))
        file.write(writer.end())
    return writer.merged


class RowWriter:
    """Encodes the targets of links that are sorted by source."""

    def __init__(self, offsets: Offsets) -> None:
        """Starts at page 0; `offsets` are the starts of all rows."""
        self.merged = 0
        self._all_offsets = offsets
        self._page = 0  # the first page that is not yet written
        self._waiting: Targets = np.empty(0, dtype=np.int32)  # targets of its row and of later rows
        self._kept_offsets = np.zeros(1, dtype=np.int64)  # earlier rows that may be referred to, each link once
        self._kept_targets: Targets = np.empty(0, dtype=np.int32)
        self._depths = np.zeros(0, dtype=np.int64)
        self._words: Words = np.zeros(1, dtype=np.uint32)
        self._bit = 0

    def add(self, targets: Targets) -> bytes:
        """Adds targets and returns the bytes of the rows that are now complete."""
        self._waiting = np.concatenate([self._waiting, targets])
        here = int(self._all_offsets[self._page]) + len(self._waiting)
        whole = int(np.searchsorted(self._all_offsets, here, side="right")) - 1
        written = b""
        while self._page < whole:
            written += self._write(min(whole, self._page + BLOCK_ROWS))
        return written

    def end(self) -> bytes:
        """Returns the remaining bytes."""
        rest = self.add(np.empty(0, dtype=np.int32))
        return rest + self._words[:1].astype(FILE_ORDER).tobytes()[: (self._bit + 7) // 8]

    def _write(self, stop: int) -> bytes:
        kept = len(self._kept_offsets) - 1
        given = self._all_offsets[self._page : stop + 1] - self._all_offsets[self._page]
        new_offsets, new_targets = _rows_of_a_set(given, self._waiting[: given[-1]])
        self.merged += int(given[-1]) - len(new_targets)
        self._waiting = self._waiting[given[-1] :].copy()
        offsets = np.concatenate([self._kept_offsets, self._kept_offsets[-1] + new_offsets[1:]])
        links = np.concatenate([self._kept_targets, new_targets])
        words = np.zeros(WORDS_PER_ROW * (stop - self._page) + WORDS_PER_LINK * len(new_targets) + 2, dtype=np.uint32)
        words[0] = self._words[0]
        depths = np.zeros(len(offsets) - 1, dtype=np.int64)
        depths[:kept] = self._depths
        bit = int(encode_rows(offsets, links, kept, self._page - kept, depths, words, self._bit))
        full = bit // 32
        self._words, self._bit = words[full : full + 1], bit % 32
        first = len(depths) - min(WINDOW, stop)  # of the rows that later ones may refer to
        self._kept_targets = links[offsets[first] :].copy()
        self._kept_offsets = offsets[first:] - offsets[first]
        self._depths = depths[first:].copy()
        self._page = stop
        return words[:full].astype(FILE_ORDER).tobytes()


def _rows_of_a_set(offsets: Offsets, targets: Targets) -> tuple[Offsets, Targets]:
    """The rows with their links sorted and without repeats."""
    keys = np.repeat(np.arange(len(offsets) - 1) << 32, np.diff(offsets)) | targets
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) != 0]
    counts = np.bincount(keys >> 32, minlength=len(offsets) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), (keys & 0xFFFFFFFF).astype(np.int32)
