"""The virtual page: every page pays it a share, and it pays everybody (Sections 1 and 3.3).

    purse  += what pages pay it                                       (see `cash`)
    level_k += (part of the purse to be paid out // E) * e_k          e_k: focus weight of kind k; E: their sum over all pages

It pays out a little at a time, a part of the purse after every 1/64 of the pages' number of visits; what cannot be
shared evenly stays. Its purse is what focus and discovery are paid from, so the total cash does not change because of
them:

- focus classes: pages of a class of weight w get w times as much as others;
- `extra`: cash for pages that look interesting (a URL with "news" in it), at once;
- `unread_share`: a part of all that is paid out goes to pages never read, for more discovery.

A page that joins brings MEAN_CASH with it, but gives it to the virtual page to pay out to everybody. So the mean cash
of a page is the same for ever, the first pages start with 1/n of the total each, as in the paper, and a later one
starts with hardly more than its links pay it: it is not read before others because it is new. (Cash taken from a
constant total would leave too few units to a page in a crawl that grows from 3 pages to a million.)
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
        """The arrays, as the kernels take them."""
        return Cash(self.stored.values, self.kinds.values, self.counts, self.level, self.pots, self.flow)

    @property
    def total(self) -> int:
        """All the cash there is."""
        return len(self.stored.values) * MEAN_CASH

    @property
    def purse(self) -> int:
        """What the virtual page holds."""
        return int(self.pots[PURSE])

    def held(self) -> npt.NDArray[np.int64]:
        """The cash of every page."""
        kinds = self.kinds.values
        held: npt.NDArray[np.int64] = self.stored.values + (self.level[kinds] if len(kinds) else self.level[0])
        return held

    def join(self, count: int, focus: int) -> None:
        """Takes in new pages, never read so far."""
        kind = focus + UNREAD if self.tracked else 0
        self.stored.extend(count, -int(self.level[kind]))
        if self.tracked:
            self.kinds.extend(count, kind)
        self.counts[kind] += count
        self.pots[PURSE] += count * MEAN_CASH
        self.pay_out(count * MEAN_CASH)

    def track(self, unread: npt.NDArray[np.bool_]) -> None:
        """Gives every page a kind; nobody's cash changes."""
        if not self.tracked:
            self.tracked = True
            self.level[UNREAD] = self.level[0]
            self.kinds = Column(np.where(unread, np.uint8(UNREAD), np.uint8(0)))
            self.counts[0], self.counts[UNREAD] = len(unread) - unread.sum(), unread.sum()

    def pay_out(self, amount: int) -> None:
        """Pays about so much to everybody, in proportion to their weights."""
        everyone = max(1, int(self.counts @ self.weights))
        unread = int(self.counts[UNREAD:] @ self.weights[UNREAD:])
        discovery = min(amount, int(amount * self.unread_share)) // max(1, unread) if unread else 0
        share = (amount - discovery * unread) // everyone
        self.level += share * self.weights
        self.level[UNREAD:] += discovery * self.weights[UNREAD:]
        self.pots[PURSE] -= share * int(self.counts @ self.weights) + discovery * unread

    def extra(self, pages: Pages, share: float) -> None:
        """Gives a share of the purse to these pages, alike; a page named twice gets twice as much."""
        each = int(self.purse * share) // max(1, len(pages))
        np.add.at(self.stored.values, pages, each)
        self.pots[PURSE] -= each * len(pages)

    def set_weight(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others, from now on."""
        check_class(focus)
        self.weights[[focus, focus + UNREAD]] = focus_units(weight)

    def known_class(self, focus: int) -> None:
        """Refuses a focus class that has no weight."""
        if not (0 <= focus < FOCUS_CLASSES and self.weights[focus]):
            raise BadSetting(f"focus class {focus} has no weight yet: call set_focus first")

    def focus(self, pages: Pages, focus: int) -> None:
        """Puts pages into a focus class; their cash stays."""
        pages = np.unique(pages)
        before = self.kinds.values[pages]
        after = (before & np.uint8(UNREAD)) | np.uint8(focus)
        self.stored.values[pages] += self.level[before] - self.level[after]
        self.kinds.values[pages] = after
        np.subtract.at(self.counts, before, 1)
        np.add.at(self.counts, after, 1)

    def rebalance(self) -> bool:
        """Settles with the bank when pages hold far too much or too little, so that all cash changes in proportion;
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
        """Counts all cash; raises LedgerImbalance if a unit is missing or too many, or a page holds less than
        nothing.
        """
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
