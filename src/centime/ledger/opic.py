"""OPIC and Adaptive OPIC: importance on-line without the link matrix, as in the papers.

Every page has cash C. A page that is read pays its cash to the pages it links to. The sum H of the cash that a page had
at its reads grows in proportion to its importance, in any order of reads, as long as every page is read again and
again. Links are not kept.

- `cash` has the rules by which cash moves, `virtual` the page that all pages pay, `clock` the time G.
- `window` says which part of the history counts; `whole_history` and `measures` keep it and compute the estimates.
  Without a window this is OPIC, which converges for a graph that does not change.
- `strategy` and `richest` choose the pages of an exploration, `newcomers` gives new pages a default history, `matrix`
  describes other link matrices.

Guaranteed: cash is conserved to the last unit (`check`), and after each step Lemma 2.3 holds up to one unit per
payment. The papers' error factor, total / |H|, bounds how much one more iteration would change X = H / |H| (by at most
twice that, in the sum over all pages). It is not a bound of the error; the exact ledger has one.

Trap: `importance` looks at all pages even if only a few are requested, because the mean over all is 1.

Over 400 lines because it is one class: every method that moves cash is here, its arithmetic in the modules above.
"""

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from centime.ledger.cash import MEAN_CASH, UNREAD, Money, most_held, read_pages
from centime.ledger.column import Column
from centime.ledger.history.clock import Clock
from centime.ledger.history.measures import MeasuredHistory
from centime.ledger.history.newcomers import Newcomers
from centime.ledger.history.whole_history import Flags, History, InterpolatedHistory, TotalHistory, Vector
from centime.ledger.history.window import Interpolation, Window, window_facts, window_from_facts
from centime.ledger.memory_rows import WebRows, row_batch
from centime.ledger.protocol import Watch
from centime.ledger.richest import RICHEST, Richest
from centime.ledger.strategy import LARGEST_BATCH, PageOrder, Strategy, check_count, known_pages
from centime.ledger.virtual import VirtualPage
from centime.model.errors import BadRow, BadSetting
from centime.model.graph import Graph
from centime.model.interrupt import uninterrupted
from centime.model.row_batch import Pages, RowBatch, RowStore

Matrix = Literal["random-walk", "all-ones"]
PAYOUTS = 64  # of the virtual page, in as many visits as there are pages
LARGEST_FLOW = 1 << 62  # the most that a batch may pay
_NOBODY: Pages = np.empty(0, dtype=np.int64)  # the largest pages for `strategy`: none, because `richest` chooses them


