"""The kernels of `push` that read links: one sweep of payments. Those that only read pages are in `balance.py`.

`paid` is y. A payment is one product, the amount for a link of weight 1,
r_i s_i with

    s_i = d / (k_i - d own_i)            (own_i: links of the page to itself; they are solved directly)
    s_i = d / (1 - d own_i)              (own_i: their weight, if links are weighted)

and s_i = 0 marks a page without links. y_i grows by the amount times k_i / d (or 1 / d).

The overhead of a row depends on its length, so there are three ways to pay it:

- `LOOPED`: a loop over the links.
- `SHORT`, where half of the rows have up to four links and the lengths of neighbours differ: the end of a loop, which
  no processor predicts, costs more than the links. Four links are paid without one: a link that is not there leads to
  the page itself, whose debt is overwritten afterwards.
- `HANDED_ON`, for fewer links, most of them to the page whose turn is next: a debt that is written and read again at
  once costs three times as much as the payment. The payment to the next page stays in a register.

A sweep from high pages to low ones reads rows from their ends, so that all links are read in one direction. Processors
fetch ahead what is read in one direction; with rows read forwards, such a sweep takes up to 2.3 times as long.
"""

import numpy as np

from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import Whole, bare_inlined, bare_kernel
from centime.rank.balance import times
from centime.rank.scores import Vector

BLOCK = 32
SAMPLED = 128  # blocks that are examined for the direction of links and the length of rows
LEAST_PAYMENT = 1e-280  # sums of smaller ones are not multiples of them, because of rounding
LOOPED, SHORT, HANDED_ON = 0, 1, 2
NO_START: Vector = np.empty(0)


