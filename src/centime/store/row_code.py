"""The format of a row on disk, and the kernels that write and read many rows at once.

    row       varint 2 * links + (1 if weighted), varint number of bytes that follow; then the targets in ascending
              order, each a varint: the first as it is, the others as the difference from the one before; then, if
              weighted, the weights in the same order, 8 bytes each
    varint    `model/varint.py`

A row is a multiset: the order of its links is lost, their weights are kept bit for bit. A row with all weights exactly
1 / links is stored without weights. The reader never reads outside the given bytes, whatever they contain, and reports
the row that is damaged; only checksums can find a row that is well formed but wrong. Trap: weights are passed as bytes.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.row_batch import Pages, RowBatch
from centime.model.varint import Octets, read_varint, varint_size, write_varint

Places = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]

UNIT = 4
LONGEST_HEAD = 16  # two varints and the padding to a unit


@bare_inlined
def _share_alike(weights: npt.NDArray[np.float64], start: Whole, length: Whole) -> bool:
    alike = True
    for link in range(start, start + length):
        alike &= weights[link] == 1.0 / length
    return alike


@late_kernel(0.3)
def encode(rows: RowBatch, weight_bytes: Octets, octets: Octets, begins: Numbers) -> Whole:
    """Writes all rows one after the other, each at a multiple of UNIT (`begins`; -1 for an empty row, which takes no
    space); returns the number of bytes, or -1 - k if the targets of row k do not ascend.
    """
    at: Whole = np.int64(0)
    for k in range(len(rows.lengths)):
        length, start = rows.lengths[k], rows.starts[k]
        if length == 0:
            begins[k] = -1
            continue
        begins[k] = at
        weighted = len(rows.weights) > 0 and not _share_alike(rows.weights, start, length)
        size = np.int64(8 * length if weighted else 0)
        previous = np.int64(0)
        for link in range(start, start + length):
            step = np.int64(rows.targets[link]) - previous
            if step < 0:
                return -1 - k
            size += varint_size(step)
            previous += step
        at = write_varint(octets, at, np.int64(2 * length + (1 if weighted else 0)))
        at = write_varint(octets, at, size)
        previous = np.int64(0)
        for link in range(start, start + length):
            at = write_varint(octets, at, np.int64(rows.targets[link]) - previous)
            previous = np.int64(rows.targets[link])
        if weighted:
            for byte in range(8 * start, 8 * (start + length)):
                octets[at] = weight_bytes[byte]
                at += 1
        while at % UNIT:
            octets[at] = 0
            at += 1
    return at


@late_kernel(0.3)
def measure(pages: Pages, row_at: Places, base: Octets, tail: Octets, units: Numbers) -> None:
    """Writes the number of units of the row of each page to `units`."""
    for k in range(len(pages)):
        page = pages[k]
        units[k] = 0
        if page < len(row_at) and row_at[page] > 0:
            at = np.int64(row_at[page]) * UNIT
            data = base if at < len(base) else tail
            begin = at if at < len(base) else at - len(base)
            _, place = read_varint(data, begin)
            size, place = read_varint(data, place)
            units[k] = (place + size - begin + UNIT - 1) // UNIT


@late_kernel(0.3)
def count_links(
    pages: Pages, row_at: Places, base: Octets, tail: Octets, starts: Numbers, lengths: Numbers
) -> tuple[Whole, bool]:
    """Writes the start and length of each row of the batch; returns the number of links, and whether any row is
    weighted. If row k is damaged, it returns -1 - k.
    """
    total = np.int64(0)
    any_weighted = False
    for k in range(len(pages)):
        page = pages[k]
        starts[k] = total
        lengths[k] = 0
        if page < len(row_at) and row_at[page] > 0:
            at = np.int64(row_at[page]) * UNIT
            data = base if at < len(base) else tail
            code, place = read_varint(data, at if at < len(base) else at - len(base))
            size, place = read_varint(data, place)
            if (code >> 1) > size or place + size > len(data):
                return -1 - k, False
            lengths[k] = code >> 1
            any_weighted |= (code & 1) == 1
            total += code >> 1
    return total, any_weighted


@late_kernel(0.3)
def decode(
    pages: Pages,
    row_at: Places,
    base: Octets,
    tail: Octets,
    starts: Numbers,
    targets: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64],
    weight_bytes: Octets,
    known: int,
) -> Whole:
    """Writes the targets of each row at its start, and the weights unless `weights` is empty; returns the number of the
    first damaged row, or -1.
    """
    for k in range(len(pages)):
        page = pages[k]
        if page < len(row_at) and row_at[page] > 0:
            at = np.int64(row_at[page]) * UNIT
            data = base if at < len(base) else tail
            code, place = read_varint(data, at if at < len(base) else at - len(base))
            size, place = read_varint(data, place)
            end = place + size
            length = code >> 1
            target = np.int64(0)
            for link in range(starts[k], starts[k] + length):
                step, place = read_varint(data, place)
                target += step
                targets[link] = target
            if target >= known or target < 0 or place + 8 * length * (code & 1) != end:
                return k
            if len(weights) > 0:
                if code & 1:
                    for byte in range(8 * length):
                        weight_bytes[8 * starts[k] + byte] = data[place + byte]
                else:
                    for link in range(starts[k], starts[k] + length):
                        weights[link] = 1.0 / length
    return -1
