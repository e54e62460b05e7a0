"""The virtual page: every page pays it a share, and it pays all pages (Sections 1 and 3.3).

    purse  += payments of pages                                   (see `cash`)
    level_k += (payout from the purse // E) * e_k                 e_k: focus weight of kind k; E: the sum over all pages

It pays out a share of its purse after every N/64 visits for N pages; the rest that cannot be shared evenly stays in the
purse. The purse also pays for focus and discovery, so these do not change the total cash:

- focus classes: pages in a class of weight w get w times as much as others;
- `extra`: immediate cash for pages that look interesting (a URL with "news" in it);
- `unread_share`: this share of all payouts goes to unread pages, for more discovery.

A new page brings MEAN_CASH, but gives it to the virtual page, which pays it out to all pages. So the mean cash of a
page never changes, the first pages start with 1/n of the total each, as in the paper, and a later page starts with
hardly more than its links pay it: it is not read earlier because it is new. (If the total cash were constant, a page
would have too few units in a crawl that grows from 3 pages to a million.)
"""

import numpy as np
import numpy.typing as npt

from centime.ledger.cash import BANK, KINDS, MEAN_CASH, PURSE, UNREAD, Cash, most_held
from centime.ledger.column import Column
from centime.ledger.focus import FOCUS_CLASSES, FOCUS_UNIT, check_class, focus_units
from centime.model.errors import BadSetting, LedgerImbalance
from centime.model.row_batch import Pages


class VirtualPage:
    """The cash of all pages, and the purse from which they are paid."""

    def __init__(self, all_ones: bool) -> None:
        self.pots = np.zeros(2, dtype=np.int64)
        self.flow = np.zeros(2 if all_ones else 0)
        self.unread_share = 0.0
        self.tracked = False  # whether pages have kinds
        self.weights = np.zeros(KINDS, dtype=np.int64)
        self.counts = np.zeros(KINDS, dtype=np.int64)
        self.level = np.zeros(KINDS, dtype=np.int64)
        self.stored = Column(np.empty(0, dtype=np.int64))
        self.kinds = Column(np.empty(0, dtype=np.uint8))
        self.weights[[0, UNREAD]] = FOCUS_UNIT

    @property
    def cash(self) -> Cash:
        """The arrays for kernels."""
        return Cash(self.stored.values, self.kinds.values, self.counts, self.level, self.pots, self.flow)

    @property
    def total(self) -> int:
        """The total cash."""
        return len(self.stored.values) * MEAN_CASH

    @property
    def purse(self) -> int:
        """The cash of the virtual page."""
        return int(self.pots[PURSE])

    def held(self) -> npt.NDArray[np.int64]:
        """The cash of every page."""
        kinds = self.kinds.values
        held: npt.NDArray[np.int64] = self.stored.values + (self.level[kinds] if len(kinds) else self.level[0])
        return held

    def join(self, count: int, focus: int) -> None:
        """Adds pages, never read so far, to a focus class."""
        kind = focus + UNREAD if self.tracked else 0
        self.stored.extend(count, -int(self.level[kind]))
        if self.tracked:
            self.kinds.extend(count, kind)
        self.counts[kind] += count
        self.pots[PURSE] += count * MEAN_CASH
        self.pay_out(count * MEAN_CASH)

    def track(self, unread: npt.NDArray[np.bool_]) -> None:
        """Gives every page a kind; no page's cash changes."""
        if not self.tracked:
            self.tracked = True
            self.level[UNREAD] = self.level[0]
            self.kinds = Column(np.where(unread, np.uint8(UNREAD), np.uint8(0)))
            self.counts[0], self.counts[UNREAD] = len(unread) - unread.sum(), unread.sum()

    def pay_out(self, amount: int) -> None:
        """Pays about `amount` to all pages, in proportion to their weights."""
        everyone = max(1, int(self.counts @ self.weights))
        unread = int(self.counts[UNREAD:] @ self.weights[UNREAD:])
        discovery = min(amount, int(amount * self.unread_share)) // max(1, unread) if unread else 0
        share = (amount - discovery * unread) // everyone
        self.level += share * self.weights
        self.level[UNREAD:] += discovery * self.weights[UNREAD:]
        self.pots[PURSE] -= share * int(self.counts @ self.weights) + discovery * unread

    def extra(self, pages: Pages, share: float) -> None:
        """Pays a share of the purse to these pages in equal parts; a page that is there twice gets twice as much."""
        each = int(self.purse * share) // max(1, len(pages))
        np.add.at(self.stored.values, pages, each)
        self.pots[PURSE] -= each * len(pages)

    def set_weight(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others, from now on."""
        check_class(focus)
        self.weights[[focus, focus + UNREAD]] = focus_units(weight)

    def known_class(self, focus: int) -> None:
        """Raises BadSetting if a focus class has no weight."""
        if not (0 <= focus < FOCUS_CLASSES and self.weights[focus]):
            raise BadSetting(f"focus class {focus} has no weight yet: call set_focus first")

    def focus(self, pages: Pages, focus: int) -> None:
        """Puts pages into a focus class; their cash does not change."""
        pages = np.unique(pages)
        before = self.kinds.values[pages]
        after = (before & np.uint8(UNREAD)) | np.uint8(focus)
        self.stored.values[pages] += self.level[before] - self.level[after]
        self.kinds.values[pages] = after
        np.subtract.at(self.counts, before, 1)
        np.add.at(self.counts, after, 1)

    def rebalance(self) -> bool:
        """Settles with the bank if the pages hold far too much or too little: changes all cash in proportion. Returns
        whether it did.
        """
        with_pages = self.total - int(self.pots.sum())
        if self.total >> 8 <= with_pages <= most_held(self.total) >> 1:
            return False
        if with_pages == 0:
            self.pots[PURSE] += self.pots[BANK]
            self.pots[BANK] = 0
            return False
        held = self.held()
        changed = (held * ((with_pages + int(self.pots[BANK])) / with_pages)).astype(np.int64) - held
        self.stored.values[:] += changed
        self.pots[BANK] -= changed.sum()
        return True

    def check(self) -> None:
        """Counts all cash; raises LedgerImbalance if the sum is wrong by a single unit, or a page has negative cash."""
        held = self.held()
        counts = (
            np.bincount(self.kinds.values, minlength=KINDS)
            if self.tracked
            else np.bincount([0], minlength=KINDS) * len(held)
        )
        for what, found, expected in (
            ("sum of all cash, the virtual page's purse and the bank", int(held.sum() + self.pots.sum()), self.total),
            ("pages with a debt", int((held < 0).sum()), 0),
            ("pages of the wrong kind", int(np.abs(counts - self.counts).sum()), 0),
        ):
            if found != expected:
                raise LedgerImbalance(f"{what}: {found}, should be {expected}")
