"""How cash moves in OPIC: whole units, so that nothing is ever lost to rounding.

In the paper's symbols, with damping d and what the virtual page has given so far to a page of each kind, `level`:

    C_i = stored_i + level[kind_i]                             the cash of page i
    reading i:  H_i += C_i,  G += C_i                           (see `history`)
                C_j += d C_i L[i, j]  for each link i->j        whole part; L[i, j] = 1/k for k links, or the weight of the link
                the virtual page gets the rest of C_i           its share 1-d, what rounding leaves, all of it if there is no link
                C_i = 0                                         before the links are paid: a page may link to itself

- Conservation (Lemma 2.2): sum of C + what the virtual page holds = total, to the last unit, after every step.
- Lemma 2.3, H_j + C_j = C0_j + sum of d L[i, j] H_i + level, holds after every step up to one unit for each payment made to j.
- The virtual page pays everybody by raising a level: O(1), and no order changes within a kind.

A kind is a focus class, and UNREAD more for a page never read. Kinds take a byte a page from the moment somebody needs
them.

All-ones, L[i, j] = 1. Its rows do not add up to 1, so page i pays C_i / rho a link, where rho is the dominant
eigenvalue. It is not known, but at the fixpoint it is the mean row sum weighted by the flow of cash, and that is
counted on the way: rho = S / G with S the sum of C_i k_i. What page i pays more or less than d C_i is booked with the
bank; see `matrix`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, inlined, kernel
from centime.model.row_batch import Pages, RowBatch

MEAN_CASH = 1 << 28  # what a page brings when it joins, and so the mean cash of a page for ever
UNREAD = 128
KINDS = 256
PURSE, BANK = 0, 1  # places of `pots`
PAID, ROW_SUMS = 0, 1  # places of `flow`: G and S

Money = npt.NDArray[np.int64]


class Cash(NamedTuple):
    """The arrays that kernels take. `kinds` is empty while every page is of kind 0, `flow` unless the matrix is
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
    """Takes all its cash from a page, which has now been read, and gives it back."""
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
    """Pays an amount along links that share alike; gives back what is left."""
    start, length = np.uintp(rows.starts[row]), np.uintp(rows.lengths[row])
    if length == 0:
        return amount
    each = amount // np.int64(length)
    for link in range(start, start + length):
        cash.stored[np.uintp(rows.targets[link])] += each
    return amount - each * np.int64(length)


@inlined
def pay_by_weight(cash: Cash, rows: RowBatch, row: Whole, amount: Whole) -> Whole:
    """The same for links with weights that add up to 1."""
    left = amount
    start = np.uintp(rows.starts[row])
    for link in range(start, start + np.uintp(rows.lengths[row])):
        each = min(left, np.int64(amount * rows.weights[link]))
        cash.stored[np.uintp(rows.targets[link])] += each
        left -= each
    return left


def most_held(total: int) -> int:
    """How much cash pages may hold together if a bank lends to them: as much as 64-bit sums over a batch of visits
    allow.
    """
    return max(2 * total, min(total, 1 << 40) << 10)


_most_held = inlined(most_held)


@inlined
def pay_all_ones(cash: Cash, rows: RowBatch, row: Whole, amount: Whole) -> None:
    """The same for L[i, j] = 1, at the bank's expense."""
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
    """Reads a page: takes its cash and pays it along its row; gives back how much it was."""
    amount = take_out(cash, page)
    for_links = min(amount, np.int64(amount * damping))  # a product of floats could be more
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
    """Reads pages in their order, row k being that of `pages[k]`; `amounts` comes back with their cash."""
    for k in range(len(pages)):
        amounts[k] = read_page(cash, damping, np.uintp(pages[k]), rows, k)