class OpicLedger:
    """Importance of pages known by number, estimated from the flow of cash through them; a `PageLedger`."""

    keeps_links = False

    def __init__(
        self,
        *,
        damping: float = 0.85,
        window: Window | None = None,
        matrix: Matrix = "random-walk",
        payout: float = 0.25,
        default_history: bool = True,
        count_visits: bool = False,
        seed: int = 0,
    ) -> None:
        if matrix not in get_args(Matrix):
            raise BadSetting(f"unknown matrix {matrix!r}; there are {', '.join(get_args(Matrix))}")
        self.damping = damping
        self.payout = payout
        self.visits = 0
        self.paid = 0
        self._window = window
        self._matrix: Matrix = matrix
        self._default_history = default_history
        self._virtual = VirtualPage(all_ones=matrix == "all-ones")
        self._clock = Clock()
        self._history = _open(window, None)
        self._newcomers = Newcomers([], [])
        self._order = PageOrder(seed)
        self._counts = Column(np.empty(0, dtype=np.uint32)) if count_visits else None
        self._since_payout = 0
        self.watch: Watch | None = None

    @property
    def damping(self) -> float:
        """d: the share of its cash that a page pays along its links; the virtual page gets 1 - d. It can be set at any
        time.
        """
        return self._damping

    @damping.setter
    def damping(self, damping: float) -> None:
        self._damping = _share("damping", damping)

    @property
    def payout(self) -> float:
        """The share of its purse that the virtual page pays out each time. It can be set at any time."""
        return self._payout

    @payout.setter
    def payout(self, payout: float) -> None:
        self._payout = _share("payout", payout)

    @property
    def pages(self) -> int:
        """The number of known pages."""
        return len(self._virtual.stored.values)

    @property
    def links(self) -> int | None:
        """None: links are not kept."""
        return None

    @property
    def turnovers(self) -> float:
        """G divided by the total cash: how many times the total cash was paid."""
        return self._clock.turnovers

    @property
    def purse(self) -> float:
        """The money of the virtual page, as a share of the total cash."""
        return self._virtual.purse / max(1, self._virtual.total)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; exploring by cash takes about 7 more bytes per page."""
        return sum(self._bytes().values())

    def join(self, count: int = 1, *, focus: int = 0) -> int:
        """Adds `count` pages, never read so far, to a focus class; returns the number of the first."""
        first = self.pages
        check_count(count, first)
        self._virtual.known_class(focus)
        with uninterrupted():
            if focus:
                self._virtual.track(self.unread())
            self._history.join(count, self._newcomers.importance if self._default_history else 0.0, self._clock)
            self._virtual.join(count, focus)
            if self._counts is not None:
                self._counts.extend(count, 0)
            if self._clock.elapsed:
                self._newcomers.join(first, self._clock.now)
        return first

    def visit(self, page: int, targets: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> None:
        """Records that a page was read now, with these links; the page pays its cash."""
        self.visit_many(page, row_batch(targets, weights, self.pages))

    def visit_many(self, pages: npt.ArrayLike, rows: RowBatch) -> None:
        """Records visits in their order: row k holds the links of `pages[k]`."""
        numbers = known_pages(pages, self.pages)
        if len(numbers) != len(rows.starts):
            raise BadSetting(f"{len(numbers)} visits need {len(numbers)} rows, not {len(rows.starts)}")
        self._read(numbers, rows)

    def explore(self, web: Graph, visits: int, order: Strategy | npt.ArrayLike = "greedy") -> None:
        """Reads pages of a web with the page numbers of this ledger: `visits` visits, in this order."""
        if web.pages != self.pages:
            raise BadSetting(f"the web has {web.pages} pages, the ledger {self.pages}: join them first")
        rows = WebRows(web)
        if isinstance(order, str) and order in ("greedy", "balanced"):
            self._read_richest(rows, visits, every=1 if order == "greedy" else 2)
            return
        for chosen in self._order.batches(order, visits, self.pages, _NOBODY.repeat):
            self._read(chosen, rows.gather(chosen))

    def settle(self, *, error: float, payments: int) -> None:
        """Does nothing: without links there are no debts to pay."""

    def advance(self, threshold: float, payments: int) -> int:
        """Does nothing and returns 0, the number of payments made."""
        return 0

    def use_rows(self, rows: RowStore) -> None:
        """Does nothing: links are not kept."""

    def importance(self, pages: npt.ArrayLike | None = None) -> Vector:
        """The importance of these pages, or of all; the mean over all pages is 1."""
        cash = self._virtual.held()
        for flow in (self._history.flows(cash, self._clock), cash, np.ones(self.pages)):
            if flow.sum() > 0:
                break
        x: Vector = flow / flow.mean() if self.pages else np.empty(0)
        return x if pages is None else x[known_pages(pages, self.pages)]

    def inflow(self, pages: Pages) -> npt.NDArray[np.float32]:
        """The cash that unread pages received along links. It orders unread pages of one focus class by importance."""
        return self._virtual.stored.values[pages].astype(np.float32)

    def class_shares(self) -> Vector:
        """The cash that the virtual page gave to an unread page of each focus class. Inflow plus this share is the cash
        of the page.
        """
        level = self._virtual.level[UNREAD:] if self._virtual.tracked else self._virtual.level[:UNREAD]
        return level.astype(np.float64)

    def unit(self) -> float:
        """The importance of one unit of inflow or of a class share: the cash of an unread page is the estimate of its
        importance.
        """
        return 1.0 / MEAN_CASH

    def owed(self, pages: npt.ArrayLike | None = None) -> Vector:
        """0 for each of these pages, or for all: a page that is read pays all its cash, and no debt is left."""
        return np.zeros(self.pages if pages is None else len(known_pages(pages, self.pages)))

    def error(self) -> float | None:
        """None: an estimate has no certified error. See `error_factor`."""
        return None

    def largest_error(self) -> float | None:
        """None, as `error`."""
        return None

    def cash(self, pages: npt.ArrayLike | None = None) -> Vector:
        """The cash of these pages, or of all, in units of the mean cash."""
        held = self._virtual.held() / MEAN_CASH
        return held if pages is None else held[known_pages(pages, self.pages)]

    def error_factor(self) -> float:
        """1 / |H| of Section 3.1, where the total cash is 1 and |H| is the sum over the window; not a bound of the
        error.
        """
        past = min(self.paid, self._history.sum(self._clock))  # default histories are no evidence
        return self._virtual.total / past if past else float("inf")

    def frequency(self) -> Vector:
        """How often each page was read since counting began, scaled to mean 1; with Greedy, this also estimates its
        importance.
        """
        counts = self._visit_counts()
        return counts / max(1.0, float(counts.sum())) * self.pages

    def restart_frequency(self) -> None:
        """Resets the visit counts to 0."""
        self._visit_counts()[:] = 0

    def measures_per_page(self) -> float:
        """The mean number of measures per page in the window (Figure 5)."""
        return self._history.measures(self._clock)

    def unread(self) -> Flags:
        """Which pages were never read."""
        return self._history.unread()

    def set_focus(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others, from now on."""
        self._virtual.set_weight(focus, weight)

    def focus(self, pages: npt.ArrayLike, focus: int) -> None:
        """Puts pages into a focus class."""
        numbers = known_pages(pages, self.pages)
        self._virtual.known_class(focus)
        with uninterrupted():
            self._virtual.track(self.unread())
            self._virtual.focus(numbers, focus)

    def feed_unread(self, share: float) -> None:
        """Gives unread pages this share of all future payouts of the virtual page, besides what all pages get."""
        share = _share("the share of unread pages", share)
        with uninterrupted():
            self._virtual.track(self.unread())
            self._virtual.unread_share = share

    def extra(self, pages: npt.ArrayLike, share: float) -> None:
        """Pays a share of the virtual page's purse to these pages now: for example to new links that match a rule."""
        numbers = known_pages(pages, self.pages)
        share = _share("the share of the purse", share)
        with uninterrupted():
            self._virtual.extra(numbers, share)

    def check(self) -> None:
        """Counts all cash; raises LedgerImbalance if a single unit is missing or too many."""
        self._virtual.check()

    def statistics(self) -> dict[str, int | float | str]:
        """Figures about the ledger; `paid` is in units, of which a page has `mean_cash` on average."""
        return {
            "ledger": "opic",
            "window": "none" if self._window is None else str(self._window),
            "matrix": self._matrix,
            "damping": self.damping,
            "pages": self.pages,
            "read": int((~self.unread()).sum()),
            "visits": self.visits,
            "paid": self.paid,
            "mean_cash": MEAN_CASH,
            "turnovers": self.turnovers,
            "purse": self.purse,
            "error_factor": self.error_factor(),
            "measures_per_page": self.measures_per_page(),
            "newcomers": self._newcomers.importance,
            **self._bytes(),
        }

    def state(self, *, with_rows: bool = True) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays that restore the same ledger; it has no rows, with or without `with_rows`."""
        virtual = self._virtual
        facts = {
            "settings": {
                "damping": self.damping,
                "matrix": self._matrix,
                "payout": self.payout,
                "default_history": self._default_history,
                "count_visits": self._counts is not None,
            },
            "window": window_facts(self._window),
            "order": self._order.state(),
            "clock": {"origin": self._clock.origin, "elapsed": self._clock.elapsed},
            "newcomers": self._newcomers.state(),
            "virtual": {name: getattr(virtual, name) for name in ("unread_share", "tracked")},
            "visits": self.visits,
            "paid": self.paid,
            "since_payout": self._since_payout,
        }
        arrays = {"stored": virtual.stored.values, "kinds": virtual.kinds.values}
        arrays |= {name: getattr(virtual, name) for name in ("weights", "counts", "level", "pots", "flow")}
        arrays |= {f"history_{name}": array for name, array in self._history.state().items()}
        if self._counts is not None:
            arrays["visits"] = self._counts.values
        return facts, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "OpicLedger":
        """The ledger that `state` described; it continues exactly as the original."""
        window = window_from_facts(facts["window"])
        ledger = cls(window=window, **facts["settings"])
        arrays = {name: array.copy() for name, array in arrays.items()}
        ledger._order = PageOrder.from_state(facts["order"])
        ledger._clock = Clock(**facts["clock"])
        ledger._newcomers = Newcomers(**facts["newcomers"])
        ledger._history = _open(
            window, {name.removeprefix("history_"): array for name, array in arrays.items() if name[:8] == "history_"}
        )
        for name, value in facts["virtual"].items():
            setattr(ledger._virtual, name, value)
        for name in ("weights", "counts", "level", "pots", "flow"):
            setattr(ledger._virtual, name, arrays[name])
        ledger._virtual.stored, ledger._virtual.kinds = Column(arrays["stored"]), Column(arrays["kinds"])
        if "visits" in arrays:
            ledger._counts = Column(arrays["visits"])
        ledger.visits, ledger.paid, ledger._since_payout = facts["visits"], facts["paid"], facts["since_payout"]
        return ledger

    @property
    def _period(self) -> int:
        """The number of visits between two payouts of the virtual page, and the most that are recorded at once."""
        return max(1, min(LARGEST_BATCH, self.pages // PAYOUTS, LARGEST_FLOW // max(1, most_held(self._virtual.total))))

    def _read(self, pages: Pages, rows: RowBatch) -> None:
        self._check_weights(rows)
        for start in range(0, len(pages), self._period):
            part = slice(start, start + self._period)
            some = RowBatch(rows.starts[part], rows.lengths[part], rows.targets, rows.weights)
            amounts = np.empty(len(some.starts), dtype=np.int64)
            with uninterrupted():
                read_pages(self._virtual.cash, self.damping, pages[part], some, amounts)
                self._record(pages[part], amounts)
            if self.watch is not None:
                self.watch(some.links())

    def _read_richest(self, web: WebRows, visits: int, every: int) -> None:
        """Reads the richest page at every visit (`every` = 1) or every second visit, and pages in a cycle otherwise."""
        rows = RowBatch(web.starts, web.lengths, web.targets, web.weights)
        self._check_weights(rows)
        richest = Richest(self.pages)
        step = max(1, self._period // every)
        for chosen in self._order.batches(
            "cycle", visits if visits < 0 else -(-visits // every), self.pages, _NOBODY.repeat
        ):
            for start in range(0, len(chosen), step):
                cycle = np.repeat(chosen[start : start + step], every)[:visits]
                plan, amounts = cycle.copy(), np.empty(len(cycle), dtype=np.int64)
                plan[::every] = RICHEST
                with uninterrupted():
                    done = richest.read(self._virtual.cash, self.damping, rows, plan, amounts)
                    self._record(plan[:done], amounts[:done])
                self._read(cycle[done:], web.gather(cycle[done:]))  # only if no page has cash
                visits -= len(plan)

    def _check_weights(self, rows: RowBatch) -> None:
        if self._matrix == "all-ones" and len(rows.weights):
            raise BadRow("links cannot have weights in the all-ones matrix")

    def _record(self, pages: Pages, amounts: Money) -> None:
        times = self._clock.pass_by(amounts, self._virtual.total)
        first = self._history.record(pages, amounts, times)
        if first.any():
            self._newcomers.read(pages[first], amounts[first], times[first])
        if self._counts is not None:
            np.add.at(self._counts.values, pages, 1)
        self.visits += len(pages)
        self.paid += int(amounts.sum())
        self._since_payout += len(pages)
        if self._since_payout >= self._period:
            self._since_payout = 0
            if self._virtual.rebalance() and self.watch is not None:
                self.watch(None)
            self._virtual.pay_out(int(self._virtual.purse * self.payout))

    def _visit_counts(self) -> npt.NDArray[np.uint32]:
        if self._counts is None:
            raise BadSetting("visits are not counted: make the ledger with count_visits=True")
        return self._counts.values

    def _bytes(self) -> dict[str, int]:
        virtual = self._virtual
        return {
            "bytes_cash": virtual.stored.nbytes,
            "bytes_history": self._history.nbytes,
            "bytes_focus": virtual.kinds.nbytes,
            "bytes_visits": 0 if self._counts is None else self._counts.nbytes,
        }


def _open(window: Window | None, arrays: dict[str, npt.NDArray[Any]] | None) -> History:
    """The history for a window, empty or restored from arrays."""
    if window is None:
        return TotalHistory(arrays)
    if isinstance(window, Interpolation):
        return InterpolatedHistory(window, arrays)
    return MeasuredHistory(window, arrays)


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise BadSetting(f"{name} must be between 0 and 1, not {value}")
    return float(value)
