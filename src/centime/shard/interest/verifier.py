"""Verifies interest: computes every count and sum again, from the rows, the wanted pages and y alone.

    k            how many rows link to each page
    parents      a page that has a parent is linked from it
    evidence     the counts of groups and parents match their pages; sums of y match up to the rounding of their
    additions

y itself needs no proof: its distance from the solution is always certified by the residual (`flow.py`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import InterestBroken
from centime.model.row_batch import RowStore
from centime.shard.interest.tables import COUNTED, WANTED, Tables

BATCH = 65_536
TOLERANCE = 1e-6  # of sums that are added up in another order

Flags = npt.NDArray[np.bool_]
Vector = npt.NDArray[np.float64]


def verify(tables: Tables, rows: RowStore, wanted: Flags, importance: Vector, found: tuple[int, float]) -> None:
    """Raises InterestBroken unless the laws hold for the wanted pages, with the importance that all pages had at their
    last visits; `found` is the number of wanted pages that were read and the sum of their importance, as it is kept.
    """
    count = len(tables.marks)
    if len(wanted) != count:
        raise InterestBroken(f"interest is kept of {count} pages, but {len(wanted)} are known")
    _must_be("page that is marked as wanted", tables.marks & WANTED, wanted)
    if not np.isfinite(tables.interest).all():
        raise InterestBroken(f"the interest of page {np.flatnonzero(~np.isfinite(tables.interest))[0]} is no number")
    _verify_links(tables, rows)
    counted = tables.marks & COUNTED > 0
    _verify_evidence(tables, np.flatnonzero(counted), wanted.astype(np.float64))
    _must_be("sum of all interest", tables.total, tables.interest.sum())
    _must_be("number of wanted pages that were read", found[0], np.count_nonzero(counted & wanted))
    _must_be("sum of their importance", found[1], importance[counted & wanted].sum())


def _verify_links(tables: Tables, rows: RowStore) -> None:
    count = len(tables.marks)
    lengths = np.zeros(count, dtype=np.int64)
    degree, has_parent = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    for begin in range(0, count, BATCH):
        pages = np.arange(begin, min(begin + BATCH, count), dtype=np.int64)
        batch = rows.gather(pages)
        links = batch.links().astype(np.int64)
        degree += np.bincount(links, minlength=count)
        lengths[pages] = batch.lengths
        has_parent[links[tables.parent[links] == np.repeat(pages, batch.lengths) + 1]] = True
    _must_be("links to page", tables.degree, degree)
    _must_be("links of page", tables.links, lengths)
    _must_be("parent that links to page", tables.parent > 0, has_parent)


def _verify_evidence(tables: Tables, counted: npt.NDArray[np.int64], wanted: Vector) -> None:
    ones, own = np.ones(len(wanted)), tables.interest - wanted
    everyone = np.flatnonzero(tables.parent)
    _must_be("children of page", tables.children, np.bincount(tables.parent[everyone] - 1, minlength=len(ones)))
    children = counted[tables.parent[counted] > 0]
    parents = tables.parent[children].astype(np.int64) - 1
    for name, kept, each in (
        ("children that were read of page", tables.child_read, ones),
        ("children that are wanted of page", tables.child_wanted, wanted),
        ("children that were expected of page", tables.child_expected, tables.expected),
        ("interest of the children of page", tables.child_interest, own),
    ):
        _must_be(name, kept, np.bincount(parents, each[children], len(ones)))
    groups = tables.group[counted].astype(np.int64)
    sums = np.zeros((3, len(tables.read)))
    while len(counted):
        for place, each in enumerate((ones, wanted, own)):
            sums[place] += np.bincount(groups, each[counted], len(tables.read))
        above = tables.above[groups].astype(np.int64)
        counted, groups = counted[above > 0], above[above > 0] - 1
    _must_be("pages that were read of group", tables.read, sums[0])
    _must_be("pages that are wanted of group", tables.wanted, sums[1])
    _must_be("interest of group", tables.sums, sums[2])


def _must_be(what: str, kept: npt.ArrayLike, found: npt.ArrayLike) -> None:
    """Raises unless the stored values equal the recomputed ones."""
    one: npt.NDArray[Any] = np.atleast_1d(np.asarray(kept, dtype=np.float64))
    other: npt.NDArray[Any] = np.atleast_1d(np.asarray(found, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(one - other) <= TOLERANCE * (1.0 + np.abs(other))))
    if len(wrong):
        raise InterestBroken(f"{what} {wrong[0]}: {one[wrong[0]]:g}, should be {other[wrong[0]]:g}")
