"""Text files as blocks of whole lines, plain or compressed (`.gz`, `.zst`), in bounded memory.

A byte order mark of UTF-8 is skipped; what begins with one of UTF-16, as spreadsheets write it, is given as UTF-8. A
file that expands to a thousand times its size needs no more memory than any other. A line longer than a block is
refused.
"""

import codecs
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from centime.graphs.name_slots import Bytes
from centime.model.errors import BadGraph, BadInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

BLOCK = 1 << 18
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
UTF16_PIECE = 1 << 16


class TextFile:
    """A text file, plain or compressed, in blocks of whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = 0.0

    def blocks(self) -> Iterator[Bytes]:
        """The bytes in blocks of whole lines; a block may be modified and is valid until the next one is requested."""
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        passed, held, start = 0, 0, -1
        with opened(self.path) as raw, unpacked(raw, self.path) as packed:
            file, begin = packed, packed.read(2)
            if begin in UTF16_MARKS:
                file = io.BufferedReader(_FromUtf16(begin, packed, self.path), UTF16_PIECE)
            else:
                held = len(begin)
                buffer[:held] = begin
            size = fstat(raw.fileno()).st_size
            while True:
                read = file.readinto(view[held:])
                held += read
                if start < 0 and (held >= len(BYTE_ORDER_MARK) or read == 0):
                    start = len(BYTE_ORDER_MARK) if buffer.startswith(BYTE_ORDER_MARK) else 0
                end = held if read == 0 else buffer.rfind(b"\n", 0, held) + 1 if start >= 0 else 0
                self.done = raw.tell() / size
                if end > start >= 0:
                    yield np.frombuffer(buffer, dtype=np.uint8)[start:end]
                    passed += end
                    start = 0
                elif held == BLOCK:
                    raise BadGraph(f"{self.path}, byte {passed}: the line is longer than {BLOCK} bytes")
                if read == 0:
                    return
                buffer[: held - end] = buffer[end:held]
                held -= end

    def lines(self) -> Iterator[bytes]:
        """The lines with their ends."""
        for block in self.blocks():
            yield from io.BytesIO(block.tobytes())


class _FromUtf16(io.RawIOBase):
    """A file of UTF-16 as bytes of UTF-8."""

    def __init__(self, mark: bytes, file: io.BufferedReader, path: Path) -> None:
        self._file, self._path = file, path
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._decoder.decode(mark)
        self._held = b""

    def readable(self) -> bool:
        """True: it is read."""
        return True

    def readinto(self, buffer: "Buffer", /) -> int:
        """Reads as a file does; BadGraph if the file is not UTF-16."""
        view = memoryview(buffer).cast("B")
        while not self._held:
            read = self._file.read(UTF16_PIECE)
            try:
                self._held = self._decoder.decode(read, final=not read).encode()
            except UnicodeDecodeError:
                raise BadGraph(f"{self._path}: it begins as UTF-16 text does, and is not") from None
            if not read:
                break
        count = min(len(view), len(self._held))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Opens a file for reading; BadInput if it is missing, a directory, not a regular file, empty or unreadable."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise BadInput(f"{path}: there is no such file") from None
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({reason.strerror})") from None
    if stat.S_ISDIR(about.st_mode):
        raise BadInput(f"{path}: this is a directory")
    if not stat.S_ISREG(about.st_mode):
        raise BadInput(f"{path}: this is not a regular file")
    if about.st_size == 0:
        raise BadInput(f"{path}: the file is empty")
    try:
        with path.open("rb") as file:
            yield file
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({reason.strerror})") from None


@contextmanager
def unpacked(file: io.BufferedReader, path: Path) -> Iterator[io.BufferedReader]:
    """Decompresses an open file, by the suffix of `path`; BadInput if it is damaged."""
    try:
        yield _unpacking(file, path.suffix)
    except EOFError:
        raise BadInput(f"{path}: the file is not gzip, or damaged: it is cut short at byte {_place(file)}") from None
    except (gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the file is not gzip, or damaged, at or before byte {_place(file)}") from None
    except OSError as reason:
        if reason.errno is not None:
            raise
        raise BadInput(f"{path}: the file is not zstd, or damaged, at or before byte {_place(file)}") from None


def _place(file: io.BufferedReader) -> int:
    """The position in a file; its end if the file is closed."""
    return file.tell() if not file.closed else Path(file.name).stat().st_size


@contextmanager
def packing(path: Path, suffix: str) -> Iterator[io.BufferedWriter]:
    """Creates a file that is compressed as its suffix says."""
    if suffix == ".gz":
        with (
            path.open("wb") as file,
            gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=5, mtime=0) as packed,
        ):
            yield cast("io.BufferedWriter", packed)
    elif suffix == ".zst":
        from pyarrow import CompressedOutputStream, PythonFile

        with path.open("wb") as file, CompressedOutputStream(PythonFile(file, mode="w"), "zstd") as packed:
            yield cast("io.BufferedWriter", packed)
    else:
        with path.open("wb") as file:
            yield file


def _unpacking(file: io.BufferedReader, suffix: str) -> io.BufferedReader:
    if suffix == ".gz":
        return cast("io.BufferedReader", gzip.GzipFile(fileobj=file))
    if suffix == ".zst":
        from pyarrow import CompressedInputStream, PythonFile

        return cast("io.BufferedReader", CompressedInputStream(PythonFile(file, mode="r"), "zstd"))
    return file
