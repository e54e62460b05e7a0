"""The URLs that pages link to and the crawl refuses: how many for each reason, and a list of them.

    a URL is refused      if a page that was read links to it and the crawl does not know it as a page
    its reason            the latest one; a URL that is admitted later is refused no more
    urls                  distinct refused URLs: a link that every page of a site repeats counts once
    links                 refused links of all visits: a URL counts once for each visit to a page that links to it,
                          under its reason; those of a URL that is admitted count no more

    links of a reason  =  sum of `times` over its URLs, unless it is estimated

Counts of URLs are exact up to MOST_COUNTED in all, by their fingerprints. Beyond, of the reason with most URLs only
every second one is kept, by a bit of the fingerprint; then every fourth, and so on. `2 ** level` times the number kept
is an unbiased estimate, with a standard error of one part in the root of the number kept: at most 0.5 %, because the
largest of the 12 reasons has at least MOST_COUNTED / 12 URLs when it is halved. A reason with few URLs stays exact.

The list has the text of the first LISTED URLs of each reason, with the page on which each was first seen.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from centime.discover.refusal import Reason
from centime.model.errors import StoreBroken
from centime.model.ids import PageId
from centime.store.columns import Columns
from centime.store.record import NO_PAGE
from centime.store.url_table import UrlTable

MOST_COUNTED = 1 << 20
LISTED = 4_096
REASONS = max(Reason) + 1
_SAMPLED = np.uint64(20)  # the lowest of the bits that decide which URLs are kept

Fingerprints = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


class Listed(msgspec.Struct, array_like=True, gc=False):
    """A refused URL of the list."""

    url: str
    reason: Reason
    source: PageId = NO_PAGE  # a page that links to it
    key: int = 0  # of the shape for which it is refused as a trap; 0 for other reasons


class Refused(msgspec.Struct, frozen=True, gc=False):
    """A refused URL, as reports see it."""

    url: str
    reason: Reason
    source: PageId
    times: int  # links to it, in all visits; 0 if they are not counted any more
    key: int = 0


class Refusals:
    """Which URLs were refused: a part of the shard's state."""

    def __init__(self) -> None:
        self.links = np.zeros(REASONS, dtype=np.int64)  # by reason
        self.levels = np.zeros(REASONS, dtype=np.int64)
        self._table = UrlTable()
        self._columns = Columns({"reasons": np.uint8, "times": np.uint32})  # reason 0: admitted later
        self._listed: dict[int, Listed] = {}  # by fingerprint
        self._room = [LISTED] * REASONS
        self._pending: dict[int, dict[int, None]] = {}  # key of a shape -> fingerprints in the list, in their order

    def __len__(self) -> int:
        return int(np.count_nonzero(self._columns["reasons"]))

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, without the list."""
        return self._table.nbytes + self._columns.nbytes

    def add(self, fingerprints: Fingerprints, reasons: npt.NDArray[np.uint8]) -> None:
        """Counts refused links, one for each place."""
        if not len(fingerprints):
            return
        kept = self._kept(fingerprints, reasons)
        self.links += np.bincount(reasons[~kept], minlength=REASONS)
        fingerprints, reasons = fingerprints[kept], reasons[kept]
        numbers, _ = self._table.find_or_add(fingerprints)
        self._columns.reach(self._table.count)
        changed = np.unique(numbers)
        self.links -= self._links_of(changed)  # the reason of a URL may have changed
        self._columns["reasons"][numbers] = reasons
        np.add.at(self._columns["times"], numbers, 1)
        self.links += self._links_of(changed)
        while self._table.count > MOST_COUNTED:
            self._thin_out()

    def enlist(self, fingerprint: int, reason: Reason, url: str, source: PageId, key: int = 0) -> None:
        """Puts a refused URL, which was counted, into the list, if there is room."""
        known = self._listed.get(fingerprint)
        if known is not None:
            if (known.reason, known.key) == (reason, key):
                return
            self._forget(fingerprint, known)
        if self._room[reason] > 0:
            self._room[reason] -= 1
            self._listed[fingerprint] = Listed(url, reason, source, key)
            if key:
                self._pending.setdefault(key, {})[fingerprint] = None

    def contain(self, fingerprints: Fingerprints) -> npt.NDArray[np.bool_]:
        """For each fingerprint, whether its URL is refused, as far as it is remembered."""
        numbers = self._table.find(fingerprints)
        found = numbers >= 0
        found[found] = self._columns["reasons"][numbers[found]] > 0
        return found

    def admitted(self, fingerprints: Fingerprints) -> None:
        """Removes URLs that have become pages from the refused ones."""
        if not self._table.count and not self._listed:
            return
        numbers = np.unique(self._table.find(fingerprints))
        numbers = numbers[numbers >= 0]
        self.links = np.maximum(self.links - (self._links_of(numbers) << self.levels), 0)
        self._columns["reasons"][numbers] = 0
        self._columns["times"][numbers] = 0
        for fingerprint in fingerprints.tolist():
            listed = self._listed.get(fingerprint)
            if listed is not None:
                self._forget(fingerprint, listed)

    def pending(self, key: int, most: float) -> list[tuple[int, Listed]]:
        """Up to `most` listed URLs that are refused for the shape with this key, the oldest first."""
        found = self._pending.get(key, {})
        return [(one, self._listed[one]) for _, one in zip(range(int(min(most, len(found)))), found, strict=False)]

    def counts(self) -> dict[Reason, int]:
        """Distinct refused URLs by reason: exact where `levels` is 0, estimated elsewhere."""
        kept = np.bincount(self._columns["reasons"], minlength=REASONS)
        return {reason: int(kept[reason]) << int(self.levels[reason]) for reason in Reason if kept[reason]}

    def listed(self) -> Iterator[Refused]:
        """The refused URLs of the list, the oldest first."""
        fingerprints = np.fromiter(self._listed, dtype=np.uint64, count=len(self._listed))
        numbers = self._table.find(fingerprints)
        for number, one in zip(numbers.tolist(), self._listed.values(), strict=True):
            reason = Reason(int(self._columns["reasons"][number])) if number >= 0 else one.reason
            times = int(self._columns["times"][number]) if number >= 0 else 0
            yield Refused(one.url, reason, one.source, times, one.key)

    def facts(self) -> dict[str, Any]:
        """For reports: counts of URLs and links by reason, and which of them are estimates."""
        counts = self.counts()
        return {
            "refused": {reason.label: count for reason, count in counts.items()},
            "refused_links": {reason.label: int(self.links[reason]) for reason in counts},
            "refused_estimated": [reason.label for reason in counts if self.levels[reason]],
        }

    def check(self, known: UrlTable) -> None:
        """Raises StoreBroken if a refused URL is a known page, or if the list and the counts disagree."""
        if self._table.count != self._columns.count or (self._columns["reasons"] >= REASONS).any():
            raise StoreBroken("the counts of refused URLs do not belong to their fingerprints")
        listed = np.fromiter(self._listed, dtype=np.uint64, count=len(self._listed))
        refused = np.concatenate([self._table.fingerprints[self._columns["reasons"] > 0], listed])
        if (known.find(refused) >= 0).any():
            raise StoreBroken("a URL is refused, and is a known page too")
        links = self._links_of(np.arange(self._table.count))
        if (links != self.links)[(self.levels == 0) & (np.arange(REASONS) > 0)].any():
            raise StoreBroken("the counts of refused links are not those of their URLs")
        used = np.bincount([one.reason for one in self._listed.values()], minlength=REASONS)
        if (LISTED - used != self._room).any():
            raise StoreBroken("the list of refused URLs has another length than is counted")

    # ---- for snapshots

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays for a snapshot, without the list."""
        facts = {"links": self.links.tolist(), "levels": self.levels.tolist()}
        return facts, {**self._table.state(), **self._columns.state()}

    def packed_list(self) -> bytes:
        """The list for a snapshot."""
        return msgspec.msgpack.encode((list(self._listed.items()), self._room))

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> "Refusals":
        """The refusals of a snapshot; an older one has none."""
        refusals = cls()
        if facts:
            refusals.links[: len(facts["links"])] = facts["links"]
            refusals.levels[: len(facts["levels"])] = facts["levels"]
            refusals._table = UrlTable(arrays["fingerprints"])
            refusals._columns = Columns({"reasons": np.uint8, "times": np.uint32}, arrays)
            items, room = msgspec.msgpack.decode(
                arrays["listed"].tobytes(), type=tuple[list[tuple[int, Listed]], list[int]]
            )
            refusals._listed = dict(items)
            refusals._room[: len(room)] = room
            for fingerprint, one in items:
                if one.key:
                    refusals._pending.setdefault(one.key, {})[fingerprint] = None
        return refusals

    # ---- inside

    def _links_of(self, numbers: npt.NDArray[np.integer[Any]]) -> Numbers:
        """How many links lead to these URLs, by reason."""
        reasons, times = self._columns["reasons"][numbers], self._columns["times"][numbers]
        counts = np.zeros(REASONS, dtype=np.int64)
        np.add.at(counts, reasons, times.astype(np.int64))
        counts[0] = 0
        return counts

    def _forget(self, fingerprint: int, listed: Listed) -> None:
        del self._listed[fingerprint]
        self._room[listed.reason] += 1
        if listed.key:
            pending = self._pending[listed.key]
            del pending[fingerprint]
            if not pending:
                del self._pending[listed.key]

    def _kept(self, fingerprints: Fingerprints, reasons: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which fingerprints are kept at the levels of their reasons."""
        masks = (np.uint64(1) << self.levels[reasons].astype(np.uint64)) - np.uint64(1)
        kept: npt.NDArray[np.bool_] = (fingerprints >> _SAMPLED) & masks == 0
        return kept

    def _thin_out(self) -> None:
        """Keeps every second URL of the reason that has most of them, and no URL that was admitted."""
        reasons, times = self._columns["reasons"].copy(), self._columns["times"].copy()
        self.levels[np.argmax(np.bincount(reasons, minlength=REASONS)[1:]) + 1] += 1
        kept = self._kept(self._table.fingerprints, reasons) & (reasons > 0)
        self._table = UrlTable(self._table.fingerprints[kept].copy())
        self._columns = Columns(
            {"reasons": np.uint8, "times": np.uint32}, {"reasons": reasons[kept], "times": times[kept]}
        )
