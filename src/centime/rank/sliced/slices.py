"""The link matrix in slices on disk: Section 5.3 of the Xyleme paper, one 32-bit word per link.

A slice holds the links that lead to a range of 2^b pages. Its links are sorted by source, each as one word,

    (source - source of the word before) * 2^b'  +  (target - first page of the slice)

with b' = b + 1 bits for the target. So a slice is read sequentially, the payments of sources are read sequentially
along with it, and only the sums of the pages of the slice are accessed at random; those fit into a cache. If the
distance to the next source does not fit into a word, extra words that pay a dummy target cover it. Self-links are left
out and counted next to the degree of the page: a solver handles them directly.

Files in a folder: `manifest.json` (written last: a folder without it is incomplete), `slice-00000.links` and so on,
`pages.degrees` (32 bits per page), `pages.own` (32 bits per page: its self-links) and, if pages have names,
`names.heap` and `names.offsets` (see `graphs/names.py`).

Memory: a buffer for each slice, nothing per page or link.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.replacement import replace_file
from centime.graphs.names import PageNames
from centime.model.errors import DamagedFile
from centime.model.kernel import Whole, kernel

Words = npt.NDArray[np.uint32]
FORMAT = 1
FARTHEST = (1 << 16) - 1  # the longest step to the next source, so that a window of values always reaches it
DEGREES, OWN = "pages.degrees", "pages.own"
"""Names of the files with a number for each page."""
HEAP, OFFSETS = "names.heap", "names.offsets"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a folder of slices."""

    pages: int
    links: int
    dangling: int
    bits: int
    graph: dict[str, object]
    first: int
    """The number of the first page in the graph file."""
    units: list[list[int]] = field(repr=False)
    """For each slice, the source before each unit of words."""
    words: list[int] = field(repr=False)
    unit: int = 0
    format: int = FORMAT

    @property
    def slices(self) -> int:
        """The number of slices."""
        return len(self.words)


