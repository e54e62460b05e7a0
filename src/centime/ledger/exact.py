"""The exact ledger: importance on-line, always for the links known now, with a certified error.

Every page has two sums: the money it has paid (H) and the money it has received along links; `payment` has the rules.
With s the mean of H,

    x_i = (H_i + r_i) / s                                 the importance of page i; the x add up to the number of pages
    |x - x*|_1  <=  d / (1 - d) * |r|_1 / s               x*: the exact PageRank of the graph known now

where pages that were never read, or have no links, pay the virtual page. (x - x* = P(H/s - x*), where P maps a vector
of sum 0 to one at most d times as long; and H/s = x - r/s.) The reported bound adds the effects of rounding: up to one
unit per link that goes to the virtual page instead of the link, the purse, and the last bits of phi's floating point. x
and x* have the same sum, so no single page is wrong by more than half the bound.

- Reading a page (`visit`, `explore`) costs its old row and its new one; no other page is touched.
- `settle` pays debts along known rows without reading a page: importance can be exact between any two visits.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.ledger import payment
from centime.ledger.accounts import BATCH, Accounts
from centime.ledger.certificate import FLOATING
from centime.ledger.memory_rows import MemoryRows, WebRows, row_batch
from centime.ledger.payment import ALL_PAID, EMPHASIS, FILED, KIND, LINKS, PAYMENTS, READ, RECEIVED
from centime.ledger.protocol import Settlement, Watch
from centime.ledger.queue import BUCKETS, Queue, make_queue
from centime.ledger.strategy import (
    DISTINCT,
    LARGEST_BATCH,
    PageOrder,
    Strategy,
    known_pages,
    repeated,
    runs_without_repeats,
)
from centime.model.counts import whole_number
from centime.model.errors import BadSetting
from centime.model.graph import Graph
from centime.model.interrupt import uninterrupted
from centime.model.kernel import Whole
from centime.model.row_batch import Pages, RowBatch, RowStore

SWEEP_SHARE = 0.75  # a sweep pays pages that owe more than this share of the mean debt; below 1, so there is always one
# Debts stop falling when only rounding moves money: up to a unit per link, and up to E units of
# the virtual page, which shares out multiples of E.
IDLE_SWEEPS = 8  # sweeps without progress, with debts of at most ROUNDED times that, end `settle`
ROUNDED = 8
NO_LINKS = np.empty(0, dtype=np.int32)
QUEUE_ARRAYS = ("entries", "following", "chains", "state")  # the arrays of a queue without `filed`


class ExactLedger:
    """Importance of pages known by number, exact for the links known now, with a certified error; a `PageLedger`."""

    keeps_links = True

    def __init__(self, *, damping: float = 0.85, rows: RowStore | None = None, seed: int = 0, level: int = 0) -> None:
        self.rows: RowStore = MemoryRows() if rows is None else rows
        self._accounts = Accounts(damping, self.rows, level)
        self._order = PageOrder(seed)
        self._queue: Queue | None = None
        self.watch: Watch | None = None
        self._unread = 0.0  # the weight of unread pages in the queue, see payment.key_of
        self._refilled_at = 0

    @property
    def damping(self) -> float:
        """d: the share of its money that a page pays along its links."""
        return self._accounts.damping

    @property
    def pages(self) -> int:
        """The number of known pages."""
        return self._accounts.pages

    @property
    def links(self) -> int:
        """The number of known links."""
        return self._accounts.total(LINKS)

    @property
    def payments(self) -> int:
        """The number of payments so far, by reading and by settling."""
        return self._accounts.total(PAYMENTS)

    @property
    def nbytes(self) -> int:
        """Bytes of the ledger's own arrays, without the rows."""
        return sum(array.nbytes for array in self._accounts.books) + (0 if self._queue is None else self._queue.nbytes)

    def join(self, count: int = 1, *, focus: int = 0) -> int:
        """Adds `count` pages, never read so far, to a focus class; returns the number of the first."""
        room, valued = self._accounts.room, self._accounts.revaluations
        first = self._accounts.join(count, focus)
        if self._unread or self._accounts.room != room:
            self._queue = None
        if self.watch is not None and self._accounts.revaluations != valued:
            self.watch(None)
        return first

    def visit(self, page: int, targets: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> None:
        """Records that a page was read now, with these links; the page pays what it owes."""
        self.visit_many(page, row_batch(targets, weights, self.pages))

    def forget(self, page: int) -> None:
        """Records that a page is gone: it stays known, without links."""
        self.visit(page, [])

    def redirect(self, page: int, target: int) -> None:
        """Records that a page redirects to another: a row with one link."""
        self.visit(page, [target])

    def visit_many(self, pages: npt.ArrayLike, rows: RowBatch) -> None:
        """Records visits in their order: row k holds the links of `pages[k]`."""
        numbers = known_pages(pages, self.pages)
        if len(numbers) != len(rows.starts):
            raise BadSetting(f"{len(numbers)} visits need {len(numbers)} rows, not {len(rows.starts)}")
        for start, end in runs_without_repeats(numbers):
            self._read(
                numbers[start:end],
                RowBatch(rows.starts[start:end], rows.lengths[start:end], rows.targets, rows.weights),
            )

    def explore(self, web: Graph, visits: int, order: Strategy | npt.ArrayLike = "greedy") -> None:
        """Reads pages of a web with the page numbers of this ledger: `visits` visits, in this order."""
        if web.pages != self.pages:
            raise BadSetting(f"the web has {web.pages} pages, the ledger {self.pages}: join them first")
        rows = WebRows(web)
        distinct = isinstance(order, str) and order in DISTINCT
        for chosen in self._order.batches(order, visits, self.pages, self._largest_to_read):
            self._read(chosen, rows.gather(chosen), None if distinct else repeated(chosen))

    def settle(
        self,
        *,
        error: float | None = None,
        threshold: float | None = None,
        payments: int | None = None,
        seconds: float | None = None,
    ) -> Settlement:
        """Pays debts along known rows until the certified error is at most `error`, or a budget is used up.

        With `threshold`, it instead pays the pages that owe more than `threshold` times the mean importance, largest
        first. The cost depends on the payments since the last call and not on the number of pages, so this is cheap
        after every visit of a crawl. With `payments` alone, it pays the largest debts first.

        An error that rounding cannot reach ends the call when the debts stop falling: `finished` is False, and
        `least_error` says how far any call could get.
        """
        for name, value in (("error", error), ("threshold", threshold), ("payments", payments), ("seconds", seconds)):
            if value is not None and not value >= 0:
                raise BadSetting(f"{name} must be zero or more, not {value}")
        if payments is not None and not isinstance(payments, int | np.integer):
            raise BadSetting(f"payments must be a whole number, not {payments}")
        if error is not None and threshold is not None:
            raise BadSetting("settle either to an error or to a threshold, not to both")
        started = time.perf_counter()
        before = self.payments

        def left() -> int:
            """The number of payments that the budget still allows."""
            if seconds is not None and time.perf_counter() - started >= seconds:
                return 0
            return BATCH if payments is None else max(0, payments - self.payments + before)

        if threshold is not None or (error is None and payments is not None):
            finished = self._settle_largest(threshold or 0.0, left)
        else:
            finished = self._sweep(1e-9 if error is None else error, left)
        paid = self.payments - before
        return Settlement(paid, time.perf_counter() - started, self.error(), finished, self.least_error())

    def advance(self, threshold: float, payments: int) -> int:
        """Pays the largest debts above `threshold` times the mean importance, with at most `payments` payments; returns
        the number of payments. It does not depend on the time, and does not look at all pages.
        """
        before = self.payments
        self._settle_largest(threshold, lambda: max(0, payments - self.payments + before))
        return self.payments - before

    def inflow(self, pages: Pages) -> npt.NDArray[np.float32]:
        """The money that pages received along links. It orders pages of one focus class by importance."""
        received: npt.NDArray[np.int64] = self._accounts.books.money[pages, RECEIVED]
        return received.astype(np.float32)

    def class_shares(self) -> npt.NDArray[np.float64]:
        """The money that the virtual page gave to a page of each focus class. Inflow plus this share is in proportion
        to importance.
        """
        return self._accounts.books.shares.astype(np.float64)

    def unit(self) -> float:
        """The importance of one unit of inflow or of a class share."""
        return 1.0 / self._accounts.mean if self.pages else 0.0

    def use_rows(self, rows: RowStore) -> None:
        """Replaces the store of links by one that holds the same rows."""
        self.rows = self._accounts.rows = rows

    def importance(self, pages: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The importance of these pages, or of all; the mean over all pages is 1."""
        x: npt.NDArray[np.float64] = (self._accounts.paid(pages) + self._accounts.owed(pages)) / self._accounts.mean
        return x

    def owed(self, pages: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The debts of these pages, or of all, in units of the mean importance."""
        r: npt.NDArray[np.float64] = self._accounts.owed(pages) / self._accounts.mean
        return r

    def top(self, count: int = 10) -> Pages:
        """The numbers of the most important pages, in descending order of importance."""
        count = min(whole_number(count, "count"), self.pages)
        importance = self.importance()
        best = np.argpartition(-importance, count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        return best[np.lexsort((best, -importance[best]))]

    def error(self) -> float:
        """The certified error: |x - x*|_1 divided by the number of pages, for the links known now, is at most this."""
        if not self.pages:
            return 0.0
        absolute, _ = payment.debts(self._accounts.books)
        rounding = 2 * self.links + abs(self._accounts.purse)
        return (
            self.damping / (1 - self.damping) * ((int(absolute) + rounding) / self._accounts.total(ALL_PAID) + FLOATING)
        )

    def least_error(self) -> float:
        """The certified error if no page owed anything: the effect of rounding, which `settle` cannot reduce."""
        if not self.pages:
            return 0.0
        return self.damping / (1 - self.damping) * (2 * self.links / self._accounts.total(ALL_PAID) + FLOATING)

    def largest_error(self) -> float:
        """No page's importance is wrong by more than this."""
        return self.error() * self.pages / 2

    def read(self) -> npt.NDArray[np.bool_]:
        """Which pages have been read."""
        return self._accounts.books.marks[: self.pages, KIND] >= READ

    def set_focus(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others."""
        self._accounts.set_focus(focus, weight)
        self._queue = None

    def focus(self, pages: npt.ArrayLike, focus: int) -> None:
        """Puts pages into a focus class."""
        self._accounts.focus(pages, focus)
        self._queue = None

    def check(self) -> None:
        """Computes everything again from H and the rows; raises LedgerImbalance if a single unit differs."""
        self._accounts.check()

    def statistics(self) -> dict[str, int | float | str]:
        """Figures about the ledger."""
        return {
            "ledger": "exact",
            "damping": self.damping,
            "pages": self.pages,
            "read": int(self.read().sum()),
            "links": self.links,
            "payments": self.payments,
            "error": self.error(),
            "bytes": self.nbytes,
        }

    def state(self, *, with_rows: bool = True) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays that restore the same ledger; leave out the rows if their store keeps them itself."""
        books, pages = self._accounts.books, self.pages
        facts = {
            "damping": self.damping,
            "order": self._order.state(),
            "room": self._accounts.room,
            "unread": self._unread,
            "refilled_at": self._refilled_at,
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "money": books.money[:pages],
            "marks": books.marks[:pages],
            "emphasis": books.emphasis,
            "totals": books.totals,
        }
        if with_rows:
            rows = self.rows.gather(np.arange(pages, dtype=np.int64))
            arrays |= {"lengths": rows.lengths, "targets": rows.links(), "weights": rows.shares()}
        if self._queue is not None:
            arrays |= {f"queue_{name}": getattr(self._queue, name) for name in QUEUE_ARRAYS}
        return facts, arrays

    @classmethod
    def from_state(
        cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], rows: RowStore | None = None
    ) -> "ExactLedger":
        """The ledger that `state` described; it continues exactly as the original."""
        ledger = cls(damping=facts["damping"], rows=rows)
        ledger._restore(facts, arrays)
        return ledger

    def _restore(self, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._order = PageOrder.from_state(facts["order"])
        self._accounts.restore(arrays, facts["room"])
        self._unread, self._refilled_at = facts["unread"], facts["refilled_at"]
        if f"queue_{QUEUE_ARRAYS[0]}" in arrays:
            saved = (arrays[f"queue_{name}"].copy() for name in QUEUE_ARRAYS)
            self._queue = Queue(self._accounts.books.marks[: facts["room"], FILED], *saved)
        if "lengths" in arrays:
            lengths = arrays["lengths"]
            known = RowBatch(np.cumsum(lengths) - lengths, lengths, arrays["targets"], arrays["weights"])
            self.rows.replace(np.arange(len(lengths), dtype=np.int64), known)

    def _read(self, pages: Pages, rows: RowBatch, again: npt.NDArray[np.bool_] | None = None) -> None:
        changed = np.zeros(len(pages), dtype=np.bool_)
        again = np.zeros(len(pages), dtype=np.bool_) if again is None else again
        old, new = self._accounts.gather(pages), self._accounts.placed(rows)
        with uninterrupted():
            payment.read_pages(self._accounts.books, self.damping, pages, old, new, again, changed)
            # Copied before `replace`, which may overwrite the old rows.
            taken_back = old.take(changed).links() if self.watch is not None else NO_LINKS
            self.rows.replace(pages[changed], rows.take(changed))
        if self.watch is not None:
            self.watch(self._accounts.pages_among(taken_back))
        self._after_payments(new)

    def _settle(self, pages: Pages) -> None:
        rows = self._accounts.gather(pages)
        payment.settle_pages(self._accounts.books, self.damping, pages, rows)
        self._after_payments(rows)

    def _after_payments(self, rows: RowBatch) -> None:
        revalued = self._accounts.keep_value()
        if self.watch is not None:
            self.watch(None if revalued else self._accounts.pages_among(rows.links()))
        if revalued:
            self._queue = None
        if self._queue is not None:
            payment.file_paid(self._accounts.books, self._queue, self._unread, rows)

    def _sweep(self, error: float, left: Callable[[], int]) -> bool:
        self._queue = None
        chosen = np.empty(BATCH, dtype=np.int64)
        best, idle = math.inf, 0
        while (now := self.error()) > error:
            absolute, _ = payment.debts(self._accounts.books)
            best, idle = (now, 0) if now < best else (best, idle + 1)
            if idle >= IDLE_SWEEPS and absolute <= ROUNDED * (self.links + self._accounts.total(EMPHASIS)):
                return False
            threshold = int(absolute / self.pages * SWEEP_SHARE)
            cursor: Whole = 0
            paid: Whole = 0
            while cursor < self.pages:
                room = left()
                if not room:
                    return False
                count, cursor = payment.choose_above(self._accounts.books, threshold, cursor, chosen[:room])
                self._settle(chosen[:count])
                paid += count
            if not paid:
                return False
        return True

    def _settle_largest(self, threshold: float, left: Callable[[], int]) -> bool:
        least = max(1, math.ceil(threshold * self._accounts.mean))
        stale = self.payments - self._refilled_at > self.pages
        while room := min(left(), LARGEST_BATCH, max(1, self.pages // 64)):
            chosen = self._largest(room, 0.0, self.pages, least, stale=stale)
            if not len(chosen):
                return True
            stale = False
            self._settle(chosen)
        return False

    def _largest_to_read(self, count: int) -> Pages:
        unread = 2 * self.damping
        found = self._largest(count, unread, self.pages // 8, 1)
        return found if len(found) else self._largest(count, unread, self.pages // 8, 1, stale=True)

    def _largest(self, count: int, unread: float, wanted: int, least: int, *, stale: bool = False) -> Pages:
        books = self._accounts.books
        if self._queue is None or self._unread != unread or stale:
            self._queue = self._queue or make_queue(books.marks[: self._accounts.room, FILED])
            payment.refill(books, self._queue, unread, wanted, least, np.zeros(BUCKETS, dtype=np.int64))
            self._unread, self._refilled_at = unread, self.payments
        chosen = np.empty(count, dtype=np.int64)
        return chosen[: payment.choose_largest(books, self._queue, unread, chosen)]
