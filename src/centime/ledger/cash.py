"""How cash moves in OPIC: in whole units, so that nothing is lost to rounding.

In the paper's symbols, with damping d, and `level` for the money that the virtual page has given so far to a page of
each kind:

    C_i = stored_i + level[kind_i]                           the cash of page i
    reading i:  H_i += C_i,  G += C_i                        (see `whole_history` and `measures`)
                C_j += d C_i L[i, j]  for each link i->j     whole part; L[i, j] = 1/k for k links, or the link's weight
                the virtual page gets the rest of C_i        its share 1-d and the rounding, or all if there is no link
                C_i = 0                                      before the links are paid: a page may link to itself

- Conservation (Lemma 2.2): the sum of C plus the money of the virtual page = total, to the last unit, after every step.
- Lemma 2.3, H_j + C_j = C0_j + sum of d L[i, j] H_i + level, holds after every step up to one unit for each payment
  to j.
- The virtual page pays all pages of a kind by raising a level: O(1), and their order does not change.

A kind is a focus class, plus UNREAD for a page never read. Kinds take one byte per page, from the moment they are
needed.

All-ones, L[i, j] = 1. Its rows do not add up to 1, so page i pays C_i / rho per link, where rho is the dominant
eigenvalue. It is unknown, but at the fixpoint it is the mean row sum weighted by the flow of cash, which is counted on
the way: rho = S / G, where S is the sum of C_i k_i. The bank books the difference between this payment and d C_i; see
`matrix`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, inlined, kernel
from centime.model.row_batch import Pages, RowBatch

MEAN_CASH = 1 << 28  # each page brings this much when it joins, so it is always the mean cash of a page
UNREAD = 128
KINDS = 256
PURSE, BANK = 0, 1  # places of `pots`
PAID, ROW_SUMS = 0, 1  # places of `flow`: G and S

Money = npt.NDArray[np.int64]


class Cash(NamedTuple):
    """The arrays for kernels. `kinds` is empty while every page has kind 0; `flow` is empty unless the matrix is
    all-ones.
    """

    stored: Money
    kinds: npt.NDArray[np.uint8]
    counts: Money
    level: Money
    pots: Money
    flow: npt.NDArray[np.float64]


@inlined
def held(cash: Cash, page: Whole) -> Whole:
    """The cash of a page."""
    amount: Whole = cash.stored[page] + (cash.level[cash.kinds[page]] if len(cash.kinds) > 0 else cash.level[0])
    return amount


@inlined
def take_out(cash: Cash, page: Whole) -> Whole:
    """Takes all cash from a page, marks it as read, and returns the cash."""
    amount = held(cash, page)
    kind = np.int64(0)
    if len(cash.kinds) > 0:
        kind = np.int64(cash.kinds[page])
        if kind >= UNREAD:
            cash.counts[kind] -= 1
            kind -= UNREAD
            cash.counts[kind] += 1
            cash.kinds[page] = kind
    cash.stored[page] = -cash.level[kind]
    return amount


@inlined
def pay_alike(cash: Cash, rows: RowBatch, row: Whole, amount: Whole) -> Whole:
    """Pays an amount in equal shares along the links of a row; returns the rest."""
    start, length = np.uintp(rows.starts[row]), np.uintp(rows.lengths[row])
    if length == 0:
        return amount
    each = amount // np.int64(length)
    for link in range(start, start + length):
        cash.stored[np.uintp(rows.targets[link])] += each
    return amount - each * np.int64(length)


@inlined
def pay_by_weight(cash: Cash, rows: RowBatch, row: Whole, amount: Whole) -> Whole:
    """The same for a row with weights, which add up to 1."""
    left = amount
    start = np.uintp(rows.starts[row])
    for link in range(start, start + np.uintp(rows.lengths[row])):
        each = min(left, np.int64(amount * rows.weights[link]))
        cash.stored[np.uintp(rows.targets[link])] += each
        left -= each
    return left


def most_held(total: int) -> int:
    """The most cash that all pages may hold with loans of the bank: 64-bit sums over a batch must not overflow."""
    return max(2 * total, min(total, 1 << 40) << 10)


_most_held = inlined(most_held)


@inlined
def pay_all_ones(cash: Cash, rows: RowBatch, row: Whole, amount: Whole) -> None:
    """The same for L[i, j] = 1; the bank pays the difference."""
    cash.pots[BANK] += amount
    length = rows.lengths[row]
    cash.flow[PAID] += amount
    cash.flow[ROW_SUMS] += np.float64(amount) * length
    if length > 0 and amount > 0:
        total = len(cash.stored) * MEAN_CASH
        room = _most_held(total) - (total - cash.pots[PURSE] - cash.pots[BANK])
        each = min(np.int64(amount * (cash.flow[PAID] / cash.flow[ROW_SUMS])), room // length)
        start = np.uintp(rows.starts[row])
        for link in range(start, start + np.uintp(length)):
            cash.stored[np.uintp(rows.targets[link])] += each
        cash.pots[BANK] -= each * length


@inlined
def read_page(cash: Cash, damping: float, page: Whole, rows: RowBatch, row: Whole) -> Whole:
    """Reads a page: takes its cash and pays it along its row; returns the amount."""
    amount = take_out(cash, page)
    for_links = min(amount, np.int64(amount * damping))  # the product of floats could be larger
    cash.pots[PURSE] += amount - for_links
    if len(cash.flow) > 0:
        pay_all_ones(cash, rows, row, for_links)
    elif len(rows.weights) > 0:
        cash.pots[PURSE] += pay_by_weight(cash, rows, row, for_links)
    else:
        cash.pots[PURSE] += pay_alike(cash, rows, row, for_links)
    return amount


@kernel
def read_pages(cash: Cash, damping: float, pages: Pages, rows: RowBatch, amounts: Money) -> None:
    """Reads pages in their order, where row k belongs to `pages[k]`; writes their cash to `amounts`."""
    for k in range(len(pages)):
        amounts[k] = read_page(cash, damping, np.uintp(pages[k]), rows, k)
