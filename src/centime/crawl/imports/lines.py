"""The lines of a text file, plain or gzipped, from a position on.

A position is a number of unpacked bytes, so that it means the same in both. What follows a damaged place of a gzipped
file cannot be read, and a line longer than LONGEST_LINE is skipped: both are reported.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

from centime.crawl.imports.finding import Trouble

READ = 1 << 18
LONGEST_LINE = 16 << 20
GZIP = b"\x1f\x8b"


class Lines:
    """The lines of a file, without their ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size
        self.at = 0  # bytes of the file that were read

    def read(self, position: int) -> Iterator[tuple[int, bytes | Trouble]]:
        """The lines behind a position, each with the position behind it."""
        at, rest, skipping = 0, b"", False
        try:
            for piece in self._pieces():
                if at + len(piece) <= position and not rest:
                    at += len(piece)
                    continue
                if at < position and not rest:
                    piece, at = piece[position - at :], position
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    at += len(line) + 1
                    if not skipping:
                        yield at, line.removesuffix(b"\r")
                    skipping = False
                if len(rest) > LONGEST_LINE:
                    if not skipping:
                        yield at, Trouble(f"the line at byte {at} is longer than {LONGEST_LINE >> 20} MiB")
                    at, rest, skipping = at + len(rest), b"", True
            if rest and not skipping:
                yield at + len(rest), rest.removesuffix(b"\r")
        except (zlib.error, EOFError) as wrong:
            yield (
                at,
                Trouble(f"the file is damaged or cut: what follows byte {self.at} cannot be decompressed: {wrong}"),
            )

    def _pieces(self) -> Iterator[bytes]:
        """The unpacked bytes, in pieces of bounded size."""
        with self._path.open("rb", buffering=0) as file:
            data = file.read(READ)
            if not data.startswith(GZIP):
                while data:
                    self.at += len(data)
                    yield data
                    data = file.read(READ)
                return
            stream, begun = zlib.decompressobj(31), False
            while data or begun:
                self.at += len(data)
                if not data:
                    raise EOFError("the file ends too early")
                while data:
                    piece, begun = stream.decompress(data, READ), True
                    yield piece
                    while len(piece) == READ and not stream.unconsumed_tail and not stream.eof:
                        piece = stream.decompress(b"", READ)  # zlib may hold more than it was allowed to give
                        yield piece
                    data = stream.unconsumed_tail
                    if stream.eof:
                        data, begun = stream.unused_data.lstrip(b"\0"), False
                        stream = zlib.decompressobj(31)
                        if data and not data.startswith(GZIP[: len(data)]):
                            raise zlib.error("no gzip follows")
                data = file.read(READ)
