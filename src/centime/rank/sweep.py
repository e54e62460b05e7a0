"""The kernels of `push`: one sweep of payments, and the passes over pages between sweeps.

`paid` holds what a page has paid along each link of weight 1, z_i = d y_i / k_i for a page with k_i equal links and
z_i = d y_i for one with weights. So a payment is one product, the amount for a link, r_i s_i with

    s_i = d / (k_i - d own_i)            (own_i: links of the page to itself; they are solved directly)
    s_i = d / (1 - d own_i)              (own_i: their weight, if links are weighted)

and s_i = 0 marks a page without links. Passes over pages add up in four sums at once, which compilers turn into vector
instructions: additions in a row would wait for each other.

A row of two to four links costs more for its loop, whose end no processor predicts, than for its links. `short` rows
are paid without a loop: a link that is not there leads to the page itself, whose debt is overwritten afterwards.
"""

import numpy as np

from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import Whole, bare_inlined, bare_kernel
from centime.rank.scores import Vector

BLOCK = 32
SAMPLED = 512  # blocks that are looked at for the direction of links
NO_EMPHASIS: Vector = np.empty(0)
NO_START: Vector = np.empty(0)


@bare_kernel
def rising(offsets: Offsets, targets: Targets) -> float:
    """About the share of links that lead to a higher page."""
    higher = np.int64(0)
    seen = np.int64(0)
    for block in range(0, len(offsets) - 1, BLOCK * max(1, len(offsets) // (BLOCK * SAMPLED))):
        for page in range(block, min(block + BLOCK, len(offsets) - 1)):
            for link in range(offsets[page], offsets[page + 1]):
                higher += np.int64(targets[link] > page)
                seen += 1
    return float(higher / max(seen, np.int64(1)))


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


@bare_inlined
def times(factor: float, emphasis: Vector, page: Whole) -> float:
    """A multiple of e_i; without a personalisation all e_i are 1."""
    return factor * emphasis[page] if len(emphasis) > 0 else factor


@bare_kernel
def begin(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    damping: float,
    values: Vector,
    share: Vector,
    paid: Vector,
    debt: Vector,
    step: Whole,
    first: Whole,
    end: Whole,
) -> tuple[Whole, float]:
    """Computes s, and z and r: after one sweep from y = 0 if `values` is empty, otherwise for y = `values`.

    `debt` must be b e before. Returns the number of pages with links, and about the sum of their y.
    """
    linked = np.int64(0)
    total = 0.0
    given = len(values) > 0
    for turn in range(np.uintp(end - first)):
        page = np.uintp(first) + turn if step > 0 else np.uintp(end - 1) - turn
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + np.uintp(1)])
        if start == stop:
            share[page] = 0.0
            paid[page] = 0.0
            continue
        itself = np.int32(page)
        owes = debt[page]
        if len(weights) > 0:
            own = 0.0
            for link in range(start, stop):
                own += weights[link] * (targets[link] == itself)
            share[page] = damping / (1.0 - damping * own)
            amount = damping * values[page] if given else owes * share[page]
            for link in range(start, stop):
                debt[np.uintp(targets[link])] += amount * weights[link]
        else:
            # As if the page had no links to itself, and the rest if it has.
            parts = np.float64(stop - start)
            share[page] = damping / parts
            amount = share[page] * (values[page] if given else owes)
            loops = np.int64(0)
            for link in range(start, stop):
                debt[np.uintp(targets[link])] += amount
                loops += np.int64(targets[link] == itself)
            if loops > 0:
                share[page] = damping / (parts - damping * loops)
                if not given:
                    rest = owes * share[page] - amount
                    amount = owes * share[page]
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += rest
        paid[page] = amount
        linked += 1
        if given:
            debt[page] -= values[page]
            total += values[page]
        else:
            debt[page] = 0.0
            total += owes
    return linked, total