@bare_kernel
def sample(offsets: Offsets, targets: Targets) -> tuple[float, float, float, float]:
    """About the share of links that lead to a higher page, and that of links to the page before or after; of the rows
    with links, the share with at most four, and the share with another number of them than the row before."""
    higher = np.int64(0)
    near = np.int64(0)
    seen = np.int64(0)
    rows = np.int64(0)
    short = np.int64(0)
    uneven = np.int64(0)
    before = np.int64(0)
    for block in range(0, len(offsets) - 1, BLOCK * max(1, len(offsets) // (BLOCK * SAMPLED))):
        for page in range(block, min(block + BLOCK, len(offsets) - 1)):
            length = offsets[page + 1] - offsets[page]
            if length > 0:
                rows += 1
                short += np.int64(length <= 4)
                uneven += np.int64(length != before)
                before = length
            for link in range(offsets[page], offsets[page + 1]):
                higher += np.int64(targets[link] > page)
                near += np.int64(abs(targets[link] - page) == 1)
                seen += 1
    links = np.float64(max(seen, np.int64(1)))
    seen_rows = np.float64(max(rows, np.int64(1)))
    return float(higher / links), float(near / links), float(short / seen_rows), float(uneven / seen_rows)


@bare_kernel
def mutual(offsets: Offsets, targets: Targets, wanted: Whole) -> float:
    """About the share of links whose target links back, from `wanted` pages."""
    back = np.int64(0)
    seen = np.int64(0)
    pages = len(offsets) - 1
    for page in range(0, pages, max(1, pages // wanted)):
        for link in range(offsets[page], offsets[page + 1]):
            target = targets[link]
            seen += 1
            for other in range(offsets[target], offsets[target + 1]):
                if targets[other] == page:
                    back += 1
                    break
    return float(back / max(seen, np.int64(1)))


@bare_kernel
def begin(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    damping: float,
    base: float,
    emphasis: Vector,
    values: Vector,
    share: Vector,
    paid: Vector,
    debt: Vector,
    rows: Whole,
    step: Whole,
    first: Whole,
    end: Whole,
) -> tuple[Whole, float]:
    """Computes s, y and r for b = `base`: after one sweep from y = 0 if `values` is empty, otherwise for y = `values`.

    `debt` must be 0 before. Returns the number of pages with links, and about the sum of their y.
    """
    linked = np.int64(0)
    total = 0.0
    given = len(values) > 0
    handed = 0.0
    for turn in range(np.uintp(end - first)):
        page = np.uintp(first) + turn if step > 0 else np.uintp(end - 1) - turn
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + np.uintp(1)])
        owes = debt[page] + times(base, emphasis, page) + handed
        handed = 0.0
        if start == stop:
            share[page] = 0.0
            paid[page] = 0.0
            debt[page] = owes
            continue
        itself = np.int32(page)
        if len(weights) > 0:
            own = 0.0
            for link in range(start, stop):
                own += weights[link] * (targets[link] == itself)
            share[page] = damping / (1.0 - damping * own)
            amount = damping * values[page] if given else owes * share[page]
            for link in range(start, stop):
                debt[np.uintp(targets[link])] += amount * weights[link]
            solved = amount / damping
        else:
            # First as if the page had no links to itself, then the rest if it has.
            parts = np.float64(stop - start)
            part = damping / parts
            amount = part * (values[page] if given else owes)
            loops: Whole = np.int64(0)
            if given or not amount > LEAST_PAYMENT:
                for link in range(start, stop):
                    debt[np.uintp(targets[link])] += amount
                    loops += np.int64(targets[link] == itself)
            elif rows == HANDED_ON:
                following = itself + np.int32(step)
                for link in range(start, stop):
                    if targets[link] == following:
                        handed += amount
                    elif targets[link] == itself:
                        loops += 1
                    else:
                        debt[np.uintp(targets[link])] += amount
            else:
                if rows == SHORT:
                    loops = pay_first(offsets, targets, debt, amount, page)
                    start = min(start + np.uintp(4), stop)
                debt[page] = 0.0
                if step > 0:
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += amount
                else:
                    for link in range(np.uintp(1), stop - start + np.uintp(1)):
                        debt[np.uintp(targets[stop - link])] += amount
                if debt[page] != 0.0:  # links to itself are not searched: that costs as much as the payments
                    loops += np.int64(debt[page] / amount + 0.5)
            solved = owes
            if loops > 0:
                part = damping / (parts - damping * loops)
                if not given:
                    rest = owes * part - amount
                    solved = owes * part * parts / damping
                    for link in range(np.uintp(offsets[page]), stop):
                        debt[np.uintp(targets[link])] += rest
            share[page] = part
        linked += 1
        if given:
            solved = values[page]
            debt[page] += times(base, emphasis, page) - solved
        else:
            debt[page] = 0.0
        paid[page] = solved
        total += solved
    if handed != 0.0:
        debt[end if step > 0 else first - 1] += handed
    return linked, total


@bare_inlined
def owed_in(debt: Vector, first: Whole, end: Whole) -> float:
    """The sum of |r| over the pages of a block, including the money that those without links have received in this
    sweep."""
    owed = 0.0
    for page in range(first, end):
        owed += abs(debt[page])
    return owed


@bare_inlined
def pay_first(offsets: Offsets, targets: Targets, debt: Vector, amount: float, page: Whole) -> Whole:
    """Pays a page's first four links, or as many as there are, without a loop; spoils the debt of the page itself.
    Returns how many of them lead to itself.
    """
    last = np.int64(len(targets) - 1)
    start = offsets[page]
    stop = offsets[page + np.uintp(1)]
    itself = np.int32(page)
    one = targets[np.uintp(min(start, last))] - itself
    two = targets[np.uintp(min(start + 1, last))] - itself
    three = targets[np.uintp(min(start + 2, last))] - itself
    four = targets[np.uintp(min(start + 3, last))] - itself
    one *= np.int32(start < stop)
    two *= np.int32(start + 1 < stop)
    three *= np.int32(start + 2 < stop)
    four *= np.int32(start + 3 < stop)
    debt[np.uintp(itself + one)] += amount
    debt[np.uintp(itself + two)] += amount
    debt[np.uintp(itself + three)] += amount
    debt[np.uintp(itself + four)] += amount
    away = np.int64(one != 0) + np.int64(two != 0) + np.int64(three != 0) + np.int64(four != 0)
    return np.int64(min(stop - start, np.int64(4)) - away)


@bare_kernel
def pay_debts(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    paid: Vector,
    debt: Vector,
    inverse: float,
    kept: float,
    threshold: float,
    rows: Whole,
    step: Whole,
    first: Whole,
    end: Whole,
) -> tuple[Whole, float]:
    """One sweep, of `SHORT` rows always in the order of pages; returns the links used, and the sum added to y.

    `inverse` is 1/d, and `kept` the share of its debt that a page still owes after it has paid.
    """
    pushed = np.int64(0)
    added = 0.0
    length = min(BLOCK, end - first) if threshold > 0.0 else end - first
    for done in range(0, end - first, max(length, 1)):
        size = min(length, end - first - done)
        block = first + done if step > 0 else end - done - size
        if threshold > 0.0 and owed_in(debt, block, block + size) <= threshold * size:
            continue
        pushed += offsets[block + size] - offsets[block]
        if len(weights) > 0:
            for turn in range(size):
                one = np.uintp(block + turn if step > 0 else block + size - 1 - turn)
                owes = debt[one]
                amount = owes * share[one]
                if amount != 0.0:
                    solved = amount * inverse
                    paid[one] += solved
                    added += solved
                    for link in range(np.uintp(offsets[one]), np.uintp(offsets[one + np.uintp(1)])):
                        debt[np.uintp(targets[link])] += amount * weights[link]
                    debt[one] = owes * kept
        elif rows == SHORT:
            start = np.uintp(offsets[block])
            for page in range(np.uintp(block), np.uintp(block + size)):
                stop = np.uintp(offsets[page + np.uintp(1)])
                owes = debt[page]
                amount = owes * share[page]
                solved = amount * (np.float64(stop - start) * inverse)
                paid[page] += solved
                added += solved
                pay_first(offsets, targets, debt, amount, page)
                for link in range(start + np.uintp(4), stop):
                    debt[np.uintp(targets[link])] += amount
                debt[page] = owes * (1.0 - (1.0 - kept) * np.float64(start < stop))
                start = stop
        elif rows == HANDED_ON:
            handed = 0.0
            for turn in range(size):
                one = np.uintp(block + turn if step > 0 else block + size - 1 - turn)
                following = np.int32(one) + np.int32(step)
                start = np.uintp(offsets[one])
                stop = np.uintp(offsets[one + np.uintp(1)])
                owes = debt[one] + handed
                handed = 0.0
                if start < stop:
                    amount = owes * share[one]
                    solved = amount * (np.float64(stop - start) * inverse)
                    paid[one] += solved
                    added += solved
                    debt[one] = 0.0
                    for link in range(start, stop):
                        if targets[link] == following:
                            handed += amount
                        else:
                            debt[np.uintp(targets[link])] += amount
                    debt[one] = owes * kept
                else:
                    debt[one] = owes
            if handed != 0.0:
                debt[block + size if step > 0 else block - 1] += handed
        elif step > 0:
            start = np.uintp(offsets[block])
            for page in range(np.uintp(block), np.uintp(block + size)):
                stop = np.uintp(offsets[page + np.uintp(1)])
                if start < stop:
                    owes = debt[page]
                    amount = owes * share[page]
                    solved = amount * (np.float64(stop - start) * inverse)
                    paid[page] += solved
                    added += solved
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += amount
                    debt[page] = owes * kept
                start = stop
        else:
            stop = np.uintp(offsets[block + size])
            for turn in range(np.uintp(size)):
                one = np.uintp(block + size - 1) - turn
                start = np.uintp(offsets[one])
                if start < stop:
                    owes = debt[one]
                    amount = owes * share[one]
                    solved = amount * (np.float64(stop - start) * inverse)
                    paid[one] += solved
                    added += solved
                    for link in range(np.uintp(1), stop - start + np.uintp(1)):
                        debt[np.uintp(targets[stop - link])] += amount
                    debt[one] = owes * kept
                stop = start
    return pushed, added
