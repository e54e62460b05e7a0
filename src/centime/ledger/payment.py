"""How money moves in the exact ledger: in whole units, so that nothing is lost to rounding.

In the symbols of the design: H_i is what page i has `paid` so far, f_i what it has `received` along links, V what has
gone to the virtual page, e_i the page's focus weight, E the sum of all e, d the damping, w_ij the share of link i->j in
the row of i:

    f_j = sum over known links i->j of phi(H_i, w_ij)        phi(H, w) = whole part of d * w * H      (definition)
    V   = sum of H - sum of f                                 what did not go along links
    r_i = f_i + L e_i - H_i                                   what page i owes (signed)

L is the level: the money that the virtual page has given per unit of focus weight. In the ledger of a whole crawl it
floats, L = V // E; in that of one partition of a cluster it is a constant (`partial`).

- Conservation: sum of r = L E - V, the negative of what is left in the virtual page's purse. All are integers, so this
  always holds, to the last unit.
- Settling i sets H_i to f_i + L e_i and sends phi(new H_i) - phi(old H_i) along each link. Differences of phi
  telescope: f depends only on H and the rows, not on the way they were reached. In any order of reads, and however
  often pages are read, the definition holds bit for bit; `receipts` computes it from scratch and is the verifier.
- A changed row takes phi(H_i) back along the old links and sends it along the new ones, by the same kernel.
- phi multiplies in 64-bit floating point: it is deterministic and monotone in H, and d < 1 keeps a row from paying more
  than H.

Trap: only the keys of pages that were paid are filed again. The payments of the virtual page move every key a little;
see `queue`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.ledger.queue import (
    FLOOR,
    TOP,
    Queue,
    bucket_of,
    clear,
    file_page,
    file_surely,
    floor_for,
    take_page,
)
from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.row_batch import Pages, RowBatch

PAID, RECEIVED = 0, 1  # columns of `money`
KIND, FILED = 0, 1  # columns of `marks`
CLASS_MASK, READ = 127, 128  # a kind is a focus class plus the flag READ
# places of `totals`; LEVEL: 0 if it floats, ARRIVED: what other partitions have sent
ALL_PAID, VIRTUAL, EMPHASIS, LINKS, PAYMENTS, PAGES, LEVEL, ARRIVED = 0, 1, 2, 3, 4, 5, 6, 7
TOTALS = 8

Money = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]


class Books(NamedTuple):
    """The arrays of one exact ledger, for kernels: 18 bytes per page."""

    money: npt.NDArray[np.int64]
    marks: npt.NDArray[np.uint8]
    emphasis: npt.NDArray[np.int64]
    shares: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]


@bare_inlined
def refresh_shares(books: Books) -> None:
    """Computes the money that the virtual page has given to a page of each focus class so far, unless that is a
    constant."""
    if books.totals[LEVEL] > 0:
        return
    level = books.totals[VIRTUAL] // max(1, books.totals[EMPHASIS])
    for number in range(len(books.shares)):
        books.shares[number] = level * books.emphasis[number]


@bare_inlined
def key_of(books: Books, page: Whole, unread: float) -> Whole:
    """The money that a payment of the page would move: |r|; for an unread page, `unread` times its received money."""
    kind = books.marks[page, KIND]
    got = books.money[page, RECEIVED] + books.shares[kind & CLASS_MASK]
    if kind < READ and unread > 0:
        return np.int64(got * unread)
    return np.int64(abs(got - books.money[page, PAID]))


@bare_inlined
def send_alike(money: Money, damping: float, rows: RowBatch, row: Whole, before: Whole, after: Whole) -> Whole:
    """`send` for a row with equal shares."""
    start = np.uintp(rows.starts[row])
    length = np.uintp(rows.lengths[row])
    if length == 0:
        return np.int64(0)
    factor = damping * (1.0 / length)
    amount = np.int64(after * factor) - np.int64(before * factor)
    for link in range(start, start + length):
        money[np.uintp(rows.targets[link]), RECEIVED] += amount
    return amount * np.int64(length)


@bare_inlined
def send_by_weight(money: Money, damping: float, rows: RowBatch, row: Whole, before: Whole, after: Whole) -> Whole:
    """`send` for a row with weights."""
    start = np.uintp(rows.starts[row])
    sent = np.int64(0)
    for link in range(start, start + np.uintp(rows.lengths[row])):
        factor = damping * rows.weights[link]
        amount = np.int64(after * factor) - np.int64(before * factor)
        money[np.uintp(rows.targets[link]), RECEIVED] += amount
        sent += amount
    return sent


@bare_inlined
def send(money: Money, damping: float, rows: RowBatch, row: Whole, before: Whole, after: Whole) -> Whole:
    """Changes the payments along a row from phi(before) to phi(after); returns the sum of the differences."""
    if len(rows.weights) > 0:
        return send_by_weight(money, damping, rows, row, before, after)
    return send_alike(money, damping, rows, row, before, after)


@bare_inlined
def own_share(rows: RowBatch, row: Whole, page: Whole) -> float:
    """The share of a row that links back to its own page."""
    start = np.uintp(rows.starts[row])
    end = start + np.uintp(rows.lengths[row])
    count = 0
    for link in range(start, end):
        count += rows.targets[link] == page
    if count == 0 or len(rows.weights) == 0:
        return np.float64(count / max(1, rows.lengths[row]))
    share = np.float64(0.0)
    for link in range(start, end):
        if rows.targets[link] == page:
            share += rows.weights[link]
    return share


@bare_inlined
def due(books: Books, damping: float, rows: RowBatch, row: Whole, page: Whole) -> Whole:
    """H of the page once it owes nothing: what it pays to itself comes back, and is paid again at once."""
    before = books.money[page, PAID]
    owed = books.money[page, RECEIVED] + books.shares[books.marks[page, KIND] & CLASS_MASK] - before
    back = damping * own_share(rows, row, page)
    if back > 0.0:
        owed = np.int64(owed / (1.0 - back))
    return np.int64(max(np.int64(0), before + owed))


@bare_inlined
def same_row(old: RowBatch, new: RowBatch, row: Whole) -> bool:
    """Whether a page's row is unchanged."""
    if old.lengths[row] != new.lengths[row]:
        return False
    for link in range(new.lengths[row]):
        if old.targets[old.starts[row] + link] != new.targets[new.starts[row] + link]:
            return False
        if len(old.weights) > 0 or len(new.weights) > 0:
            one = old.weights[old.starts[row] + link] if len(old.weights) > 0 else 1.0 / old.lengths[row]
            other = new.weights[new.starts[row] + link] if len(new.weights) > 0 else 1.0 / new.lengths[row]
            if one != other:
                return False
    return True


