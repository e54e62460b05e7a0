"""The interface of a ledger that a crawl needs.

`ExactLedger` keeps the links of every page; from them follow its debts and its certified error. `OpicLedger` keeps no
links, so it has neither. The crawl does not ask which class it has. A method that does not apply to a ledger does
nothing, and a figure that it does not know is None:

    keeps_links     True                          False: the crawl stores the links itself
    links           the number of links           None
    error           the certified error           None
    largest_error   half the error over all       None
    owed            what pages owe                0 for every page
    settle          pays debts                    does nothing
    advance         pays the largest debts        does nothing
    use_rows        reads and writes this store   does nothing

Pages are numbers from 0 on, in the order in which they joined. Guaranteed by every ledger: money is conserved to the
last unit (`check`), and the same calls give the same state, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from centime.model.row_batch import Pages, RowBatch, RowStore

Watch = Callable[[npt.NDArray[np.int32] | None], None]  # receives pages whose inflow changed; None: all pages


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of `settle`: payments made, time taken, the certified error now, and whether the aim was reached.

    Money is counted in whole units, so no error below `least_error` can be certified, however many debts are paid.
    """

    payments: int
    seconds: float
    error: float
    finished: bool
    least_error: float = 0.0


class PageLedger(Protocol):
    """Importance of pages known by number, kept up to date while a crawl reads them."""

    watch: Watch | None

    # ---- properties

    @property
    def keeps_links(self) -> bool:
        """Whether the ledger stores the links that `visit_many` gives it in its `RowStore`."""
        ...

    @property
    def damping(self) -> float:
        """d: the share of its money that a page pays along its links."""
        ...

    @property
    def pages(self) -> int:
        """The number of known pages."""
        ...

    @property
    def links(self) -> int | None:
        """The number of known links; None if the ledger keeps no links."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of the ledger's own arrays, without the rows."""
        ...

    # ---- changes

    def join(self, count: int = 1, *, focus: int = 0) -> int:
        """Adds `count` pages, never read so far, to a focus class; returns the number of the first."""
        ...

    def visit_many(self, pages: npt.ArrayLike, rows: RowBatch) -> None:
        """Records visits in their order: row k holds the links of `pages[k]`. Each page pays what it has."""
        ...

    def set_focus(self, focus: int, weight: float) -> None:
        """Makes the virtual page give pages of a focus class `weight` times as much as others."""
        ...

    def settle(self, *, error: float, payments: int) -> Settlement | None:
        """Pays debts until the certified error is at most `error`, with at most `payments` payments; None if the ledger
        has no debts.
        """
        ...

    def advance(self, threshold: float, payments: int) -> int:
        """Pays the largest debts above `threshold` times the mean importance, with at most `payments` payments; returns
        the number of payments, 0 if the ledger has no debts.
        """
        ...

    def use_rows(self, rows: RowStore) -> None:
        """Replaces the store of links by one that holds the same rows; does nothing if the ledger keeps no links."""
        ...

    # ---- queries

    def importance(self, pages: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The importance of these pages, or of all; the mean over all pages is 1."""
        ...

    def owed(self, pages: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The debts of these pages, or of all, in units of the mean importance; 0 if the ledger has no debts."""
        ...

    def inflow(self, pages: Pages) -> npt.NDArray[np.float32]:
        """The money that unread pages received along links. It orders the pages of one focus class by importance."""
        ...

    def class_shares(self) -> npt.NDArray[np.float64]:
        """The money that the virtual page gave to an unread page of each focus class. Inflow plus this share is in
        proportion to importance over all classes.
        """
        ...

    def unit(self) -> float:
        """The importance of one unit of inflow or of a class share."""
        ...

    def error(self) -> float | None:
        """The certified error: |x - x*|_1 over the number of pages is at most this; None if nothing is certified."""
        ...

    def largest_error(self) -> float | None:
        """No page's importance is wrong by more than this; None if nothing is certified."""
        ...

    def check(self) -> None:
        """Counts all money again; raises LedgerImbalance if a single unit differs."""
        ...

    def state(self, *, with_rows: bool = True) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays that restore the same ledger; the rows are left out if their store keeps them itself."""
        ...
