"""The data of every page except its money: URL, host, depth, links, visits. All by page number.

Memory holds a fingerprint and two offsets per page. Data that never change (URL, host, depth, focus class) and data
that are read one page at a time (link rows, visit records) are in append-only files.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.change.page_state import with_hidden
from centime.change.reading import Verdict
from centime.discover.refusal import Reason
from centime.files.appended import AppendedFile
from centime.model.ids import HostId, PageId
from centime.model.outcome import Outcome, PageKind, Presence
from centime.model.row_batch import Pages
from centime.shard.message import PLAIN, TEXT_FOLLOWS, Visit
from centime.shard.presence import presence_of, visit_shows
from centime.store.items import Items
from centime.store.link_rows import DiskRows
from centime.store.record import NO_MARK, NO_PAGE, OF_CONTENT, Mark, Record
from centime.store.records import Records
from centime.store.texts import Texts
from centime.store.url_table import UrlTable

_REDIRECTS = [outcome.value for outcome in Outcome if outcome.redirect]

ORIGIN = np.dtype([("host", "<u4"), ("depth", "u1"), ("focus", "u1"), ("role", "u1"), ("hops", "u1")])


def origins_at(depths: npt.ArrayLike, role: npt.ArrayLike = PLAIN, hops: npt.ArrayLike = 0) -> npt.NDArray[np.void]:
    """Origins of new pages at these depths, without a host."""
    depths = np.minimum(depths, 255)
    origins = np.zeros(len(depths), dtype=ORIGIN)
    origins["depth"], origins["role"], origins["hops"] = depths, role, np.minimum(hops, 255)
    return origins


class Comparison(NamedTuple):
    """The result of comparing the content of a page with the last read."""

    verdict: Verdict
    state: bytes = b""  # by which the next read is compared; empty if the last one stays
    learned: bool = False  # since the last read, another part of the page counts as volatile


class KnownPages:
    """The pages of a shard."""

    def __init__(self, table: UrlTable, texts: Texts, origins: Items, rows: DiskRows, records: Records) -> None:
        self.table = table
        self.texts = texts
        self.origins = origins
        self.rows = rows
        rows.known = lambda: table.count
        self.records = records

    @classmethod
    def open(cls, folder: Path, state: Mapping[str, npt.NDArray[Any]], writable: bool) -> "KnownPages":
        """The pages of a folder as they were in a snapshot's state; an empty state starts a new crawl."""
        origins = AppendedFile.open(folder / "origins.bin", "origins", state.get("origins"), writable)
        return cls(
            UrlTable(state["fingerprints"] if state else None),
            Texts.open(folder, state, writable),
            Items(origins, ORIGIN),
            DiskRows.open(folder, state, writable),
            Records.open(folder, state, writable),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot."""
        origins = {"origins": self.origins.file.state()}
        return self.table.state() | self.texts.state() | origins | self.rows.state() | self.records.state()

    def sync(self) -> None:
        """Syncs all files to disk."""
        self.texts.sync()
        self.origins.file.sync()
        self.rows.sync()
        self.records.sync()

    def close(self) -> None:
        """Closes all files."""
        self.texts.close()
        self.origins.file.close()
        self.rows.close()
        self.records.close()

    @property
    def own_bytes(self) -> int:
        """Bytes that a reader has appended in its own memory, behind the part of the files that it maps."""
        return sum(len(file.tail) for file in self.files)

    @property
    def files(self) -> tuple[AppendedFile, ...]:
        """The append-only files."""
        return self.texts.texts, self.texts.ends, self.origins.file, self.rows.file, self.records.file

    @property
    def count(self) -> int:
        """The number of known pages."""
        return self.table.count

    def join(
        self,
        urls: list[str],
        hosts: npt.NDArray[np.int32],
        origins: npt.NDArray[np.void],
        classes: npt.NDArray[np.uint8],
    ) -> None:
        """Stores the data of new pages that never change; `origins` have their depth, role and hops."""
        together = "".join(urls)
        # canonical URLs are ASCII: they have as many bytes as characters
        encoded = urls if together.isascii() else [url.encode() for url in urls]
        self.texts.append_many(together.encode(), np.fromiter(map(len, encoded), dtype=np.int64, count=len(urls)))
        origins = origins.copy()
        origins["host"], origins["focus"] = hosts, classes
        self.origins.append(origins)

    def origin(self, page: PageId) -> Any:
        """The host, depth and focus class of a page."""
        return self.origins.one(page)

    def host(self, page: PageId) -> HostId:
        """The host of a page."""
        return HostId(int(self.origin(page)["host"]))

    def origins_of(self, pages: Pages) -> npt.NDArray[Any]:
        """The hosts, depths and focus classes of pages."""
        return self.origins.take(pages)

    def last(self, page: PageId) -> Record | None:
        """The record of the last visit of a page, or None."""
        return self.records.last(page)

    def presence(self, last: Record | None) -> Presence:
        """Whether a page is there, as far as its visits have shown; `last` is the record of the last one."""
        if last is None or last.presence is not Presence.UNRECORDED:
            return Presence.NEVER if last is None else last.presence
        return presence_of(self.records.history(last.page))

    def were_read(self, pages: Pages) -> npt.NDArray[np.bool_]:
        """For each page, whether its last visit found it."""
        kinds = self.records.heads(pages)["kind"]
        present: npt.NDArray[np.bool_] = (kinds >= PageKind.HTML) & (kinds <= PageKind.OTHER)
        return present

    def last_time(self) -> float:
        """The time of the last visit of all; 0 if there was none."""
        last = int(self.records.record_at.max(initial=0))
        return float(self.records.head(last)["time"]) if last else 0.0

    def read_before(
        self, time: float, start: int, ceilings: Sequence[tuple[int, float]] = ()
    ) -> tuple[list[PageId], int]:
        """The pages whose last visit, at `time` or earlier, found them or a redirect; and where to continue.

        Only records from `start` on are read. A ceiling is a place in the records, and the time that all records before
        it have at the latest: their clock was wrong.
        """
        due = []
        at = start or self.records.first
        while at < self.records.end:
            head = self.records.head(at)
            if min([float(head["time"]), *(most for end, most in ceilings if at < end)]) > time:
                break
            page = PageId(int(head["page"]))
            if self.records.record_at[page] == at and (
                PageKind.HTML <= head["kind"] <= PageKind.OTHER or head["outcome"] in _REDIRECTS
            ):
                due.append(page)
            at = self.records.behind(at)
        return due, at

    def compared_by(self, record: Record | None) -> bytes:
        """The state with which the next read of a page is compared, if this is its last record; empty if there is
        none."""
        if record is None or record.state or not record.state_at:
            return b"" if record is None else record.state
        return with_hidden(self.records.read(record.state_at).state, record.hidden)

    def record_of(
        self,
        visit: Visit,
        before: Record | None,
        *,
        now: float,
        depth: int,
        ended: bool,
        importance: float,
        compared: Comparison | None = None,
    ) -> Record:
        """The record of a visit, not appended yet; `ended` if the page is gone or given up. Without `compared`, the
        signature decides whether its content has changed.
        """
        outcome = visit.outcome
        present, read = outcome.present, outcome is Outcome.READ
        same = outcome is Outcome.UNCHANGED and before is not None
        known = is_comparable(before, foreign=visit.foreign)
        verdict, state, learned = compared or Comparison(_verdict(visit, before))
        changed = read and (not known or verdict in (Verdict.CHANGED, Verdict.UNKNOWN))
        marks = before.marks & OF_CONTENT if same and before is not None else NO_MARK
        for mark, holds in (
            (Mark.CHANGED, changed and known),
            (Mark.MARKUP, read and verdict is Verdict.MARKUP),
            (Mark.VOLATILE, read and verdict is Verdict.VOLATILE),
            (Mark.TRUNCATED, visit.truncated),
            (Mark.NOFOLLOW, visit.nofollow),
            (Mark.NOINDEX, visit.noindex),
            (Mark.SITEMAP, visit.is_sitemap),
            (Mark.BROKEN, visit.is_sitemap and bool(visit.detail)),
            (Mark.NOARCHIVE, visit.noarchive),
            (Mark.FOREIGN, visit.foreign),
        ):
            if holds:
                marks |= mark
        if before is not None and (before.marks or verdict is Verdict.VOLATILE):
            marks |= _known_volatile(before, marks, learned=learned, named=depth == 0)
        redirect = NO_PAGE
        if outcome.redirect and visit.links:
            redirect = PageId(int(self.table.find(np.frombuffer(visit.links[:8], dtype=np.uint64))[0]))
        kind = before.kind if same and before is not None else PageKind.DEAD if ended else visit.kind
        presence, _ = visit_shows(self.presence(before), outcome, kind, marks)
        return Record(
            page=visit.page,
            time=now,
            first_time=before.first_time if before else now,
            changed_time=now if changed else before.changed_time if before else 0.0,
            modified_time=_date(visit.modified),
            baseline_time=before.baseline_time if before else now,
            importance=importance,
            signature=visit.signature if read else before.signature if before else 0,
            digest=visit.digest if read else before.digest if before else bytes(16),
            visits=(before.visits if before else 0) + 1,
            changes=(before.changes if before else 0) + (Mark.CHANGED in marks),
            wire_bytes=min(visit.wire_bytes, 2**32 - 1),
            body_bytes=before.body_bytes if same and before is not None else min(visit.body_bytes, 2**32 - 1),
            latency_milliseconds=min(int(visit.seconds * 1000), 2**32 - 1),
            links=before.links if same and before is not None else len(visit.links) // 8,
            redirect=redirect,
            status=visit.status,
            depth=depth,
            marks=marks,
            outcome=outcome,
            kind=kind,
            presence=Presence(presence),
            failures=0
            if present or outcome.redirect or not (outcome.transient or outcome.denied or outcome is Outcome.GONE)
            else (before.failures if before else 0) + 1,
            etag=visit.etag,
            modified=visit.modified,
            content_type=before.content_type if same and before is not None else visit.content_type,
            detail=visit.detail,
            refused=before.refused if same and before is not None else _refused(visit.refused_for),
            address=visit.address,
            state=state,
            state_at=before.state_at if before else 0,
            hidden=b"" if state else (visit.seen.hidden if visit.seen else b"") or (before.hidden if before else b""),
        )


def is_comparable(before: Record | None, *, foreign: bool) -> bool:
    """Whether the content of a page at its last read can be compared with the present or imported content."""
    return before is not None and before.signature != 0 and (Mark.FOREIGN in before.marks) is foreign


def _known_volatile(before: Record, marks: Mark, *, learned: bool, named: bool) -> Mark:
    """Whether subscribers know of the volatile parts of a page, and whether this visit notifies them. `learned`:
    another part has become volatile since the last visit. Unless the page is `named` in a subscription, they are
    notified only if they were notified of a change of the page before: otherwise they do not expect more.
    """
    known = Mark.KNOWN_VOLATILE in before.marks and not learned
    if not known and Mark.VOLATILE in marks and (named or Mark.CHANGED in before.marks):
        return Mark.KNOWN_VOLATILE | Mark.BECAME_VOLATILE
    return Mark.KNOWN_VOLATILE if known else NO_MARK


def _refused(reasons: bytes) -> str:
    """The refused links of a visit, by reason."""
    if not reasons:
        return ""
    counts = Counter(reason % TEXT_FOLLOWS for reason in reasons)
    return " ".join(f"{Reason(reason).label}={counts[reason]}" for reason in sorted(counts))


def _verdict(visit: Visit, before: Record | None) -> Verdict:
    """The verdict about a visit whose content was not compared word by word."""
    if before is None or not is_comparable(before, foreign=visit.foreign):
        return Verdict.UNKNOWN
    if before.signature != visit.signature:
        return Verdict.CHANGED
    return Verdict.SAME if before.digest == visit.digest else Verdict.MARKUP


@lru_cache(maxsize=4_096)
def _date(text: str) -> float:
    """An HTTP date in seconds since the epoch, 0 if unparsable. Cached, because many pages of a site share a date."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0
