"""The arrays of a refresh book as a snapshot stores them: columns of pages and hosts without spare room, sums,
calendar.

Curves are not stored; the book draws them again from its settings and from its prior.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.refresh.calendar import RECORD, Calendar
from centime.refresh.learning.pooling import derive_from_weights, start_prior
from centime.refresh.tables import (
    CLASS_BIT,
    HOST_LIMIT,
    LIMIT,
    MEAN,
    NEXT_BEND,
    NEXT_SLOPE,
    STALE,
    URGENT,
    RefreshTables,
    make_room_for_hosts,
    make_room_for_records,
)

_COLUMNS = RECORD.names or ()
_BY_HOST = ("means", "host_rates", "host_pages")
_WHOLE = (
    "factors",
    "class_rates",
    "class_pages",
    "weights",
    "next_weights",
    "shares",
    "demand",
    "sums",
    "pooled",
    "facts",
    "counts",
)


def copy_tables(t: RefreshTables, calendar: Calendar) -> dict[str, npt.NDArray[Any]]:
    """Copies of all arrays of a book."""
    pages, hosts = int(t.counts[LIMIT]), int(t.counts[HOST_LIMIT])
    arrays = {column: t.records[column][:pages].copy() for column in _COLUMNS}
    arrays |= {name: getattr(t, name)[:hosts].copy() for name in _BY_HOST}
    arrays |= {name: getattr(t, name).copy() for name in _WHOLE}
    return arrays | {name: array.copy() for name, array in calendar._asdict().items()}


def restore_tables(t: RefreshTables, calendar: Calendar, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Writes such copies into the tables and the calendar of a book without pages."""
    pages, hosts = len(arrays["b"]), len(arrays["means"])
    make_room_for_records(t, pages)
    make_room_for_hosts(t, hosts)
    for column in _COLUMNS:
        t.records[column][:pages] = arrays[column]
    for name in _BY_HOST:
        getattr(t, name)[:hosts] = arrays[name]
    for name in _WHOLE:
        if name in arrays:  # a snapshot of an older format lacks some, and has fewer elements of others
            getattr(t, name)[tuple(slice(length) for length in arrays[name].shape)] = arrays[name]
    if "weights" in arrays:
        derive_from_weights(t)
    else:
        _start_priors(t)
    for name, array in calendar._asdict().items():
        array[:] = arrays[name]


def _start_priors(t: RefreshTables) -> None:
    """Makes the tables of a snapshot of format 2, which has a gamma prior, those of this format.

    Its evidence λ^s e^(-λb) is that of dated changes: c is 0. Its mean rates are kept for all pages; hosts and the
    importance of pages are learned again with the next passes.
    """
    t.records["b"][:] = (t.records["b"].view(np.uint32) & np.uint32(0xFFFFFF00)).view(np.float32)
    t.records["flags"] &= np.uint8(CLASS_BIT - 1)
    mean = float(t.facts[MEAN])
    t.facts[[NEXT_BEND, NEXT_SLOPE]] = 0.0
    for array in (t.means, t.host_rates, t.host_pages, t.class_rates, t.class_pages, t.shares, t.pooled):
        array[:] = 0
    t.factors[:] = 1.0
    start_prior(t, mean)
    t.counts[[STALE, URGENT]] = t.counts[LIMIT] > 0
