"""The sidecar file with the names of pages: line i + 1 of `graph.npz.names` is the name of page i of `graph.npz`.

For an edge list or a Parquet file that has names itself, the sidecar fixes the numbers of the names and adds pages
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
    """The path of the sidecar of a graph file."""
    return path.with_name(f"{path.name}.names")


def read_sidecar(path: Path) -> NameTable | None:
    """Reads the sidecar of a graph file; None if there is none."""
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
            raise BadGraph(f"{path}, line {line}: the line is empty, or repeats the name of an earlier line")
        wrong = table.first_not_text(before)
        if wrong is not None:
            raise BadGraph(f"{path}: the name {wrong!r} is not UTF-8 text")
    return table


def write_sidecar(path: Path, names: PageNames) -> None:
    """Writes one name per line."""
    with path.open("wb") as file:
        for start in range(0, len(names), 1 << 16):
            stop = min(len(names), start + (1 << 16))
            lines = np.split(names.heap, names.offsets[start : stop + 1])[1:-1]
            for line in lines:
                if (line == NEWLINE).any() or len(line) == 0:
                    raise BadGraph(
                        f"the page name {line.tobytes().decode()!r} does not fit on one line; write to Parquet"
                    )
            file.writelines(line.tobytes() + b"\n" for line in lines)
