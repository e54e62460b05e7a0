"""The arrays of a refresh book as a snapshot stores them: columns of pages and hosts without spare room, sums,
calendar.

The curves are not stored; the book draws them again from its settings.
"""

from typing import Any

import numpy.typing as npt

from centime.refresh.calendar import RECORD, Calendar
from centime.refresh.tables import HOST_LIMIT, LIMIT, RefreshTables, make_room_for_hosts, make_room_for_records

_COLUMNS = RECORD.names or ()
_BY_HOST = ("means", "host_rates", "host_pages")
_WHOLE = ("factors", "class_rates", "class_pages", "demand", "sums", "pooled", "facts", "counts")


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
    for name, array in calendar._asdict().items():
        array[:] = arrays[name]
