"""Text files as blocks of whole lines, plain or packed (`.gz`, `.zst`), in bounded memory.

A file that unpacks to a thousand times its size costs no more memory than any other, and a line longer than a block is refused.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from centime.model.errors import BadGraph, BadInput
from centime.rank.names import Bytes

BLOCK = 1 << 18
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def line_blocks(path: Path) -> Iterator[Bytes]:
    """The bytes of a text file in blocks that end where a line ends; each may be written to and is good until the next one is asked for."""
    buffer = bytearray(BLOCK)
    view = memoryview(buffer)
    line, held, start = 1, 0, True
    with unpacked(path) as file:
        while True:
            read = cast("int", file.readinto(view[held:]))  # type: ignore[attr-defined]
            held += read
            if start and held >= len(BYTE_ORDER_MARK):
                start = False
                if buffer.startswith(BYTE_ORDER_MARK):
                    buffer[: len(BYTE_ORDER_MARK)] = b"   "
            end = held if read == 0 else buffer.rfind(b"\n", 0, held) + 1
            if end:
                yield np.frombuffer(buffer, dtype=np.uint8)[:end]
                line += buffer.count(b"\n", 0, end)
            elif held == BLOCK:
                raise BadGraph(f"{path}, line {line}: the line is longer than {BLOCK} bytes")
            if read == 0:
                return
            buffer[: held - end] = buffer[end:held]
            held -= end


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The file, opened to read its bytes as they were before packing; a sentence for whatever is wrong with it."""
    check_file(path)
    try:
        with path.open("rb") as file:
            yield _unpacking(file, path.suffix)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the file is not gzip, or damaged") from None
    except OSError as reason:
        what = f"cannot be read ({reason.strerror})" if reason.strerror else f"is not {path.suffix[1:]}, or damaged"
        raise BadInput(f"{path}: the file {what}") from None


def check_file(path: Path) -> None:
    """Raises a sentence if a file is missing, a directory, not a file at all or empty."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise BadInput(f"{path}: there is no such file") from None
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({reason.strerror})") from None
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory, not a graph file")
    if not path.is_file():
        raise BadInput(f"{path}: this is not a file")
    if about.st_size == 0:
        raise BadInput(f"{path}: the file is empty")


def _unpacking(file: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if suffix == ".zst":
        from pyarrow import CompressedInputStream, PythonFile

        return cast("BinaryIO", CompressedInputStream(PythonFile(file, mode="r"), "zstd"))
    return file
