"""The state files of a damaged crawl: restores blocks with one wrong bit, and gives up exactly the content of the other
damaged blocks.

    text_ends   where each URL ends: found again, because every URL has a fingerprint
    origins     the host and the focus class of a page follow from its URL; its depth is lost and becomes 0
    texts       a URL that does not have its fingerprint is lost: the page becomes a dead page of its host
    records     a page whose last record is lost counts as never visited; older records are cut off, and the others are
                written again without gaps
    rows        a page whose row is lost has no links until it is read again

A block that cannot be restored is filled with zeros, and the arrays of the snapshot no longer refer to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from centime.crawl.check.files import APPENDED
from centime.crawl.repair.bits import flipped_bit, with_bit_flipped
from centime.crawl.repair.report import Repaired
from centime.discover.canonical import LONGEST_URL
from centime.files.appended import BLOCK, HEAD_BYTES, MAGIC
from centime.files.disk import make_folder, read_file
from centime.files.replacement import replace_file
from centime.model.address import fingerprint, host_of
from centime.model.ids import PageId, page_ids
from centime.model.row_batch import Pages
from centime.settings.crawl import CrawlSettings
from centime.shard.host_table import Hosts
from centime.shard.pages import ORIGIN
from centime.store import records, row_code
from centime.store.link_rows import DiskRows
from centime.store.snapshot import Arrays
from centime.store.texts import END_BYTES

Octets = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Given:
    """Pages that lost something: URL, record or row."""

    texts: list[PageId] = field(default_factory=list)
    records: list[PageId] = field(default_factory=list)
    rows: list[PageId] = field(default_factory=list)


class StateFile:
    """An append-only file of a damaged crawl, in memory, with the blocks that do not have their checksums."""

    def __init__(self, path: Path, name: str, state: npt.NDArray[np.uint64]) -> None:
        self.path = path
        length = int(state[0])
        data = read_file(path)[:length] if path.is_file() else b""
        self.data = np.frombuffer(bytearray(data.ljust(length, b"\0")), dtype=np.uint8)
        self._sums: list[int] = state[1:].tolist()
        self.damaged = {block for block in range(len(self._sums)) if not self._is_good(block)}
        head = np.frombuffer(MAGIC + name.encode().ljust(8)[:8], dtype=np.uint8)
        if 0 in self.damaged:
            self.data[:HEAD_BYTES] = head
            self.damaged = {block for block in self.damaged if not self._is_good(block)}

    def _is_good(self, block: int) -> bool:
        return xxh3_64_intdigest(self._bytes(block)) == self._sums[block]

    def _bytes(self, block: int) -> bytes:
        return self.data[block * BLOCK : (block + 1) * BLOCK].tobytes()

    def restore_bits(self, report: Repaired) -> None:
        """Restores the blocks of which one bit is wrong."""
        for block in sorted(self.damaged):
            bit = flipped_bit(self._bytes(block), partial(_has_sum, self._sums[block]))
            if bit is not None:
                fixed = with_bit_flipped(self._bytes(block), bit)
                self.data[block * BLOCK : block * BLOCK + len(fixed)] = np.frombuffer(fixed, dtype=np.uint8)
                self.damaged.remove(block)
                report.restored.append(f"{self.path}: a bit of byte {block * BLOCK + bit // 8}")

    def restore(self, path: Path) -> None:
        """Writes the restored blocks to the file, which may be longer than at this state."""
        replace_file(path, self.data.tobytes() + read_file(path)[len(self.data) :])

    def touches(self, begin: int, end: int) -> bool:
        """Whether these bytes are in a damaged block."""
        first, last = begin // BLOCK, max(begin, end - 1) // BLOCK
        return end > len(self.data) or any(block in self.damaged for block in range(first, last + 1))

    def clear(self) -> None:
        """Fills the damaged blocks with zeros."""
        for block in self.damaged:
            self.data[max(HEAD_BYTES, block * BLOCK) : (block + 1) * BLOCK] = 0

    def state(self) -> npt.NDArray[np.uint64]:
        """The length and checksums of what is in memory."""
        data = self.data.tobytes()
        sums = [xxh3_64_intdigest(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
        if len(data) % BLOCK == 0:
            sums.append(xxh3_64_intdigest(b""))
        return np.array([len(data), *sums], dtype=np.uint64)

    def write(self, path: Path) -> None:
        """Writes the content to a file."""
        replace_file(path, self.data.tobytes())


def _has_sum(known: int, data: bytearray) -> bool:
    return xxh3_64_intdigest(bytes(data)) == known


class DamagedState:
    """The state files of a snapshot."""

    def __init__(self, folder: Path, arrays: Arrays) -> None:
        self.arrays = arrays
        self._ends_were_lost = False
        self.moved_records: dict[int, int] = {}  # new places of records by their old ones, if they were rewritten
        self.files = {}
        for title, (filename, name, _) in APPENDED.items():
            path = folder / filename if filename else DiskRows.path(folder, int(arrays["pages_row_facts"][0]))
            self.files[title] = StateFile(path, name, arrays[title])

    @property
    def is_damaged(self) -> bool:
        """Whether a block is left that does not have its checksum."""
        return any(file.damaged for file in self.files.values())

    def restore_bits(self, report: Repaired) -> None:
        """Restores blocks of which one bit is wrong."""
        for file in self.files.values():
            file.restore_bits(report)

    def write(self, folder: Path) -> None:
        """Writes all files to a folder."""
        make_folder(folder)
        for file in self.files.values():
            file.write(folder / file.path.name)

    def give_up(self, hosts: Hosts, settings: CrawlSettings, report: Repaired) -> Given:
        """Gives up the content of damaged blocks; afterwards the arrays fit the files, and no longer refer to what was
        given up."""
        given = Given()
        report.bytes_lost += sum(BLOCK * len(file.damaged) for file in self.files.values())
        self._find_ends(report)
        self._replace_texts(hosts, given)
        self._derive_origins(hosts, settings, report)
        self._cut_records(given)
        self._drop_rows(given)
        for title, file in self.files.items():
            file.clear()
            self.arrays[title] = file.state()
        return given

    # ---- texts

    @property
    def _fingerprints(self) -> npt.NDArray[np.uint64]:
        return self.arrays["pages_fingerprints"]

    def _find_ends(self, report: Repaired) -> None:
        """Finds the ends of URLs again: the first length at which a URL has its fingerprint."""
        file, text_file = self.files["pages_text_ends"], self.files["pages_texts"]
        if not file.damaged:
            return
        texts = text_file.data.tobytes()
        ends = file.data[HEAD_BYTES:].view(np.uint64)
        begin = HEAD_BYTES
        for page, known in enumerate(self._fingerprints.tolist()):
            place = HEAD_BYTES + page * END_BYTES
            if file.touches(place, place + END_BYTES):
                is_lost = text_file.touches(begin, begin + 1)
                ends[page] = (None if is_lost else self._end_from(texts, begin, known)) or begin
            begin = int(ends[page])
        report.restored.append(f"{file.path}: the ends of URLs, by their fingerprints")
        file.damaged.clear()
        self._ends_were_lost = True

    @staticmethod
    def _end_from(texts: bytes, begin: int, known: int) -> int | None:
        for end in range(begin + 8, min(len(texts), begin + LONGEST_URL) + 1):
            try:
                if fingerprint(texts[begin:end].decode()) == known:
                    return end
            except UnicodeDecodeError:
                continue
        return None

    def _spans(self) -> Iterable[tuple[PageId, int, int]]:
        """Page, begin and end of every URL."""
        ends = self.files["pages_text_ends"].data[HEAD_BYTES:].view(np.uint64).tolist()
        return zip(map(PageId, range(len(ends))), [HEAD_BYTES, *ends[:-1]], ends, strict=True)

    def url(self, begin: int, end: int) -> str:
        """The URL between two places."""
        return self.files["pages_texts"].data[begin:end].tobytes().decode(errors="replace")

    def _replace_texts(self, hosts: Hosts, given: Given) -> None:
        """Gives a stand-in to every page whose URL is lost. The file is written again: the length may be lost too."""
        file = self.files["pages_texts"]
        if not file.damaged:
            return
        origins = self.files["pages_origins"].data[HEAD_BYTES:].view(ORIGIN)
        fingerprints = self._fingerprints.copy()
        used = set(fingerprints.tolist())
        pieces = [file.data[:HEAD_BYTES].tobytes()]
        for page, begin, end in self._spans():
            text = file.data[begin:end].tobytes()
            if (self._ends_were_lost or file.touches(begin, end)) and not _is_url(text, int(fingerprints[page])):
                host = int(origins[page]["host"])
                name = hosts.all[host if host < len(hosts) else 0].name  # the origin may be damaged too
                url = f"{name}/"
                if fingerprint(url) != fingerprints[page]:  # otherwise it is the home page
                    url = _stand_in(name, page, used)
                    given.texts.append(page)
                    fingerprints[page] = fingerprint(url)
                    used.add(fingerprint(url))
                text = url.encode()
            pieces.append(text)
        self.arrays["pages_fingerprints"] = fingerprints
        ends = np.cumsum([len(piece) for piece in pieces])[1:]
        self.files["pages_text_ends"].data[HEAD_BYTES:].view(np.uint64)[:] = ends
        file.data = np.frombuffer(b"".join(pieces), dtype=np.uint8).copy()
        file.damaged.clear()

    def _derive_origins(self, hosts: Hosts, settings: CrawlSettings, report: Repaired) -> None:
        file = self.files["pages_origins"]
        if not file.damaged:
            return
        origins, patterns, changed = file.data[HEAD_BYTES:].view(ORIGIN), settings.focus_patterns(), 0
        for page, begin, end in self._spans():
            place = HEAD_BYTES + page * ORIGIN.itemsize
            if file.touches(place, place + ORIGIN.itemsize):
                url = self.url(begin, end)
                found = patterns.first(url) if patterns else None
                origins[page] = (hosts.find(host_of(url)) or 0, 0, 0 if found is None else found + 1, 0, 0)
                changed += 1
        report.lost.append(f"the depth of {changed} pages; it is 0 now")
        file.damaged.clear()

    # ---- records and rows

    def _cut_records(self, given: Given) -> None:
        file = self.files["pages_records"]
        if not file.damaged:
            return
        kept: dict[int, tuple[PageId, int]] = {}  # place: page, place of the one before
        record_at = self.arrays["pages_record_at"].copy()
        for page in page_ids(np.flatnonzero(record_at)):
            at = int(record_at[page])
            if self._record_is_lost(at):
                given.records.append(page)
                record_at[page] = 0
            while at and not self._record_is_lost(at):
                head = file.data[at * records.UNIT :][: records.HEAD_TYPE.itemsize].view(records.HEAD_TYPE)
                kept[at] = page, int(head["previous"][0])
                at = kept[at][1]
        self._rewrite_records(kept, record_at)

    def _rewrite_records(self, kept: dict[int, tuple[PageId, int]], record_at: npt.NDArray[np.uint32]) -> None:
        """Writes the remaining records one after the other, and updates all references to them."""
        file = self.files["pages_records"]
        pieces, places, at = [file.data[:HEAD_BYTES]], {0: 0}, HEAD_BYTES // records.UNIT
        for old in sorted(kept):
            begin = old * records.UNIT
            units = -(-records.size_at(file.data, begin) // records.UNIT)
            piece = file.data[begin : begin + units * records.UNIT].copy()
            piece[: records.HEAD_TYPE.itemsize].view(records.HEAD_TYPE)["previous"] = places.get(kept[old][1], 0)
            records.move_state(piece, places)
            pieces.append(piece)
            places[old] = at
            at += units
        for page in page_ids(np.flatnonzero(record_at)):
            record_at[page] = places[int(record_at[page])]
        self.moved_records = places
        self.arrays["pages_record_at"] = record_at
        file.data = np.concatenate(pieces)
        file.damaged.clear()

    def _record_is_lost(self, place: int) -> bool:
        file, at = self.files["pages_records"], place * records.UNIT
        head = records.HEAD_BYTES_OF_RECORD
        return file.touches(at, at + head) or file.touches(at, at + records.size_at(file.data, at))

    def _drop_rows(self, given: Given) -> None:
        file = self.files["pages_rows"]
        if not file.damaged:
            return
        row_at = self.arrays["pages_row_at"].copy()
        pages: Pages = np.flatnonzero(row_at).astype(np.int64)
        units = np.zeros(len(pages), dtype=np.int64)
        empty = np.empty(0, dtype=np.uint8)
        row_code.measure(pages, row_at, file.data, empty, units)
        for page, size in zip(page_ids(pages), units.tolist(), strict=True):
            at = int(row_at[page]) * row_code.UNIT
            if file.touches(at, at + max(1, size) * row_code.UNIT):
                given.rows.append(page)
                row_at[page] = 0
        self.arrays["pages_row_at"] = row_at


def _is_url(text: bytes, known: int) -> bool:
    """Whether these bytes are the URL with this fingerprint."""
    return fingerprint(text.decode(errors="replace")) == known


def _stand_in(host: str, page: int, used: set[int]) -> str:
    """A URL of the host that no page has, for a page whose URL is lost."""
    urls = (f"{host}/{page:x}".ljust(length, "~") for length in count(len(host) + 12))
    return next(url for url in urls if fingerprint(url) not in used)
