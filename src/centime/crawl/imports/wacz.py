"""WACZ files: zip files with the WARC files of a collection in `archive/`, which are read in place.

A position is the number of the WARC file in the order of names, times POSITIONS, plus the position in it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from centime.crawl.imports.archived import findings_of
from centime.crawl.imports.elsewhere import WARC_ENDINGS
from centime.crawl.imports.finding import Item, Reading, Trouble
from centime.crawl.imports.warc_records import WarcRecords
from centime.crawl.imports.zip_entries import DAMAGE, ZipEntries
from centime.model.errors import BadInput

POSITIONS = 1 << 44


class WaczSource:
    """The visits of all WARC files in a WACZ file."""

    format = "wacz"

    def __init__(self, path: Path, reading: Reading) -> None:
        self.name = str(path)
        self._path = path
        self._reading = reading
        self._zip = ZipEntries(path)
        entries = [one for one in self._zip.all if one.filename.lower().endswith(WARC_ENDINGS)]
        if not entries and self._zip.trouble:
            raise BadInput(
                f"{path}: this is not a complete zip file, and no WARC file begins in it: {self._zip.trouble}"
            )
        if not entries:
            raise BadInput(f"{path}: this zip file has no WARC files in it, so it is not a WACZ file")
        self._entries = sorted(entries, key=lambda entry: entry.filename)
        self.size = sum(entry.file_size for entry in self._entries)
        self._before = 0
        self._records: WarcRecords | None = None

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        first, within = divmod(position, POSITIONS)
        inside, end = self._path.absolute(), len(self._entries) * POSITIONS
        self._before = sum(entry.file_size for entry in self._entries[:first])
        for number, entry in enumerate(self._entries[first:], first):
            try:
                with self._zip.open(entry) as file:
                    self._records = WarcRecords(cast("BinaryIO", file), min(entry.file_size, POSITIONS - 1))
                    for place, item in findings_of(self._records, within, self._reading, f"{inside}/{entry.filename}"):
                        yield number * POSITIONS + place, item
                wrong = file.trouble
            except DAMAGE as damage:
                wrong = f"is damaged from here on: {damage}"
            if wrong:
                yield (number + 1) * POSITIONS, Trouble(f"{entry.filename} {wrong}")
            self._before += entry.file_size
            self._records, within = None, 0
        if self._zip.trouble and position < end:
            yield (
                end,
                Trouble(f"the zip file is cut, and was read without its directory: {self._zip.trouble}"),
            )

    def place(self) -> int:
        """How far the WARC files were read."""
        return self._before + (0 if self._records is None else self._records.at)
