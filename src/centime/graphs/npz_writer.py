"""Writes NumPy archives of a sparse matrix, array by array; `scipy.sparse.load_npz` reads them.

Links sorted by source become CSR, others COO. Each array takes one pass over the links. Memory: a block of links, and 8
bytes per page for CSR.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.graphs.link_blocks import Links
from centime.graphs.survey import Survey

LARGEST_SHORT = 2**31 - 1
FASTEST = 1

Blocks = Iterator[npt.NDArray[Any]]


def write_archive(survey: Survey, path: Path, suffixes: list[str]) -> None:
    """Writes the archive; `suffixes` are not used."""
    index = np.dtype(np.int32 if survey.links <= LARGEST_SHORT else np.int64)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=FASTEST) as archive:
        _write(archive, "format", np.dtype("S3"), (), iter([np.array(b"csr" if survey.in_order else b"coo")]))
        _write(archive, "shape", np.dtype(np.int64), (2,), iter([np.array([survey.pages, survey.pages])]))
        if survey.in_order:
            offsets = survey.offsets()
            _write(archive, "indptr", index, offsets.shape, iter([offsets]))
            _write(archive, "indices", index, (survey.links,), (block.targets for block in survey.blocks()))
        else:
            _write(archive, "row", index, (survey.links,), (block.sources for block in survey.blocks()))
            _write(archive, "col", index, (survey.links,), (block.targets for block in survey.blocks()))
        _write(archive, "data", np.dtype(np.float64), (survey.links,), (_weights(block) for block in survey.blocks()))


def _weights(block: Links) -> npt.NDArray[Any]:
    return np.ones(len(block.sources)) if block.weights is None else block.weights


def _write(archive: zipfile.ZipFile, member: str, dtype: np.dtype[Any], shape: tuple[int, ...], blocks: Blocks) -> None:
    # Opened by name, a member has the date 1980, so the same graph gives the same bytes.
    with archive.open(f"{member}.npy", "w", force_zip64=True) as file:
        heading = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, heading)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).tobytes())
