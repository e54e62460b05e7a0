"""The accounts of the exact ledger: the money of every page, its focus class, and the value of the unit.

`payment` has the rules by which money moves. This module has the arrays, their growth, and the proof that no money is
lost.

- A page joins with H = (V/E) e and r = 0, so no other page changes. The first pages of a ledger bring the money.
- The unit is as small as 64 bits allow. If more pages would overflow, or the mean share has become small, the money is
  revalued: all H are multiplied by a power of two, and the received money is computed again from the rows. This is
  rare: a crawl that grows from three pages to a million does it a few times, mostly while it is small.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.ledger import payment
from centime.ledger.focus import FOCUS_UNIT, check_class, focus_units
from centime.ledger.payment import (
    ALL_PAID,
    CLASS_MASK,
    EMPHASIS,
    KIND,
    LINKS,
    PAGES,
    PAID,
    READ,
    RECEIVED,
    VIRTUAL,
    Books,
)
from centime.ledger.strategy import check_count, known_pages
from centime.model.errors import BadSetting, LedgerImbalance
from centime.model.interrupt import uninterrupted
from centime.model.row_batch import RowStore

ALL_PAID_BITS = 58  # revaluing up brings the sum of H to at most about 2^58 units
MOST_BITS = 60  # the sum of H stays below 2^60, so that the sum of |r| fits into 63 bits
MEAN_BITS = 42  # a mean H of 2^42 units is fine enough
LEAST_MEAN_BITS = 30  # below a mean H of 2^30 units the money is revalued up
BATCH = 16384


class Accounts:
    """The money of all pages."""

    def __init__(self, damping: float, rows: RowStore) -> None:
        if not 0 <= damping < 1:
            raise BadSetting(f"damping must be at least 0 and below 1, not {damping}")
        self.damping = float(damping)
        self.rows = rows
        self.revaluations = 0  # how often all money was multiplied
        self.books = Books(
            np.zeros((0, 2), dtype=np.int64),
            np.zeros((0, 2), dtype=np.uint8),
            np.full(1, FOCUS_UNIT, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros(6, dtype=np.int64),
        )

    def total(self, which: int) -> int:
        """One of the totals, as a Python integer, which cannot overflow."""
        return int(self.books.totals[which])

    @property
    def pages(self) -> int:
        """The number of known pages."""
        return self.total(PAGES)

    @property
    def mean(self) -> float:
        """The mean of H: the unit of importance, in units of money."""
        return self.total(ALL_PAID) / max(1, self.pages)

    @property
    def purse(self) -> int:
        """V mod E: the money of the virtual page that is too little to share out."""
        return self.total(VIRTUAL) % max(1, self.total(EMPHASIS))

    def join(self, count: int, focus: int) -> int:
        """Adds pages and returns the number of the first."""
        first = self.pages
        check_count(count, first)
        self._known_class(focus)
        emphasis = int(self.books.emphasis[focus])
        with uninterrupted():
            self._make_room(first + count)
            money = self._joining_money(count, emphasis)
            self.books.money[first : first + count, PAID] = money
            self.books.marks[first : first + count, KIND] = focus
            self.books.totals[[ALL_PAID, VIRTUAL, EMPHASIS, PAGES]] += [
                count * money,
                count * money,
                count * emphasis,
                count,
            ]
            self.share_out()
        return first

    def set_focus(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others."""
        whole = focus_units(weight)
        check_class(focus)
        missing = max(0, focus + 1 - len(self.books.emphasis))
        emphasis = np.concatenate([self.books.emphasis, np.full(missing, FOCUS_UNIT, dtype=np.int64)])
        members = int((self._classes() == focus).sum())
        with uninterrupted():
            self.books.totals[EMPHASIS] += members * (whole - int(emphasis[focus]))
            emphasis[focus] = whole
            self.books = self.books._replace(emphasis=emphasis, shares=np.zeros_like(emphasis))
            self.share_out()

    def focus(self, pages: npt.ArrayLike, focus: int) -> None:
        """Puts pages into a focus class."""
        numbers = np.unique(known_pages(pages, self.pages))
        self._known_class(focus)
        kinds = self.books.marks[numbers, KIND]
        emphasis = self.books.emphasis
        with uninterrupted():
            self.books.totals[EMPHASIS] += int((emphasis[focus] - emphasis[kinds & CLASS_MASK]).sum())
            self.books.marks[numbers, KIND] = (kinds & READ) | focus
            self.share_out()

    def share_out(self) -> None:
        """Computes what the virtual page has given to a page of each focus class so far."""
        self.books.shares[:] = self.total(VIRTUAL) // max(1, self.total(EMPHASIS)) * self.books.emphasis

    def paid(self, pages: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
        """H of these pages, or of all."""
        return self.books.money[self._select(pages), PAID]

    def owed(self, pages: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
        """r of these pages, or of all."""
        which = self._select(pages)
        shares = self.books.shares[self.books.marks[which, KIND] & CLASS_MASK]
        owed: npt.NDArray[np.int64] = self.books.money[which, RECEIVED] + shares - self.books.money[which, PAID]
        return owed

    def keep_value(self) -> bool:
        """Revalues the money if it is close to overflow or too coarse; returns whether it did."""
        total, pages = self.total(ALL_PAID), max(1, self.pages)
        if total >= 1 << MOST_BITS:
            self._revalue(-2)
            return True
        if 0 < total < pages << LEAST_MEAN_BITS:
            more = min(ALL_PAID_BITS - total.bit_length(), MEAN_BITS - (total // pages).bit_length())
            if more >= 4:
                self._revalue(more)
                return True
        return False

    def check(self) -> None:
        """Computes everything again from H and the rows; raises LedgerImbalance if a single unit differs."""
        money = self.books.money[: self.pages]
        received, links = self._receipts()
        _, signed = payment.debts(self.books)
        wrong = np.flatnonzero(received != money[:, RECEIVED])
        where = f", first page {wrong[0]}" if len(wrong) else ""
        for what, found, expected in (
            ("pages whose receipts do not follow from the rows" + where, len(wrong), 0),
            ("sum of all debts and the virtual page's purse", int(signed) + self.purse, 0),
            ("sum of all payments", int(money[:, PAID].sum()), self.total(ALL_PAID)),
            ("money of the virtual page", self.total(ALL_PAID) - int(received.sum()), self.total(VIRTUAL)),
            ("sum of the focus weights", int(self.books.emphasis[self._classes()].sum()), self.total(EMPHASIS)),
            ("number of links", links, self.total(LINKS)),
        ):
            if found != expected:
                raise LedgerImbalance(f"{what}: {found}, should be {expected}")

    def restore(self, arrays: dict[str, npt.NDArray[Any]], room: int) -> None:
        """Restores the arrays of a saved ledger, with space for `room` pages as it had."""
        pages = len(arrays["money"])
        emphasis = arrays["emphasis"].copy()
        self.books = self.books._replace(
            emphasis=emphasis, shares=np.zeros_like(emphasis), totals=arrays["totals"].copy()
        )
        self._make_room(room)
        self.books.money[:pages], self.books.marks[:pages] = arrays["money"], arrays["marks"]
        self.share_out()

    def _known_class(self, focus: int) -> None:
        if not 0 <= focus < len(self.books.emphasis):
            raise BadSetting(f"focus class {focus} has no weight yet: call set_focus first")

    def _classes(self) -> npt.NDArray[np.uint8]:
        return self.books.marks[: self.pages, KIND] & np.uint8(CLASS_MASK)

    def _select(self, pages: npt.ArrayLike | None) -> slice | npt.NDArray[np.int64]:
        return slice(self.pages) if pages is None else known_pages(pages, self.pages)

    def _make_room(self, pages: int) -> None:
        books = self.books
        if pages > len(books.money):
            room = max(pages, len(books.money) * 5 // 4)
            money = np.zeros((room, 2), dtype=np.int64)
            marks = np.zeros((room, 2), dtype=np.uint8)
            money[: len(books.money)], marks[: len(books.marks)] = books.money, books.marks
            self.books = books._replace(money=money, marks=marks)

    def _joining_money(self, count: int, emphasis: int) -> int:
        if not self.pages:
            return (1 << min(MEAN_BITS, ALL_PAID_BITS - max(1, count).bit_length())) * emphasis // FOCUS_UNIT
        while True:
            money = self.total(VIRTUAL) // self.total(EMPHASIS) * emphasis
            if self.total(ALL_PAID) + count * money < 1 << MOST_BITS:
                return money
            self._revalue(-2)

    def _revalue(self, bits: int) -> None:
        self.revaluations += 1
        money = self.books.money[: self.pages]
        with uninterrupted():
            money[:, PAID] = money[:, PAID] << bits if bits > 0 else money[:, PAID] >> -bits
            money[:, RECEIVED], _ = self._receipts()
            self.books.totals[ALL_PAID] = money[:, PAID].sum()
            self.books.totals[VIRTUAL] = self.books.totals[ALL_PAID] - money[:, RECEIVED].sum()
            self.share_out()

    def _receipts(self) -> tuple[npt.NDArray[np.int64], int]:
        received = np.zeros(self.pages, dtype=np.int64)
        links = 0
        for start in range(0, self.pages, BATCH):
            pages = np.arange(start, min(start + BATCH, self.pages), dtype=np.int64)
            rows = self.rows.gather(pages)
            payment.receipts(self.books, self.damping, pages, rows, received)
            links += int(rows.lengths.sum())
        return received, links