class SliceWriter:
    """Distributes links that are sorted by source to the slices."""

    def __init__(self, folder: Path, pages: int, bits: int, buffer_bytes: int) -> None:
        self.folder = folder
        self.pages = pages
        self.bits = bits
        slices = max(1, -(-pages // (1 << bits)))
        self.unit = max(256, min(1 << 16, buffer_bytes // slices // 4))
        self._buffers = np.zeros((slices, self.unit), dtype=np.uint32)
        self._filled = np.zeros(slices, dtype=np.int64)
        self._last = np.zeros(slices, dtype=np.int64)
        self._units: list[list[int]] = [[0] for _ in range(slices)]
        self._words = [0] * slices
        # The current page, its links so far, its self-links so far, the dangling pages so far.
        self._page = np.zeros(4, dtype=np.int64)
        self._links = 0
        self._files = [slice_path(folder, number).open("wb", buffering=0) for number in range(slices)]
        self._degrees = (folder / DEGREES).open("wb")
        self._own = (folder / OWN).open("wb")

    def deal(self, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]) -> None:
        """Adds the next links; their sources must not decrease."""
        at: Whole = 0
        degrees = np.empty(1 << 16, dtype=np.uint32)
        own = np.empty(1 << 16, dtype=np.uint32)
        while at < len(sources):
            at, counted, full = _deal(
                sources, targets, at, self.bits, self._buffers, self._filled, self._last, self._page, degrees, own
            )
            self._write_pages(degrees[:counted], own[:counted])
            if full >= 0:
                self._flush(int(full))
        self._links += len(sources)

    def finish(self, graph: dict[str, object], first: int = 0) -> Manifest:
        """Writes the rest and, last, the manifest."""
        degrees = np.empty(1 << 16, dtype=np.uint32)
        own = np.empty(1 << 16, dtype=np.uint32)
        while self._page[0] < self.pages:
            counted = _close_pages(self._page, self.pages, degrees, own)
            self._write_pages(degrees[:counted], own[:counted])
        for number in range(len(self._files)):
            self._flush(number)
        for file in [*self._files, self._degrees, self._own]:
            file.close()
        manifest = Manifest(
            self.pages,
            self._links,
            int(self._page[3]),
            self.bits,
            graph,
            first,
            [units[:-1] for units in self._units],
            self._words,
            self.unit,
        )
        replace_file(self.folder / "manifest.json", json.dumps(asdict(manifest)).encode(), durable=False)
        return manifest

    def _write_pages(self, degrees: npt.NDArray[np.uint32], own: npt.NDArray[np.uint32]) -> None:
        self._degrees.write(degrees.tobytes())
        self._own.write(own.tobytes())

    def _flush(self, number: int) -> None:
        count = int(self._filled[number])
        if count:
            self._files[number].write(self._buffers[number, :count].tobytes())
            self._words[number] += count
            self._filled[number] = 0
            self._units[number].append(int(self._last[number]))


def slice_path(folder: Path, number: int) -> Path:
    """The path of a slice."""
    return folder / f"slice-{number:05}.links"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if the folder is incomplete."""
    path = folder / "manifest.json"
    if not path.exists():
        return None
    try:
        manifest = Manifest(**json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise DamagedFile(f"{path}: not a manifest of slices ({error})") from None
    if manifest.format != FORMAT:
        raise DamagedFile(f"{path}: slices of format {manifest.format}, this version reads {FORMAT}")
    for number, words in enumerate(manifest.words):
        found = slice_path(folder, number)
        if not found.exists() or found.stat().st_size != 4 * words:
            raise DamagedFile(f"{found}: should have {4 * words} bytes; remove the folder to start again")
    return manifest


def save_names(folder: Path, names: PageNames) -> None:
    """Stores the names of the pages with the slices, so that the graph file need not be read again."""
    names.heap.tofile(folder / HEAP)
    names.offsets.tofile(folder / OFFSETS)


def saved_names(folder: Path) -> PageNames | None:
    """The stored names of the pages, None if there are none."""
    if not (folder / OFFSETS).exists():
        return None
    return PageNames(np.fromfile(folder / HEAP, dtype=np.uint8), np.fromfile(folder / OFFSETS, dtype=np.int64))


def read_units(folder: Path, manifest: Manifest, number: int, buffer: Words) -> Iterator[tuple[int, int, Words]]:
    """Reads a slice sequentially, as many units at a time as fit into the buffer.

    Yields the source before the units, the source at their end, and the words.
    """
    starts = manifest.units[number]
    room = max(1, len(buffer) // manifest.unit)
    with slice_path(folder, number).open("rb", buffering=0) as file:
        for first in range(0, len(starts), room):
            last = min(first + room, len(starts))
            words = min(last * manifest.unit, manifest.words[number]) - first * manifest.unit
            _read_into(file, buffer[:words])
            end = starts[last] if last < len(starts) else manifest.pages - 1
            yield starts[first], end, buffer[:words]


def read_numbers(path: Path, kind: npt.DTypeLike, first: int, end: int) -> npt.NDArray[Any]:
    """The numbers of pages `first` to `end - 1` in a file with one number per page."""
    size = np.dtype(kind).itemsize
    values = np.empty(end - first, dtype=kind)
    with path.open("rb", buffering=0) as file:
        file.seek(first * size)
        _read_into(file, values)
    return values


def _read_into(file: FileIO, values: npt.NDArray[Any]) -> None:
    view = values.view(np.uint8).data
    while len(view):
        count = file.readinto(view)
        if not count:
            raise DamagedFile(f"{file.name}: cut short")
        view = view[count:]


@kernel
def _deal(
    sources: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
    at: Whole,
    bits: Whole,
    buffers: npt.NDArray[np.uint32],
    filled: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    page: npt.NDArray[np.int64],
    degrees: npt.NDArray[np.uint32],
    own: npt.NDArray[np.uint32],
) -> tuple[Whole, Whole, Whole]:
    """Distributes links until a buffer or `degrees` is full.

    Returns the next link, the number of finished pages, and the slice whose buffer is full, or -1.
    """
    farthest = min((1 << (31 - bits)) - 1, FARTHEST)
    dummy = 1 << bits  # the target of words that only cover a distance
    counted: Whole = 0
    while at < len(sources):
        source = np.int64(sources[at])
        while page[0] < source:
            if counted == len(degrees):
                return at, counted, -1
            counted = _close(page, degrees, own, counted)
        target = np.int64(targets[at])
        if target == source:
            page[2] += 1
        else:
            number = target >> bits
            while source - last[number] > farthest:
                if filled[number] == buffers.shape[1]:
                    return at, counted, number
                buffers[number, filled[number]] = (farthest << (bits + 1)) | dummy
                filled[number] += 1
                last[number] += farthest
            if filled[number] == buffers.shape[1]:
                return at, counted, number
            buffers[number, filled[number]] = ((source - last[number]) << (bits + 1)) | (target - (number << bits))
            filled[number] += 1
            last[number] = source
        page[1] += 1
        at += 1
    return at, counted, -1


@kernel
def _close(
    page: npt.NDArray[np.int64], degrees: npt.NDArray[np.uint32], own: npt.NDArray[np.uint32], counted: Whole
) -> Whole:
    """Finishes the row of the current page."""
    degrees[counted] = page[1]
    own[counted] = page[2]
    if page[1] == 0:
        page[3] += 1
    page[0] += 1
    page[1] = 0
    page[2] = 0
    return counted + 1


@kernel
def _close_pages(
    page: npt.NDArray[np.int64], pages: Whole, degrees: npt.NDArray[np.uint32], own: npt.NDArray[np.uint32]
) -> Whole:
    """Finishes the remaining rows, as many as fit into `degrees`."""
    counted: Whole = 0
    while page[0] < pages and counted < len(degrees):
        counted = _close(page, degrees, own, counted)
    return counted
