"""The importance of all pages at earlier moments, so that a report can say which pages rise.

    DIR/milestones/SPAN-PLACE.bin    a head (mark, time, number of pages, certified error, checksum), then the
                                     importance of each page as a 32-bit number

When a snapshot is written, so is a milestone for each of SPANS: the first one in a step of that span, step number
t // span, stays. There are PLACES places for each span, so the last two steps are kept: moments about an hour, a day,
a week and a month ago, in 32 bytes per page. The time is that of the last visit in the state.

Milestones are not part of the state. Files that are missing, damaged or truncated do not count, and errors of writing
are ignored: a crawl does not depend on them.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import isnan, nan
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64, xxh3_64_intdigest

from centime.files.disk import make_folder
from centime.files.listing import list_files
from centime.files.replacement import replace_file
from centime.model.errors import CentimeError

FOLDER = "milestones"
SPANS = (3600, 86_400, 7 * 86_400, 30 * 86_400)  # seconds
PLACES = 2
MARK = b"centmst1"
HEAD = Struct("<8sdQdQ")
RELATIVE_ERROR = 2.0**-24  # of a 32-bit number

Importance = npt.NDArray[np.float32]


class Milestone(NamedTuple):
    """The importance of all pages that were known at a time."""

    time: float
    error: float | None  # certified at that time; None if there was no certificate
    importance: Importance


def write_milestones(folder: Path, time: float, error: float | None, batches: Iterable[npt.NDArray[np.float64]]) -> int:
    """Writes the importance of all pages, which `batches` give in the order of their numbers, into each step that has
    none yet; returns how many files were written.
    """
    due = [(span, path) for span in SPANS for path in [_path(folder, span, time)] if not _is_of(path, span, time)]
    if not due or time <= 0:
        return 0
    data, digest = bytearray(HEAD.size), xxh3_64()
    for batch in batches:
        piece = batch.astype("<f4").tobytes()
        digest.update(piece)
        data += piece
    count = (len(data) - HEAD.size) // 4
    HEAD.pack_into(data, 0, MARK, time, count, nan if error is None else error, digest.intdigest())
    made, written = bytes(data), 0
    with suppress(OSError, CentimeError):
        make_folder(folder / FOLDER)
        for _, path in due:
            replace_file(path, made, durable=False)
            written += 1
    return written


def read_milestone(folder: Path, time: float, before: float) -> Milestone | None:
    """The newest milestone at `time` or earlier; if there is none, the oldest before `before`; None without any."""
    heads = sorted(head for head in _heads(folder) if head[0] < before)
    fitting = [head for head in heads if head[0] <= time]
    for moment, path in [*reversed(fitting), *(head for head in heads if head[0] > time)]:
        if (found := _read(path)) is not None and found.time == moment:
            return found
    return None


def _heads(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in list_files(folder / FOLDER, "[!.]*.bin"):
        if (time := _time_of(path)) is not None:
            yield time, path


def _path(folder: Path, span: int, time: float) -> Path:
    return folder / FOLDER / f"{span}-{int(time // span) % PLACES}.bin"


def _is_of(path: Path, span: int, time: float) -> bool:
    """Whether a file has a milestone of the step of this time."""
    known = _time_of(path)
    return known is not None and known // span == time // span


def _time_of(path: Path) -> float | None:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD.size)
    except OSError:
        return None
    if len(head) < HEAD.size or not head.startswith(MARK):
        return None
    return float(HEAD.unpack(head)[1])


def _read(path: Path) -> Milestone | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < HEAD.size:
        return None
    mark, time, count, error, digest = HEAD.unpack_from(data)
    if mark != MARK or len(data) != HEAD.size + 4 * count or xxh3_64_intdigest(data[HEAD.size :]) != digest:
        return None
    return Milestone(time, None if isnan(error) else error, np.frombuffer(data, dtype="<f4", offset=HEAD.size))