@bare_inlined
def owed_in(share: Vector, debt: Vector, first: Whole, end: Whole) -> float:
    """The sum of |r| over the pages of a block that have links."""
    owed = 0.0
    for page in range(first, end):
        owed += abs(debt[page]) * (share[page] > 0.0)
    return owed


@bare_inlined
def pay_short(
    offsets: Offsets, targets: Targets, share: Vector, paid: Vector, debt: Vector, kept: float, page: Whole
) -> float:
    """One page pays, without a loop over its first four links; returns what it owed."""
    last = np.int64(len(targets) - 1)
    start = offsets[page]
    stop = offsets[page + np.uintp(1)]
    owes = debt[page]
    amount = owes * share[page]
    paid[page] += amount
    itself = np.int32(page)
    one = targets[np.uintp(min(start, last))] - itself
    two = targets[np.uintp(min(start + 1, last))] - itself
    three = targets[np.uintp(min(start + 2, last))] - itself
    four = targets[np.uintp(min(start + 3, last))] - itself
    debt[np.uintp(itself + one * np.int32(start < stop))] += amount
    debt[np.uintp(itself + two * np.int32(start + 1 < stop))] += amount
    debt[np.uintp(itself + three * np.int32(start + 2 < stop))] += amount
    debt[np.uintp(itself + four * np.int32(start + 3 < stop))] += amount
    for link in range(np.uintp(start + 4), np.uintp(stop)):
        debt[np.uintp(targets[link])] += amount
    linked = np.float64(start < stop)
    debt[page] = owes * (1.0 - (1.0 - kept) * linked)
    return float(owes * linked)


@bare_kernel
def pay_debts(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    paid: Vector,
    debt: Vector,
    kept: float,
    threshold: float,
    short: bool,
    step: Whole,
    first: Whole,
    end: Whole,
) -> tuple[Whole, float]:
    """One sweep, with `short` always in the order of pages; returns the links used, and about what was added to y.

    `kept` is what a page still owes of its debt after it has paid.
    """
    pushed = np.int64(0)
    added = 0.0
    length = min(BLOCK, end - first) if threshold > 0.0 else end - first
    for done in range(0, end - first, max(length, 1)):
        size = min(length, end - first - done)
        block = first + done if step > 0 else end - done - size
        if threshold > 0.0 and owed_in(share, debt, block, block + size) <= threshold * size:
            continue
        pushed += offsets[block + size] - offsets[block]
        if short:
            for page in range(np.uintp(block), np.uintp(block + size)):
                added += pay_short(offsets, targets, share, paid, debt, kept, page)
        elif len(weights) > 0:
            for turn in range(size):
                one = np.uintp(block + turn if step > 0 else block + size - 1 - turn)
                owes = debt[one]
                amount = owes * share[one]
                if amount != 0.0:
                    paid[one] += amount
                    added += owes
                    for link in range(np.uintp(offsets[one]), np.uintp(offsets[one + np.uintp(1)])):
                        debt[np.uintp(targets[link])] += amount * weights[link]
                    debt[one] = owes * kept
        elif step > 0:
            start = np.uintp(offsets[block])
            for page in range(np.uintp(block), np.uintp(block + size)):
                stop = np.uintp(offsets[page + np.uintp(1)])
                if start < stop:
                    owes = debt[page]
                    amount = owes * share[page]
                    paid[page] += amount
                    added += owes
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
                    paid[one] += amount
                    added += owes
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += amount
                    debt[one] = owes * kept
                stop = start
    return pushed, added


@bare_kernel
def collect(debt: Vector, mail: Vector, first: Whole, end: Whole) -> None:
    """Moves the mail for a range of pages out of another thread's vector."""
    for page in range(first, end):
        debt[page] += mail[page]
        mail[page] = 0.0