@late_kernel(0.5)
def settle_pages(books: Books, damping: float, pages: Pages, rows: RowBatch) -> None:
    """Pays the debts of these pages along their known rows."""
    for k in range(len(pages)):
        page = pages[k]
        before = books.money[page, PAID]
        after = due(books, damping, rows, k, page)
        books.money[page, PAID] = after
        sent = send(books.money, damping, rows, k, before, after)
        books.totals[ALL_PAID] += after - before
        books.totals[VIRTUAL] += after - before - sent
        refresh_shares(books)
    books.totals[PAYMENTS] += len(pages)


@late_kernel(1.0)
def read_pages(
    books: Books,
    damping: float,
    pages: Pages,
    old: RowBatch,
    new: RowBatch,
    repeated: npt.NDArray[np.bool_],
    changed: npt.NDArray[np.bool_],
) -> None:
    """Reads pages: each takes back the payments of its old row, then pays everything along its new row.

    `repeated[k]` says that `pages` has the same page, with the same row, before k. The kernel sets `changed` for the
    rows that must be stored.
    """
    nothing = np.int64(0)
    for k in range(len(pages)):
        page = pages[k]
        before = books.money[page, PAID]
        after = books.money[page, RECEIVED] + books.shares[books.marks[page, KIND] & CLASS_MASK]
        books.money[page, PAID] = after
        books.marks[page, KIND] |= READ
        changed[k] = not (repeated[k] or same_row(old, new, k))
        if changed[k]:
            sent = send(books.money, damping, old, k, before, nothing) + send(
                books.money, damping, new, k, nothing, after
            )
            books.totals[LINKS] += new.lengths[k] - old.lengths[k]
        else:
            sent = send(books.money, damping, new, k, before, after)
        books.totals[ALL_PAID] += after - before
        books.totals[VIRTUAL] += after - before - sent
        refresh_shares(books)
    books.totals[PAYMENTS] += len(pages)


