"""The exact ledger of one partition of a cluster: a constant level, proxies, and money that arrives.

    rho_i = f_i + L e_i - H_i         settling sets H_i := f_i + L e_i;  L is the same constant on all partitions
    u_j   = carried_j - sent_j        of a proxy: what rows of this partition carry to page j of another one now, and
                                      what batches have sent to it so far

Without debts and money in flight, H = L (I - dW)^-1 e, which is proportional to PageRank, and V = L E follows: the
virtual page only sets the scale, so it is not shared state and nothing about it is exchanged. Every payment lowers
sum|rho| + sum|u| + |in flight| by at least (1 - d)|rho_i|, in any order and with any delays.

- A proxy is an account: a row names it by PROXY + its number. It is not a page, and has no row and no focus weight. Its
  payment is an entry of a batch: `take_unsent` sets sent := carried and returns the difference.
- A page that this partition refuses to crawl, but that others link to, joins in the class OUTSIDE with e = 0: it keeps
  the money that it is sent.
- Money is never revalued: when settled, the sum of H lies between L E and L E / (1 - d).

`error` is this partition's part of the bound, over its own money; only all reports together certify (`certificate`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.ledger import payment
from centime.ledger.accounts import Sums
from centime.ledger.certificate import FLOATING, Report
from centime.ledger.exact import ExactLedger
from centime.ledger.focus import FOCUS_CLASSES, FOCUS_UNIT
from centime.ledger.payment import ALL_PAID, ARRIVED, CLASS_MASK, FILED, KIND, PAID, RECEIVED
from centime.model.interrupt import uninterrupted
from centime.model.kernel import Whole, late_kernel
from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch, RowStore

LEVEL_BITS = 28  # of L e of a page of weight 1: a page with 1/1000 of the money of 100 G pages stays below 2^58
LEVEL = (1 << LEVEL_BITS) // FOCUS_UNIT
OUTSIDE = FOCUS_CLASSES - 1  # the class of pages that get nothing from the virtual page


class PartialLedger(ExactLedger):
    """The money of the pages of one partition; a `PageLedger`."""

    def __init__(
        self, *, damping: float = 0.85, rows: RowStore | None = None, seed: int = 0, level: int = LEVEL
    ) -> None:
        super().__init__(damping=damping, rows=rows, seed=seed, level=level)
        emphasis = np.full(FOCUS_CLASSES, FOCUS_UNIT, dtype=np.int64)
        emphasis[OUTSIDE] = 0
        self._accounts.books = self._accounts.books._replace(emphasis=emphasis, shares=np.zeros_like(emphasis))
        self._accounts.share_out()

    @property
    def proxies(self) -> int:
        """The number of proxies."""
        return self._accounts.proxies

    def join_proxies(self, count: int) -> int:
        """Adds proxies; returns the number of the first. A row names a proxy by PROXY + its number."""
        before = self._accounts.books
        first = self._accounts.join_proxies(count)
        if self._queue is not None and self._accounts.books is not before:
            self._queue = self._queue._replace(filed=self._accounts.books.marks[: self._accounts.room, FILED])
        return first

    def take_unsent(
        self, proxies: npt.NDArray[np.int32], threshold: int, most: int, begin: int = 0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        """The proxies, by their places in `proxies` from `begin` on, whose unsent money is `threshold` or more, at most
        `most` of them, and that money, which counts as sent from now on; and where to continue, or 0 at the end.
        """
        most = min(most, len(proxies) - begin)
        places, amounts = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
        with uninterrupted():
            count, after = _take_unsent(
                self._accounts.books.money, self._accounts.room, proxies, max(1, threshold), begin, places, amounts
            )
        return places[:count], amounts[:count], int(after)

    def arrive(self, pages: Pages, amounts: npt.NDArray[np.int64]) -> None:
        """Gives pages the money that other partitions have sent them; a page may be there more than once."""
        with uninterrupted():
            _arrive(self._accounts.books.money, pages, amounts)
            self._accounts.books.totals[ARRIVED] += amounts.sum()
        paid = RowBatch(
            np.zeros(1, np.int64), np.array([len(pages)], dtype=np.int64), pages.astype(np.int32), NO_WEIGHTS
        )
        self._after_payments(paid)

    def receive_sums(self, others: Sums) -> None:
        """Scales importance by the sums of all other partitions, as last received."""
        self._accounts.others = others

    def report(self, partition: int, sent: tuple[int, ...], applied: tuple[int, ...]) -> Report:
        """This partition's report for a certificate; `sent` and `applied` are the sums of its channels."""
        return Report(
            partition,
            self.damping,
            self._accounts.level,
            self._accounts.sums,
            self.links,
            self._owed_in_all(),
            self._unsent(),
            sent,
            applied,
        )

    @property
    def sums(self) -> Sums:
        """The sums over the pages of this partition."""
        return self._accounts.sums

    @property
    def arrived(self) -> int:
        """The total money that other partitions have sent."""
        return self._accounts.total(ARRIVED)

    def sent(self, proxies: npt.NDArray[np.int32]) -> int:
        """The total money that batches have sent to these proxies."""
        return int(self._accounts.proxy_money()[proxies, PAID].sum())

    def largest_unsent(self, proxies: npt.NDArray[np.int32]) -> int:
        """The most money that rows carry to one of these proxies and that is not in a batch yet."""
        money = self._accounts.proxy_money()[proxies]
        return int(np.abs(money[:, RECEIVED] - money[:, PAID]).max(initial=0))

    def importance(self, pages: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The importance of these pages, or of all; the mean over all pages of the cluster is 1."""
        accounts, total = self._accounts, self._accounts.sums.plus(self._accounts.others)
        if not total.paid:
            return np.zeros(len(accounts.paid(pages)))
        which = accounts.select(pages)
        emphasis = accounts.books.emphasis[accounts.books.marks[which, KIND] & CLASS_MASK]
        level = total.virtual / max(1, total.emphasis)
        x: npt.NDArray[np.float64] = (accounts.books.money[which, RECEIVED] + level * emphasis) / accounts.mean
        return x

    def error(self) -> float:
        """This partition's part of the bound of the error, relative to its own money."""
        if not self._accounts.total(ALL_PAID):
            return 0.0
        owed = self._owed_in_all() + 2 * self.links + (0 if self._is_divided else abs(self._accounts.purse))
        return self.damping / (1 - self.damping) * (owed / self._accounts.total(ALL_PAID) + FLOATING)

    def least_error(self) -> float:
        """The same if no page owed anything."""
        return super().least_error() if self._accounts.total(ALL_PAID) else 0.0

    def unit(self) -> float:
        """The importance of one unit of inflow or of a class share."""
        return super().unit() if self._accounts.mean else 0.0

    def state(self, *, with_rows: bool = True) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays that restore the same ledger; leave out the rows if their store keeps them itself."""
        facts, arrays = super().state(with_rows=with_rows)
        return facts | {"others": list(self._accounts.others)}, arrays | {"proxies": self._accounts.proxy_money()}

    @classmethod
    def from_state(
        cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], rows: RowStore | None = None
    ) -> "PartialLedger":
        """The ledger that `state` described; it continues exactly as the original."""
        ledger = cls(damping=facts["damping"], rows=rows)
        ledger._restore(facts, arrays)
        ledger._accounts.others = Sums(*facts["others"])
        ledger.join_proxies(len(arrays["proxies"]))
        ledger._accounts.proxy_money()[:] = arrays["proxies"]
        return ledger

    @property
    def _is_divided(self) -> bool:
        return self.proxies > 0 or self._accounts.total(ARRIVED) != 0

    def _owed_in_all(self) -> int:
        absolute, _ = payment.debts(self._accounts.books)
        return int(absolute)

    def _unsent(self) -> int:
        money = self._accounts.proxy_money()
        return int(np.abs(money[:, RECEIVED] - money[:, PAID]).sum())


@late_kernel(0.3)
def _take_unsent(
    money: npt.NDArray[np.int64],
    room: Whole,
    proxies: npt.NDArray[np.int32],
    threshold: Whole,
    begin: Whole,
    places: Pages,
    amounts: npt.NDArray[np.int64],
) -> tuple[Whole, Whole]:
    """Writes the places and amounts of proxies with enough unsent money; returns their number and the next place, 0 at
    the end.
    """
    count = 0
    for place in range(begin, len(proxies)):
        account = room + proxies[place]
        amount = money[account, RECEIVED] - money[account, PAID]
        if abs(amount) >= threshold:
            if count == len(places):
                return count, place
            money[account, PAID] = money[account, RECEIVED]
            places[count] = place
            amounts[count] = amount
            count += 1
    return count, 0


@late_kernel(0.3)
def _arrive(money: npt.NDArray[np.int64], pages: Pages, amounts: npt.NDArray[np.int64]) -> None:
    """Adds to what pages have received."""
    for k in range(len(pages)):
        money[pages[k], RECEIVED] += amounts[k]