@bare_kernel
def balance(share: Vector, debt: Vector, first: Whole, end: Whole) -> tuple[float, float, float]:
    """The sums of r and of |r| over pages with links, and of what other pages have received."""
    a = b = c = d = 0.0
    i = j = k = m = 0.0
    w = x = y = z = 0.0
    stop = first + (end - first) // 4 * 4
    for page in range(np.uintp(first), np.uintp(stop), np.uintp(4)):
        one = page + np.uintp(1)
        two = page + np.uintp(2)
        three = page + np.uintp(3)
        p = debt[page] * (share[page] > 0.0)
        q = debt[one] * (share[one] > 0.0)
        r = debt[two] * (share[two] > 0.0)
        s = debt[three] * (share[three] > 0.0)
        a += p
        b += q
        c += r
        d += s
        i += abs(p)
        j += abs(q)
        k += abs(r)
        m += abs(s)
        w += abs(debt[page] - p)
        x += abs(debt[one] - q)
        y += abs(debt[two] - r)
        z += abs(debt[three] - s)
    for page in range(np.uintp(stop), np.uintp(end)):
        p = debt[page] * (share[page] > 0.0)
        a += p
        i += abs(p)
        w += abs(debt[page] - p)
    return (a + b) + (c + d), (i + j) + (k + m), (w + x) + (y + z)


@bare_kernel
def lift(share: Vector, debt: Vector, level: float, emphasis: Vector, first: Whole, end: Whole) -> float:
    """Adds a multiple of e to what pages owe; returns the sum of |r| over pages with links."""
    a = b = c = d = 0.0
    stop = first + (end - first) // 4 * 4
    for page in range(np.uintp(first), np.uintp(stop), np.uintp(4)):
        one = page + np.uintp(1)
        two = page + np.uintp(2)
        three = page + np.uintp(3)
        debt[page] += times(level, emphasis, page)
        debt[one] += times(level, emphasis, one)
        debt[two] += times(level, emphasis, two)
        debt[three] += times(level, emphasis, three)
        a += abs(debt[page]) * (share[page] > 0.0)
        b += abs(debt[one]) * (share[one] > 0.0)
        c += abs(debt[two]) * (share[two] > 0.0)
        d += abs(debt[three]) * (share[three] > 0.0)
    for page in range(np.uintp(stop), np.uintp(end)):
        debt[page] += times(level, emphasis, page)
        a += abs(debt[page]) * (share[page] > 0.0)
    return (a + b) + (c + d)


@bare_inlined
def value_of(
    offsets: Offsets, share: Vector, paid: Vector, debt: Vector, inverse: float, weighted: bool, page: Whole
) -> float:
    """y_i, without a branch that no processor predicts; a page without links has not paid, and y_i is what it got."""
    parts = 1.0 if weighted else np.float64(offsets[page + 1] - offsets[page])
    return float(paid[page] * parts * inverse + debt[page] * np.float64(share[page] == 0.0))


@bare_kernel
def sum_of(
    offsets: Offsets,
    share: Vector,
    paid: Vector,
    debt: Vector,
    inverse: float,
    weighted: bool,
    first: Whole,
    end: Whole,
) -> float:
    """The sum of y; `inverse` is 1/d."""
    total = 0.0
    for page in range(first, end):
        total += value_of(offsets, share, paid, debt, inverse, weighted, page)
    return total


@bare_kernel
def close(
    offsets: Offsets,
    share: Vector,
    paid: Vector,
    debt: Vector,
    inverse: float,
    weighted: bool,
    scale: float,
    level: float,
    emphasis: Vector,
    first: Whole,
    end: Whole,
) -> None:
    """Puts x = Gh, of h = y times `scale`, into `paid`, or h itself if `level` is not a number.

    No score is below 0, so rounding to less is undone.
    """
    for page in range(first, end):
        value = value_of(offsets, share, paid, debt, inverse, weighted, page)
        if level == level:
            value += debt[page] * np.float64(share[page] > 0.0) - times(level, emphasis, page)
            value = max(0.0, value)
        paid[page] = scale * value
