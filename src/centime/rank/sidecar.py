"""The names beside a graph file of numbers: `name.npz.names` has the name of page i in line i + 1.

Beside an edge list or a Parquet file with names of its own, it fixes the numbers of the names, and tells of pages without links.
"""

import os
from pathlib import Path

import numpy as np

from centime.model.errors import BadGraph
from centime.model.kernel import kernel
from centime.rank.fields import NEWLINE, RETURN
from centime.rank.names import KEY, Bytes, NameTable, PageNames, Slots, number_of
from centime.rank.packed import TextFile


def sidecar(path: Path) -> Path:
    """Where the names of a graph file are, if it has some."""
    return path.with_name(f"{path.name}.names")


def read_sidecar(path: Path) -> NameTable | None:
    """The names beside a graph file; None if there are none."""
    path = sidecar(path)
    if not os.path.lexists(path):
        return None
    table = NameTable()
    for block in TextFile(path).blocks():
        lines = int(np.count_nonzero(block == NEWLINE)) + 1
        before = table.count
        table.make_room(lines, len(block))
        good, table.count = _read_lines(block, table.slots, table.heap, table.offsets, before, table.most, KEY)
        if not good:
            raise BadGraph(f"{path}, line {table.count + 1}: the line is empty, or names a page that an earlier line has named")
        wrong = table.first_not_text(before)
        if wrong is not None:
            raise BadGraph(f"{path}: the name {wrong!r} is not UTF-8 text")
    return table


def write_sidecar(path: Path, names: PageNames) -> None:
    """Writes one name a line."""
    with path.open("wb") as file:
        for start in range(0, len(names), 1 << 16):
            stop = min(len(names), start + (1 << 16))
            lines = np.split(names.heap, names.offsets[start : stop + 1])[1:-1]
            for line in lines:
                if (line == NEWLINE).any() or len(line) == 0:
                    raise BadGraph(f"the page name {line.tobytes().decode()!r} cannot stand in a line of its own; write to Parquet")
            file.writelines(line.tobytes() + b"\n" for line in lines)


@kernel
def _read_lines(text: Bytes, slots: Slots, heap: Bytes, offsets: Slots, count: int, most: int, key: int) -> tuple[bool, int]:
    """Writes the names of a block down; returns whether all are new, and how many there are now."""
    at = 0
    while at < len(text):
        start = at
        while at < len(text) and text[at] != NEWLINE:
            at += 1
        end = at - 1 if at > start and text[at - 1] == RETURN else at
        if end == start or number_of(text, start, end, slots, heap, offsets, count, most, key) != count:
            return False, count
        count += 1
        at += 1
    return True, count
