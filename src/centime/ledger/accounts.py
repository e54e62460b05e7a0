"""The accounts of the exact ledger: the money of every page, its focus class, and the value of the unit.

`payment` has the rules by which money moves. This module has the arrays, their growth, and the proof that no money is
lost.

- A page joins with H = L e and r = 0, so no other page changes. The first pages of a ledger bring the money.
- Accounts of proxies (`partial`) lie behind those of the pages, from `room` on: PAID is the money that was sent,
  RECEIVED the money that rows carry. The ledger of a whole crawl has none.
- The unit is as small as 64 bits allow. If more pages would overflow, or the mean share has become small, the money is
  revalued: all H are multiplied by a power of two, and the received money is computed again from the rows. This is
  rare: a crawl that grows from three pages to a million does it a few times, mostly while it is small.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.ledger import payment
from centime.ledger.focus import FOCUS_UNIT, check_class, focus_units
from centime.ledger.payment import (
    ALL_PAID,
    ARRIVED,
    CLASS_MASK,
    EMPHASIS,
    FILED,
    KIND,
    LEVEL,
    LINKS,
    PAGES,
    PAID,
    READ,
    RECEIVED,
    TOTALS,
    VIRTUAL,
    Books,
)
from centime.ledger.strategy import check_count, known_pages
from centime.model.errors import BadSetting, LedgerImbalance
from centime.model.interrupt import uninterrupted
from centime.model.kernel import Whole, late_kernel
from centime.model.row_batch import Pages, RowBatch, RowStore

ALL_PAID_BITS = 58  # revaluing up brings the sum of H to at most about 2^58 units
MOST_BITS = 60  # the sum of H stays below 2^60, so that the sum of |r| fits into 63 bits
MEAN_BITS = 42  # a mean H of 2^42 units is fine enough
LEAST_MEAN_BITS = 30  # below a mean H of 2^30 units the money is revalued up
BATCH = 16384
PROXY = 1 << 30  # the number of proxy 0 in a row; pages have smaller numbers
NEVER_FILED = 255  # above every bucket: a proxy is not a page that a queue could offer


class Sums(NamedTuple):
    """Sums over the pages of ledgers: their number, H, V and E."""

    pages: int = 0
    paid: int = 0
    virtual: int = 0
    emphasis: int = 0

    def plus(self, other: "Sums") -> "Sums":
        """The sums over both."""
        return Sums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Accounts:
    """The money of all pages."""

    def __init__(self, damping: float, rows: RowStore, level: int = 0) -> None:
        if not 0 <= damping < 1:
            raise BadSetting(f"damping must be at least 0 and below 1, not {damping}")
        self.damping = float(damping)
        self.rows = rows
        self.revaluations = 0  # how often all money was multiplied
        self.room = 0  # for pages
        self.proxies = 0
        self.others = Sums()  # of the other partitions of a cluster, as last received
        self.books = Books(
            np.zeros((0, 2), dtype=np.int64),
            np.zeros((0, 2), dtype=np.uint8),
            np.full(1, FOCUS_UNIT, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros(TOTALS, dtype=np.int64),
        )
        self.books.totals[LEVEL] = level
        self.share_out()

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
        return (self.total(ALL_PAID) + self.others.paid) / max(1, self.pages + self.others.pages)

    @property
    def sums(self) -> Sums:
        """The sums over these pages."""
        return Sums(self.pages, self.total(ALL_PAID), self.total(VIRTUAL), self.total(EMPHASIS))

    @property
    def level(self) -> int:
        """L: the money that the virtual page has given per unit of focus weight."""
        return self.total(LEVEL) or self.total(VIRTUAL) // max(1, self.total(EMPHASIS))

    @property
    def purse(self) -> int:
        """V - L E: the money of the virtual page that it has not shared out; too little to share out if L floats."""
        return self.total(VIRTUAL) - self.level * self.total(EMPHASIS)

    def join(self, count: int, focus: int) -> int:
        """Adds pages and returns the number of the first."""
        first = self.pages
        check_count(count, first)
        self._known_class(focus)
        emphasis = int(self.books.emphasis[focus])
        with uninterrupted():
            self._make_room(first + count, self.proxies)
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
        """Computes the money that the virtual page has given to a page of each focus class so far."""
        self.books.shares[:] = self.level * self.books.emphasis

    def paid(self, pages: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
        """H of these pages, or of all."""
        return self.books.money[self.select(pages), PAID]

    def owed(self, pages: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
        """r of these pages, or of all."""
        which = self.select(pages)
        shares = self.books.shares[self.books.marks[which, KIND] & CLASS_MASK]
        owed: npt.NDArray[np.int64] = self.books.money[which, RECEIVED] + shares - self.books.money[which, PAID]
        return owed

    def keep_value(self) -> bool:
        """Revalues the money if it is close to overflow or too coarse; returns whether it did."""
        total, pages = self.total(ALL_PAID), max(1, self.pages)
        if self.total(LEVEL):
            return False
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
        """Computes everything again from H and the rows; raises LedgerImbalance if a single unit differs. What other
        partitions have sent is known by its sum alone, and no page has received less than nothing from them.
        """
        money, proxies = self.books.money[: self.pages], self.proxy_money()
        received, links = self.receipts()
        _, signed = payment.debts(self.books)
        arrived = money[:, RECEIVED] - received[: self.pages]
        wrong = np.flatnonzero(arrived < 0 if self.total(LEVEL) else arrived)
        where = f", first page {wrong[0]}" if len(wrong) else ""
        astray = np.flatnonzero(received[self.room :] != proxies[:, RECEIVED])
        remote = self.total(ARRIVED) - int(proxies[:, RECEIVED].sum())
        for what, found, expected in (
            ("pages whose receipts do not follow from the rows" + where, len(wrong), 0),
            ("proxies to which the rows do not carry what is stored", len(astray), 0),
            ("money that arrived from other partitions", int(arrived.sum()), self.total(ARRIVED)),
            ("sum of all debts and the virtual page's purse", int(signed) + self.purse, remote),
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
        self.books = self.books._replace(emphasis=emphasis, shares=np.zeros_like(emphasis))
        self.books.totals[: len(arrays["totals"])] = arrays["totals"]  # versions before 0.2 had fewer
        self._make_room(room, 0)
        self.books.money[:pages], self.books.marks[:pages] = arrays["money"], arrays["marks"]
        self.share_out()

    def join_proxies(self, count: int) -> int:
        """Adds proxies, to which nothing was carried so far; returns the number of the first."""
        first = self.proxies
        with uninterrupted():
            self._make_room(self.pages, first + count)
            self.books.money[self.room + first : self.room + first + count] = 0
            self.proxies += count
        return first

    def proxy_money(self) -> npt.NDArray[np.int64]:
        """The money sent for each proxy (PAID) and the money that rows carry to it (RECEIVED)."""
        return self.books.money[self.room : self.room + self.proxies]

    def gather(self, pages: Pages) -> RowBatch:
        """The last known rows of these pages, with accounts as targets."""
        return self.placed(self.rows.gather(pages))

    def placed(self, rows: RowBatch) -> RowBatch:
        """Rows with accounts as targets: those of proxies instead of their numbers."""
        if not self.proxies:
            return rows
        if len(rows.targets) != int(rows.lengths.sum()):  # rows in memory share one array with all others
            rows = RowBatch(np.cumsum(rows.lengths) - rows.lengths, rows.lengths, rows.links(), rows.shares())
        targets = np.empty(len(rows.targets), dtype=np.int32)
        _place(rows.targets, targets, PROXY - self.room)
        return rows._replace(targets=targets)

    def pages_among(self, accounts: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Those of the accounts that are pages."""
        if not self.proxies:
            return accounts
        pages = np.empty(len(accounts), dtype=np.int32)
        return pages[: int(_keep(accounts, self.room, pages))]

    def _known_class(self, focus: int) -> None:
        if not 0 <= focus < len(self.books.emphasis):
            raise BadSetting(f"focus class {focus} has no weight yet: call set_focus first")

    def _classes(self) -> npt.NDArray[np.uint8]:
        return self.books.marks[: self.pages, KIND] & np.uint8(CLASS_MASK)

    def select(self, pages: npt.ArrayLike | None) -> slice | npt.NDArray[np.int64]:
        """The places of these pages, or of all."""
        return slice(self.pages) if pages is None else known_pages(pages, self.pages)

    def _make_room(self, pages: int, proxies: int) -> None:
        books, before = self.books, self.room
        behind = len(books.money) - before
        if pages <= before and proxies <= behind:
            return
        self.room = pages if not before else max(pages, before * 5 // 4) if pages > before else before
        behind = max(proxies, behind * 5 // 4) if proxies > behind else behind
        money = np.zeros((self.room + behind, 2), dtype=np.int64)
        marks = np.zeros((self.room + behind, 2), dtype=np.uint8)
        marks[self.room :, FILED] = NEVER_FILED
        money[:before], marks[:before] = books.money[:before], books.marks[:before]
        money[self.room : self.room + self.proxies] = books.money[before : before + self.proxies]
        self.books = books._replace(money=money, marks=marks)

    def _joining_money(self, count: int, emphasis: int) -> int:
        if not self.pages and not self.total(LEVEL):
            return (1 << min(MEAN_BITS, ALL_PAID_BITS - max(1, count).bit_length())) * emphasis // FOCUS_UNIT
        while True:
            money = self.level * emphasis
            if self.total(LEVEL) or self.total(ALL_PAID) + count * money < 1 << MOST_BITS:
                return money
            self._revalue(-2)

    def _revalue(self, bits: int) -> None:
        self.revaluations += 1
        money = self.books.money[: self.pages]
        with uninterrupted():
            money[:, PAID] = money[:, PAID] << bits if bits > 0 else money[:, PAID] >> -bits
            received, _ = self.receipts()
            money[:, RECEIVED] = received[: self.pages]
            self.books.totals[ALL_PAID] = money[:, PAID].sum()
            self.books.totals[VIRTUAL] = self.books.totals[ALL_PAID] - money[:, RECEIVED].sum()
            self.share_out()

    def receipts(self) -> tuple[npt.NDArray[np.int64], int]:
        """The money that the known rows carry to each account, by the definition, and the number of links."""
        received = np.zeros(self.room + self.proxies, dtype=np.int64)
        links = 0
        for start in range(0, self.pages, BATCH):
            pages = np.arange(start, min(start + BATCH, self.pages), dtype=np.int64)
            rows = self.gather(pages)
            payment.receipts(self.books, self.damping, pages, rows, received)
            links += int(rows.lengths.sum())
        return received, links


@late_kernel(0.2)
def _place(targets: npt.NDArray[np.int32], placed: npt.NDArray[np.int32], back: Whole) -> None:
    """Writes targets, those of proxies moved back by `room`."""
    for link in range(len(targets)):
        target = targets[link]
        placed[link] = target - back if target >= PROXY else target


@late_kernel(0.2)
def _keep(accounts: npt.NDArray[np.int32], room: Whole, kept: npt.NDArray[np.int32]) -> Whole:
    """Writes the accounts below `room`; returns their number."""
    count = 0
    for account in accounts:
        if account < room:
            kept[count] = account
            count += 1
    return count
