"""WACZ files: zip files with the WARC files of a collection in `archive/`, which are read where they lie.

A position is the number of the WARC file in the order of names, times POSITIONS, plus the position in it.
"""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from centime.crawl.imports.archived import findings_of
from centime.crawl.imports.finding import Item, Reading, Trouble
from centime.crawl.imports.warc_records import WarcRecords
from centime.model.errors import BadInput

POSITIONS = 1 << 44
ENDINGS = (".warc", ".warc.gz")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)


class WaczSource:
    """The visits of all WARC files in a WACZ file."""

    format = "wacz"

    def __init__(self, path: Path, reading: Reading) -> None:
        self.name = str(path)
        self._path = path
        self._reading = reading
        try:
            with zipfile.ZipFile(path) as archive:
                entries = [one for one in archive.infolist() if one.filename.lower().endswith(ENDINGS)]
        except DAMAGE as wrong:
            raise BadInput(f"{path}: this is no whole zip file: {wrong}") from wrong
        if not entries:
            raise BadInput(f"{path}: this zip file has no WARC files in it, as a WACZ file has")
        self._entries = sorted(entries, key=lambda entry: entry.filename)
        self.size = sum(entry.file_size for entry in self._entries)
        self._before = 0
        self._records: WarcRecords | None = None

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        first, within = divmod(position, POSITIONS)
        inside = self._path.absolute()
        self._before = sum(entry.file_size for entry in self._entries[:first])
        with zipfile.ZipFile(self._path) as archive:
            for number, entry in enumerate(self._entries[first:], first):
                try:
                    with archive.open(entry) as file:  # it can seek, also if the entry is compressed
                        self._records = WarcRecords(cast("BinaryIO", file), entry.file_size)
                        for end, item in findings_of(
                            self._records, within, self._reading, f"{inside}/{entry.filename}"
                        ):
                            yield number * POSITIONS + end, item
                except DAMAGE as wrong:
                    yield (number + 1) * POSITIONS, Trouble(f"{entry.filename} is damaged from here on: {wrong}")
                self._before += entry.file_size
                self._records, within = None, 0

    def place(self) -> int:
        """How far the WARC files were read."""
        return self._before + (0 if self._records is None else self._records.at)