@late_kernel(0.5)
def file_paid(books: Books, queue: Queue, unread: float, rows: RowBatch) -> None:
    """Files the pages that these rows paid again, if they belong into a higher bucket. This happens after the payments,
    see docs/decisions/largest-first-in-buckets.md.
    """
    floor = queue.state[FLOOR]
    for k in range(len(rows.starts)):
        start = np.uintp(rows.starts[k])
        for link in range(start, start + np.uintp(rows.lengths[k])):
            page = np.int64(rows.targets[link])
            bucket = bucket_of(key_of(books, page, unread))
            if bucket > books.marks[page, FILED] and bucket >= floor:
                file_surely(queue, page, bucket)


@late_kernel(0.5)
def choose_largest(books: Books, queue: Queue, unread: float, chosen: Pages) -> Whole:
    """Takes the pages with the largest keys into `chosen`; returns their number."""
    count = 0
    while count < len(chosen):
        page = take_page(queue)
        if page < 0:
            break
        filed = queue.state[TOP]
        bucket = bucket_of(key_of(books, page, unread))
        if bucket >= filed:
            chosen[count] = page
            count += 1
        elif bucket >= queue.state[FLOOR]:
            file_surely(queue, page, bucket)
    return count


@late_kernel(0.5)
def refill(books: Books, queue: Queue, unread: float, wanted: Whole, least: Whole, counts: Pages) -> None:
    """Files all pages again, at least `wanted` of them if that many have a key of about `least` or more. `counts` has a
    zero for each bucket.
    """
    clear(queue)
    pages = books.totals[PAGES]
    for page in range(pages):
        counts[bucket_of(key_of(books, page, unread))] += 1
    floor = max(bucket_of(least), floor_for(counts, wanted))
    queue.state[FLOOR] = floor
    for page in range(pages):
        bucket = bucket_of(key_of(books, page, unread))
        queue.filed[page] = 0
        if bucket >= floor:
            file_page(queue, page, bucket)


@late_kernel(0.5)
def choose_above(books: Books, threshold: Whole, cursor: Whole, chosen: Pages) -> tuple[Whole, Whole]:
    """Takes pages that owe more than the threshold, from page `cursor` on; returns their number and the next cursor."""
    count = 0
    page = cursor
    while page < books.totals[PAGES] and count < len(chosen):
        if key_of(books, page, 0.0) > threshold:
            chosen[count] = page
            count += 1
        page += 1
    return count, page


@late_kernel(0.5)
def debts(books: Books) -> tuple[Whole, Whole]:
    """The sum of all |r|, and the sum of all r."""
    absolute = np.int64(0)
    signed = np.int64(0)
    for page in range(books.totals[PAGES]):
        owed = (
            books.money[page, RECEIVED] + books.shares[books.marks[page, KIND] & CLASS_MASK] - books.money[page, PAID]
        )
        absolute += abs(owed)
        signed += owed
    return absolute, signed


@late_kernel(0.5)
def receipts(books: Books, damping: float, pages: Pages, rows: RowBatch, received: npt.NDArray[np.int64]) -> None:
    """Adds the payments along the rows of these pages to `received`, by the definition."""
    weighted = len(rows.weights) > 0
    for k in range(len(pages)):
        factor = damping * (1.0 / max(1, rows.lengths[k]))
        for link in range(rows.starts[k], rows.starts[k] + rows.lengths[k]):
            if weighted:
                factor = damping * rows.weights[link]
            received[rows.targets[link]] += np.int64(books.money[pages[k], PAID] * factor)
