"""The names beside a graph file of numbers: `name.npz.names` has the name of page i in line i + 1.

Beside an edge list or a Parquet file with names of its own, it fixes the numbers of the names, and tells of pages
without links.
"""

import os
from pathlib import Path

import numpy as np

from centime.graphs.fields import NEWLINE, RETURN
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph


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
        before = table.count
        ends = np.flatnonzero(block == NEWLINE)
        ends = ends if len(ends) and ends[-1] == len(block) - 1 else np.append(ends, len(block))
        starts = np.concatenate([[0], ends[:-1] + 1])
        ends = ends - ((ends > starts) & (block[ends - 1] == RETURN))
        numbers = table.number(block, starts, ends)
        repeated = (numbers != np.arange(before, before + len(numbers))) | (ends == starts)
        if repeated.any():
            line = before + int(np.argmax(repeated)) + 1
            raise BadGraph(f"{path}, line {line}: the line is empty, or names a page that an earlier line has named")
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
                    raise BadGraph(
                        f"the page name {line.tobytes().decode()!r} cannot stand in a line of its own; write to Parquet"
                    )
            file.writelines(line.tobytes() + b"\n" for line in lines)
