"""The last visit of every page as columns: a few fields of the record heads, gathered a batch of pages at a time.

A head has some 130 bytes, of which a report needs a few: no more than one batch of whole heads is in memory. A page
never visited has zeros; Outcome.READ is 0 too, so `visits` tells the two apart.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.outcome import Outcome, PageKind
from centime.shard.pages import KnownPages
from centime.store.records import HEAD_TYPE

BATCH = 65_536

Columns = dict[str, npt.NDArray[Any]]

OUTCOMES = {outcome: outcome.name.lower().replace("_", " ") for outcome in Outcome}
REDIRECT = len(PageKind)
KINDS = (*(kind.name.lower() for kind in PageKind), "redirect")
"""Names of kinds; the last is told by the outcome: on disk a redirect is an error, since there is no page."""
PRESENT = np.array([outcome.present for outcome in Outcome])
LEADS_ON = np.array([outcome.redirect for outcome in Outcome])
PASSING = np.array([outcome.transient for outcome in Outcome])


def batches(count: int) -> Iterator[npt.NDArray[np.int64]]:
    """All page numbers below `count`, some at a time."""
    for begin in range(0, count, BATCH):
        yield np.arange(begin, min(begin + BATCH, count), dtype=np.int64)


def last_visits(known: KnownPages, *names: str) -> Columns:
    """These fields of the last visit of every page."""
    columns: Columns = {name: np.zeros(known.count, dtype=HEAD_TYPE[name]) for name in names}
    for pages in batches(known.count):
        heads = known.records.heads(pages)
        for name, column in columns.items():
            column[pages] = heads[name]
    return columns


def kinds_of(kinds: npt.NDArray[np.uint8], outcomes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Of each last visit, which of KINDS its page is."""
    return np.where(LEADS_ON[outcomes], REDIRECT, kinds).astype(np.int64)


def was_there(kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Of each kind, whether a page of it was there when it was last visited."""
    there: npt.NDArray[np.bool_] = (kinds >= PageKind.HTML) & (kinds <= PageKind.OTHER)
    return there
