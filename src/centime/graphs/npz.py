"""NumPy archives (`.npz`) of a sparse matrix, as `scipy.sparse.save_npz` writes them: CSR, CSC or COO.

Entry (i, j) is a link from page i to page j; its value is the weight of the link. The arrays are streamed, never loaded
whole. Pickled objects, which could contain code, are refused. A CSC matrix is read twice.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import opened
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Offsets

BLOCK_LINKS = 1 << 15
LONGEST_HEADING = 10_000
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    SyntaxError,
)

Array = npt.NDArray[Any]


class SparseArchive:
    """The links of a sparse matrix in an archive."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Reads the shape and, for CSR and CSC, the row pointers; `known` are the names of the pages."""
        self.name = str(path)
        self.path = path
        self.known = known
        self.done = 0.0
        self._member = ""  # the array being read, for messages about damage
        with self._archive() as archive:
            self.form = (
                bytes(self._small(archive, "format").tobytes())
                .rstrip(b"\0")
                .decode("ascii", "replace")
                .replace("\0", "")
            )
            shape = self._small(archive, "shape").ravel()
            if self.form not in ("csr", "csc", "coo"):
                raise BadGraph(f"{path}: the sparse matrix must be in the form csr, csc or coo, not {self.form!r}")
            if len(shape) != 2 or shape[0] != shape[1] or not 0 <= shape[0] <= LARGEST_PAGE_COUNT:
                most = f"at most {LARGEST_PAGE_COUNT} rows"
                raise BadGraph(f"{path}: the matrix must be square with {most}; its shape is {shape.tolist()}")
            self.pages = int(shape[0])
            self.ends = self._ends(archive) if self.form != "coo" else np.zeros(1, dtype=np.int64)

    def declared(self) -> Declared:
        """The number of rows."""
        return Declared(self.pages, 0)

    def names(self) -> PageNames | None:
        """The names from the sidecar file."""
        return None if self.known is None else self.known.names()

    def blocks(self) -> Iterator[Links]:
        """The entries in the order of the file."""
        with self._archive() as archive:
            minor = self._column(archive, "col" if self.form == "coo" else "indices", np.int32)
            major = self._column(archive, "row", np.int32) if self.form == "coo" else self._majors()
            entries = 0
            for block, majors, data in zip(minor, major, self._column(archive, "data", np.float64), strict=True):
                if not len(block) == len(majors) == len(data):
                    raise BadGraph(f"{self.name}: the arrays of the matrix differ in length")
                for numbers in (block, majors):
                    if len(numbers) and not (0 <= numbers.min() and numbers.max() < self.pages):
                        wrong = entries + int(np.argmax((numbers < 0) | (numbers >= self.pages)))
                        raise BadGraph(
                            f"{self.name}, entry {wrong}: the page is outside the {self.pages} pages of the matrix"
                        )
                good = np.isfinite(data) & (data >= 0)
                if not good.all():
                    place = f"{self.name}, entry {entries + int(np.argmin(good))}"
                    raise BadGraph(f"{place}: a weight must be a finite number, zero or more")
                entries += len(block)
                yield Links(block, majors, data) if self.form == "csc" else Links(majors, block, data)

    def _majors(self) -> Iterator[Array]:
        """The row of every entry, block by block, computed from the row pointers."""
        entries = int(self.ends[-1])
        for start in range(0, entries, BLOCK_LINKS):
            stop = min(entries, start + BLOCK_LINKS)
            first = int(np.searchsorted(self.ends, start, side="right")) - 1
            last = int(np.searchsorted(self.ends, stop, side="left"))
            within = np.clip(self.ends[first : last + 1], start, stop)
            yield np.repeat(np.arange(first, last, dtype=np.int32), within[1:] - within[:-1])

    def _ends(self, archive: zipfile.ZipFile) -> Offsets:
        ends = np.concatenate([np.zeros(0, dtype=np.int64), *self._column(archive, "indptr", np.int64, self.pages + 1)])
        if len(ends) != self.pages + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
            raise BadGraph(
                f"{self.name}: the matrix needs one more row pointer than rows, starting at 0 and never decreasing"
            )
        return ends

    def _small(self, archive: zipfile.ZipFile, member: str) -> Array:
        self._member = member
        with archive.open(f"{member}.npy") as file:
            dtype, length = self._heading(file, member)
            if length * dtype.itemsize > LONGEST_HEADING:
                raise BadGraph(f"{self.name}: {member} of the matrix is too long")
            return np.frombuffer(file.read(length * dtype.itemsize), dtype=dtype)

    def _column(
        self, archive: zipfile.ZipFile, member: str, kind: type[np.generic], most: int | None = None
    ) -> Iterator[Array]:
        """An array of the matrix, block by block, converted to a type."""
        self._member = member
        with archive.open(f"{member}.npy") as file:
            dtype, length = self._heading(file, member)
            if dtype.kind not in ("biuf" if kind is np.float64 else "iu") or (most is not None and length > most):
                raise BadGraph(f"{self.name}: {member} of the matrix has the wrong type or length")
            for start in range(0, length, BLOCK_LINKS):
                self._member = member
                block = np.frombuffer(file.read(min(BLOCK_LINKS, length - start) * dtype.itemsize), dtype=dtype)
                if len(block) < min(BLOCK_LINKS, length - start):
                    raise BadGraph(
                        f"{self.name}: {member} of the matrix is cut off after {start + len(block)} of {length} values"
                    )
                self.done = min(1.0, (start + len(block)) / length)
                if kind is np.int32 and len(block) and not (0 <= block.min() and block.max() <= LARGEST_PAGE_COUNT):
                    raise BadGraph(
                        f"{self.name}: {member} of the matrix has page numbers outside the range 0 to {self.pages - 1}"
                    )
                yield block.astype(kind)
            self._member = member
            if file.read(1):  # reading to the end also verifies the checksum of the member
                raise BadGraph(f"{self.name}: {member} of the matrix is longer than its {length} values")

    def _heading(self, file: IO[bytes], member: str) -> tuple[np.dtype[Any], int]:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file, max_header_size=LONGEST_HEADING)
        if dtype.hasobject or len(shape) > 1:
            raise BadGraph(f"{self.name}: {member} of the matrix is not a plain array")
        return dtype, shape[0] if shape else 1

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        with opened(self.path) as file:
            archive = None
            try:
                with zipfile.ZipFile(file) as archive:
                    yield archive
            except DAMAGE:
                at, where = (_end_of_sense(file), "") if archive is None else self._place(archive)
                raise BadGraph(
                    f"{self.path}, byte {at}: this is not an archive of a sparse matrix, or it is damaged{where}"
                ) from None

    def _place(self, archive: zipfile.ZipFile) -> tuple[int, str]:
        """The byte where the current member begins, or where the list of members begins if the member is missing."""
        name = f"{self._member}.npy"
        if name not in archive.NameToInfo:
            return archive.start_dir, f": the list that begins there has no {name}"
        return archive.NameToInfo[name].header_offset, f" in {name}, which begins there"


def _end_of_sense(file: IO[bytes]) -> int:
    """The byte where a file stops being an archive: 0, or its end, where the list of members should be."""
    file.seek(0)
    return 0 if file.read(2) != b"PK" else file.seek(0, 2)
