"""The last visit of every page, or the last one that found it, as columns: a few fields of the record heads, read a
batch of pages at a time.

A head has about 130 bytes, of which a report needs a few: only one batch of whole heads is in memory. A page that was
never visited has zeros. Outcome.READ is 0 too; only `visits` distinguishes the two.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind, Presence
from centime.model.row_batch import Pages
from centime.shard.pages import KnownPages
from centime.store.records import HEAD_TYPE

BATCH = 65_536

Columns = dict[str, npt.NDArray[Any]]

OUTCOMES = {outcome: outcome.name.lower().replace("_", " ") for outcome in Outcome}
REDIRECT = len(PageKind)
KINDS = (*(kind.name.lower() for kind in PageKind), "redirect")
"""The names of kinds. `redirect` follows from the outcome: the kind that is stored for a redirect is `error`."""
PRESENT = np.array([outcome.present for outcome in Outcome])
REDIRECTS = np.array([outcome.redirect for outcome in Outcome])
TRANSIENT = np.array([outcome.transient for outcome in Outcome])


def batches(count: int) -> Iterator[npt.NDArray[np.int64]]:
    """All page numbers below `count`, a batch at a time."""
    for begin in range(0, count, BATCH):
        yield np.arange(begin, min(begin + BATCH, count), dtype=np.int64)


def last_visits(known: KnownPages, *names: str) -> Columns:
    """Fields of the last visit of every page, by name."""
    return _columns(known, names, known.records.heads)


def last_found(known: KnownPages, *names: str) -> Columns:
    """The same of the last visit that found each page: later failures hide nothing. If none did, of the last visit."""
    return _columns(known, names, lambda pages: heads_found(known, pages))


def heads_found(known: KnownPages, pages: Pages) -> npt.NDArray[np.void]:
    """The heads of the visits that last found some pages; of the last visits of those that were never found."""
    heads = known.records.heads(pages)
    failed = ~are_present(heads["kind"]) & (heads["previous"] > 0) & (heads["presence"] != Presence.NEVER)
    for place in np.flatnonzero(failed):
        for head in known.records.head_history(PageId(int(pages[place]))):
            if PageKind.HTML <= head["kind"] <= PageKind.OTHER:
                heads[place] = head
                break
    return heads


def _columns(known: KnownPages, names: tuple[str, ...], heads_of: Callable[[Pages], npt.NDArray[np.void]]) -> Columns:
    columns: Columns = {name: np.zeros(known.count, dtype=HEAD_TYPE[name]) for name in names}
    for pages in batches(known.count):
        heads = heads_of(pages)
        for name, column in columns.items():
            column[pages] = heads[name]
    return columns


def kinds_of(kinds: npt.NDArray[np.uint8], outcomes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """For each last visit, the place of its page's kind in KINDS."""
    return np.where(REDIRECTS[outcomes], REDIRECT, kinds).astype(np.int64)


def are_present(kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """For each kind, whether the last visit found the page."""
    present: npt.NDArray[np.bool_] = (kinds >= PageKind.HTML) & (kinds <= PageKind.OTHER)
    return present
