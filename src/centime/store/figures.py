"""Figures of a crawl over time, in a file of fixed size: the last hour in steps of ten seconds, the last day in
minutes, two months in hours, four years in days.

    DIR/figures.bin     the mark, then for each of RINGS its rows; a row is the last one that was written in its step

The place of a row follows from its time alone: step number t // span, modulo the number of rows. So a row is written
without reading any, and a new run continues where the last one ended. A row carries a check: rows that were torn by a
kill or never written do not count. The file is not part of the state: a crawl whose file is missing or damaged begins a
new one, and `read_figures` returns the rows that are there.
"""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.files.disk import create_file, write_whole

FILE = "figures.bin"
RINGS = ((10, 360), (60, 1440), (3600, 1440), (86_400, 1500))  # seconds of a step, number of rows
NAMES = (
    "time",
    "known",
    "read",
    "visits",
    "errors",
    "wire_bytes",
    "fresh_share",
    "certified_error",
    "frontier",
    "hosts",
)
ROW = np.dtype([*((name, "<f8") for name in NAMES), ("check", "<u8")])
MARK = b"centfig1"
SIZE = len(MARK) + sum(rows for _, rows in RINGS) * ROW.itemsize
_SEED = np.uint64(0x9E3779B97F4A7C15)

Rows = npt.NDArray[np.void]


class FiguresFile:
    """The figures of a crawl, for the process that crawls."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._handle = create_file(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        if os.fstat(self._handle).st_size != SIZE or os.pread(self._handle, len(MARK), 0) != MARK:
            os.ftruncate(self._handle, 0)
            os.ftruncate(self._handle, SIZE)
            write_whole(self._handle, MARK, 0, self._path)

    def write(self, row: dict[str, float]) -> None:
        """Writes the figures of one time into every ring."""
        made = np.zeros(1, dtype=ROW)
        for name in NAMES:
            made[name] = row[name]
        made["check"] = _checks(made)
        begin = len(MARK)
        for span, rows in RINGS:
            place = int(row["time"] // span) % rows
            write_whole(self._handle, made.tobytes(), begin + place * ROW.itemsize, self._path)
            begin += rows * ROW.itemsize

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)


def read_figures(folder: Path, span: int) -> Rows:
    """The rows of the ring with this step, the oldest first; none if there is no file, or a damaged one."""
    begin = len(MARK)
    for step, rows in RINGS:
        if step == span:
            break
        begin += rows * ROW.itemsize
    else:
        raise ValueError(f"no ring has steps of {span} seconds")
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return np.empty(0, dtype=ROW)
    try:
        data = os.pread(handle, SIZE, 0)
    except OSError:
        data = b""
    finally:
        os.close(handle)
    if len(data) != SIZE or not data.startswith(MARK):
        return np.empty(0, dtype=ROW)
    found: Rows = np.frombuffer(data, dtype=ROW, count=rows, offset=begin)
    found = found[(found["time"] > 0.0) & (found["check"] == _checks(found))]
    found = found[np.argsort(found["time"], kind="stable")]
    if len(found):
        found = found[found["time"] > found["time"][-1] - span * rows]
    return found


def _checks(rows: Rows) -> npt.NDArray[np.uint64]:
    """A check of each row: it differs if any part of the row does."""
    words = np.ascontiguousarray(rows).view("<u8").reshape(len(rows), len(NAMES) + 1)[:, : len(NAMES)]
    mixed = np.full(len(rows), _SEED)
    for column in range(len(NAMES)):
        mixed = (mixed ^ words[:, column]) * _SEED
        mixed ^= mixed >> np.uint64(29)
    return mixed
