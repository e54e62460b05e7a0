"""Distributes the links of a graph file to slices on disk, in bounded memory, whatever the order of the links.

A first pass finds the number of pages and whether the links are sorted by source. If they are, a second pass
distributes them. Otherwise they first go to heaps on disk by source, each small enough to be sorted in memory.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.graphs.link_blocks import Declared, LinkFile, Links
from centime.graphs.names import PageNames
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import Targets
from centime.model.kernel import Whole, kernel
from centime.rank.sliced.slices import Manifest, SliceWriter, save_names

HEAPS = "heaps"
DEALT_AT_ONCE = 1 << 20


class Extent:
    """The result of a first pass over a file."""

    def __init__(self, file: LinkFile, step: Callable[[float], None]) -> None:
        self.links = 0
        self.least, self.largest = 2**31, -1
        self.in_order = True
        last = -1
        done = 0.0
        for block in file.blocks():
            if len(block.sources):
                if block.weights is not None and bool((block.weights != 1.0).any()):
                    raise BadInput(
                        f"{file.name}: the links have weights, which ranking in bounded memory does not support"
                    )
                self.least = min(self.least, int(block.sources.min()), int(block.targets.min()))
                self.largest = max(self.largest, int(block.sources.max()), int(block.targets.max()))
                self.in_order = self.in_order and bool(rises(block.sources, last))
                last = int(block.sources[-1])
                self.links += len(block.sources)
            step((file.done - done) / 2)
            done = file.done
        declared: Declared = file.declared()
        self.first = min(1, self.least) if declared.first is None else declared.first
        self.pages = self.largest + 1 - self.first if declared.pages is None else declared.pages
        if not self.pages:
            raise BadGraph(f"{file.name}: the graph has no pages")


class Turned:
    """The reversed links of a file, from which interest is computed."""

    def __init__(self, file: LinkFile) -> None:
        self.file = file
        self.name = file.name

    @property
    def done(self) -> float:
        """The share of the file that the current pass has read."""
        return self.file.done

    def blocks(self) -> Iterator[Links]:
        """All reversed links, block by block."""
        return (Links(block.targets, block.sources, block.weights) for block in self.file.blocks())

    def declared(self) -> Declared:
        """What the file declares."""
        return self.file.declared()

    def names(self) -> PageNames | None:
        """The names of the pages."""
        return self.file.names()


def deal_file(
    file: LinkFile,
    folder: Path,
    bits_for: Callable[[int], int],
    memory: int,
    graph: dict[str, object],
    step: Callable[[float], None],
) -> Manifest:
    """Writes the slices of a graph file to a folder; `bits_for(pages)` gives the width of a slice."""
    extent = Extent(file, step)
    writer = SliceWriter(folder, extent.pages, bits_for(extent.pages), memory // 8)
    blocks = file.blocks() if extent.in_order else _in_order(file, extent, folder / HEAPS, memory)
    done = 0.0
    for block in blocks:
        for start in range(0, len(block.sources), DEALT_AT_ONCE):
            part = slice(start, start + DEALT_AT_ONCE)
            first = np.int32(extent.first)
            writer.deal(block.sources[part] - first, block.targets[part] - first)
        step((file.done - done) / 2)
        done = file.done
    if (names := file.names()) is not None:
        save_names(folder, names)
    return writer.finish(graph, extent.first)


def _in_order(file: LinkFile, extent: Extent, folder: Path, memory: int) -> Iterator[Links]:
    """The links of a file, sorted by source with heaps on disk."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    heaps = max(1, -(-24 * extent.links // max(memory // 4, 1 << 20)))
    width = -(-(extent.largest + 1) // heaps)
    files = [(folder / f"{number:05}").open("wb", buffering=0) for number in range(heaps)]
    for block in file.blocks():
        number = block.sources // width
        for found in np.flatnonzero(np.bincount(number, minlength=heaps)) if len(number) else ():
            which = number == found
            files[found].write(np.stack([block.sources[which], block.targets[which]], axis=1).tobytes())
    for opened in files:
        opened.close()
    for heap in range(heaps):
        pairs = np.fromfile(folder / f"{heap:05}", dtype=np.int32).reshape(-1, 2)
        sources, targets = np.empty(len(pairs), dtype=np.int32), np.empty(len(pairs), dtype=np.int32)
        put_in_order(pairs, heap * width, np.zeros(width + 1, dtype=np.int64), sources, targets)
        del pairs
        yield Links(sources, targets)
    shutil.rmtree(folder)


@kernel
def rises(sources: Targets, last: Whole) -> bool:
    """Whether the sources are sorted and none is below `last`."""
    for k in range(len(sources)):
        if sources[k] < last:
            return False
        last = sources[k]
    return True


@kernel
def put_in_order(
    pairs: npt.NDArray[np.int32], first: Whole, place: npt.NDArray[np.int64], sources: Targets, targets: Targets
) -> None:
    """Sorts links by source; links of one source keep their order."""
    for k in range(len(pairs)):
        place[pairs[k, 0] - first + 1] += 1
    for page in range(1, len(place)):
        place[page] += place[page - 1]
    for k in range(len(pairs)):
        at = place[pairs[k, 0] - first]
        place[pairs[k, 0] - first] += 1
        sources[at] = pairs[k, 0]
        targets[at] = pairs[k, 1]
