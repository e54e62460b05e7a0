"""The fastest solver: the pages that owe most pay, with a falling threshold, on all cores.

It solves y = dWy + b, b = (1-d) e, where e is the personalisation (adding up to N). The solution is proportional to
PageRank: scaled to add up to N, it is the score with "dangling pages pay everyone" (Proposition 2.2 of "Inside
PageRank", which holds for any e). The solver keeps y and

    r = b + dWy - y                                                  (what each page owes)

When a page pays, y_i grows by r_i / (1 - d w_ii), and d w_ij times that amount goes to each page that it links to. The
divisor solves the self-links of the page directly. On a real graph a quarter of the pages link to themselves, and
without the divisor these determine the running time (73 sweeps instead of 42 on cnr-2000). A page without links never
pays.

The scale of y is free, so y may as well solve y = dWy + (1 + l/(1-d)) b for any number l: then a page owes r_i + l e_i.
After each sweep, l is chosen so that all pages with links together owe nothing. This is the balance that power
iteration keeps, and it costs no links. Without it, the sum of all debts shrinks by d at each sweep, however fast the
graph mixes: 39 sweeps instead of 9 to an error of 1e-6 on an R-MAT graph. Debts are then of both signs.

A sweep visits the pages in order, or in reverse if most links lead to a lower page: a page that is paid before its turn
passes the money on in the same sweep, so that a graph without cycles takes one sweep. In blocks of 32, the pages all
pay if they owe more than 0.45 times the mean, otherwise none pays. Deciding page by page reads a tenth fewer links but
takes twice as long: the processor cannot prefetch, and it mispredicts every second branch. If the threshold spares few
links, all pages pay in the next sweeps. Each thread owns a range of pages and a vector over all pages: within its range
the vector is the current debt, elsewhere it is mail for other threads, which they collect after each sweep. So no
thread writes to a cache line that another uses, and the result depends on the number of threads but not on timing.

Guaranteed (see `certify`): x = Gh with h = y N / |y|, where G is the stochastic matrix of PageRank, and
|x - x*|_1 <= d/(1-d) |x - h|_1. The last pass computes Gh from the links again, so the rounding of the sweeps does not
matter. The rounding of the last pass is bounded while it runs: an addition is off by at most 2^-53 of its result, so
the sum of all partial sums gives the bound (1e-14 of the scores on cnr-2000, 2e-11 for a page with a million links to
it).

Over 400 lines: each sweep has a kernel for equal and one for weighted links, beside the state that they share.
"""

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, inlined, kernel
from centime.rank.crew import Crew, cut_evenly
from centime.rank.scores import Vector

UNIT = 2.0**-53  # the largest relative rounding error of one operation
BLOCK = 32
SHARE = 0.45  # the threshold for the mean debt of a block, relative to the mean debt of all pages
SPARING = 0.8  # a threshold that lets pages with more than this share of the links pay is not worth its sweeps
WHOLE_SWEEPS = 8  # without a threshold, before it is tried again
NO_EMPHASIS: Vector = np.empty(0)


class Pushing:
    """The state of one computation."""

    def __init__(
        self, graph: Graph, weights: Weights, damping: float, emphasis: Vector | None, start: Vector | None, crew: Crew
    ) -> None:
        pages = graph.pages
        self.graph = graph
        self.weights = weights
        self.damping = damping
        self.crew = crew
        self.cuts = cut_evenly(graph.offsets, crew.parts)
        self.gain, self.share = np.empty(pages), np.empty(pages)
        self.paid = np.zeros(pages)
        self.debts = [np.zeros(pages) for _ in range(crew.parts)]
        self.sweeps = 0
        self.links = 0
        self.lift = 0.0  # l: a page owes what is in `debts` plus this times e
        self._whole = 1  # sweeps without a threshold that are left
        self._emphasis = NO_EMPHASIS if emphasis is None else emphasis
        for part, debt in enumerate(self.debts):
            own = self._range(part)
            debt[own] = 1.0 - damping if emphasis is None else (1.0 - damping) * emphasis[own]
        leading = self.crew.do(
            lambda part: gains(graph.offsets, graph.targets, weights, damping, self.gain, self.share, *self._ends(part))
        )
        self._step = 1 if 2 * sum(int(links) for links in leading) >= graph.links else -1
        if start is not None:
            self._begin_with(start)
        self.total = 0.0
        self._measured = np.inf
        self.debt = self._hand_over()
        self._measure()

    def sweep(self) -> None:
        """Visits all pages once; those that owe more than the threshold pay."""
        threshold = 0.0 if self._whole else SHARE * self.debt / self.graph.pages
        graph = self.graph

        def work(part: int) -> Whole:
            ends = self._ends(part)
            if len(self.weights):
                return push_by_weight(
                    graph.offsets,
                    graph.targets,
                    self.weights,
                    self.gain,
                    self.share,
                    self.paid,
                    self.debts[part],
                    self.lift,
                    self._emphasis,
                    threshold,
                    self._step,
                    *ends,
                )
            return push_alike(
                graph.offsets,
                graph.targets,
                self.gain,
                self.share,
                self.paid,
                self.debts[part],
                self.lift,
                self._emphasis,
                threshold,
                self._step,
                *ends,
            )

        pushed = sum(int(links) for links in self.crew.do(work))
        if self._whole:
            self._whole -= 1
        elif pushed > SPARING * graph.links:
            self._whole = WHOLE_SWEEPS
        self.links += pushed
        self.sweeps += 1
        self.debt = self._hand_over()
        if self.debt < self._measured / 100:
            self._measure()

    def bound(self) -> float:
        """The certified error of the current solution, without rounding: d/(1-d) |r - e (sum of r)/N|_1 / |y|."""
        self._measure()
        if self.debt > self.total:
            return np.inf
        graph = self.graph
        level = sum(self.crew.do(lambda part: self._balance_of(part)[0])) / graph.pages
        lean = self.crew.do(
            lambda part: float(
                skew(graph.offsets, self.debts[part], self.lift, self._emphasis, level, *self._ends(part))
            )
        )
        return self.damping / (1 - self.damping) * sum(lean) / self.total

    def certify(self) -> tuple[Vector, float, float]:
        """The result of `one_iteration` from h = y N / |y|; overwrites the vectors, so nothing can follow."""
        graph = self.graph
        for part, debt in enumerate(self.debts):
            absorb(graph.offsets, self.paid, debt, self.lift, self._emphasis, *self._ends(part))
        self.paid *= graph.pages / self.paid.sum()
        self.links += graph.links
        emphasis = self._emphasis if len(self._emphasis) else None
        return one_iteration(graph, self.weights, self.damping, emphasis, self.paid, self.crew, self.debts)

    def _begin_with(self, start: Vector) -> None:
        """Sets y = c start, with c such that r adds up to 0: what y does not pay along links equals what comes in."""
        graph, paid = self.graph, [np.zeros(self.graph.pages) for _ in range(self.crew.parts)]

        def work(part: int) -> float:
            spread(graph.offsets, graph.targets, self.weights, self.damping, start, paid[part], *self._ends(part))
            return float(paid[part].sum())

        scale = (1.0 - self.damping) * graph.pages / (start.sum() - sum(self.crew.do(work)))
        self.paid[:] = scale * start
        for part, debt in enumerate(self.debts):
            debt += scale * paid[part]
            debt[self._range(part)] -= self.paid[self._range(part)]
        self.links += graph.links

    def _hand_over(self) -> float:
        """Delivers the mail between threads, balances the debts, and returns about |r|_1 over pages with links."""

        def deliver(part: int) -> tuple[float, float, float]:
            for other, mail in enumerate(self.debts):
                if other != part:
                    collect(self.debts[part], mail, *self._ends(part))
            return self._balance_of(part)

        parts = self.crew.do(deliver)
        owed, given, debt = (sum(part[k] for part in parts) for k in range(3))
        if not self.sweeps or given <= 0.0:
            return debt
        self.lift -= owed / given
        return max(debt - abs(owed), (debt + abs(owed)) / 4)  # |r| can only have changed by the sum of r

    def _balance_of(self, part: int) -> tuple[float, float, float]:
        """The sums of r, of e and of |r| over the pages of a part that have links."""
        return balance(self.gain, self.debts[part], self.lift, self._emphasis, *self._ends(part))

    def _measure(self) -> None:
        """Computes the sum of y, which changes little; too expensive to do after every sweep."""
        self._measured = self.debt
        self.total = sum(
            self.crew.do(
                lambda part: float(
                    sum_of(self.gain, self.paid, self.debts[part], self.lift, self._emphasis, *self._ends(part))
                )
            )
        )

    def _ends(self, part: int) -> tuple[int, int]:
        return int(self.cuts[part]), int(self.cuts[part + 1])

    def _range(self, part: int) -> slice:
        return slice(*self._ends(part))


def one_iteration(
    graph: Graph,
    weights: Weights,
    damping: float,
    emphasis: Vector | None,
    values: Vector,
    crew: Crew,
    room: list[Vector] | None = None,
) -> tuple[Vector, float, float]:
    """x = Gh for a vector h that adds up to N, with |x - h|_1 and a bound on the rounding error of x.

    `room` has a scratch vector for each thread.
    """
    cuts = cut_evenly(graph.offsets, crew.parts)
    vectors = room or [np.empty(graph.pages) for _ in range(crew.parts)]

    def work(part: int) -> float:
        vectors[part][:] = 0.0
        return float(
            spread(
                graph.offsets,
                graph.targets,
                weights,
                damping,
                values,
                vectors[part],
                int(cuts[part]),
                int(cuts[part + 1]),
            )
        )

    hidden = sum(crew.do(work)) + (crew.parts + operations(graph.pages)) * graph.pages
    scores = vectors[0]
    for vector in vectors[1:]:
        scores += vector
    left = 1.0 - scores.sum() / graph.pages
    scores += left if emphasis is None else left * emphasis
    return scores, float(distance(scores, values)), float(UNIT * hidden)


def rounding_of_sums(terms: npt.NDArray[np.int64], scores: Vector) -> float:
    """A bound on rounding without the partial sums: a sum of k terms is off by at most k 2^-53 of its value."""
    return float(UNIT * (terms @ scores + operations(len(scores)) * scores.sum()))


def operations(pages: int) -> float:
    """The other roundings of each page: a few operations, and its part in the sums of scores and personalisation."""
    return float(16 + 4 * np.log2(pages + 1))


@kernel
def gains(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    damping: float,
    gain: Vector,
    share: Vector,
    first: Whole,
    end: Whole,
) -> Whole:
    """Computes, for each page and unit of debt, what it pays, 1 / (1 - d w_ii), and the part for a link of weight 1.

    Both are 0 for pages without links. Returns the number of links to higher pages.
    """
    leading = np.int64(0)
    for page in range(first, end):
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + 1])
        itself = np.int32(page)
        links = offsets[page + 1] - offsets[page]
        own = 0.0
        for link in range(start, stop):
            leading += targets[link] > itself
            if targets[link] == itself:
                own += weights[link] if len(weights) > 0 else 1.0 / links
        gain[page] = 1.0 / (1.0 - damping * own) if start < stop else 0.0
        share[page] = damping * gain[page]
        if links > 0 and len(weights) == 0:
            share[page] /= links
    return leading


@inlined
def lifted(lift: float, emphasis: Vector, page: Whole) -> float:
    """l e_i."""
    return lift * emphasis[page] if len(emphasis) > 0 else lift


@inlined
def owed_by(gain: Vector, debt: Vector, lift: float, emphasis: Vector, first: Whole, end: Whole) -> float:
    """The sum of |r| over the pages of a block that have links."""
    owed = 0.0
    for page in range(first, end):
        owed += abs(debt[page] + lifted(lift, emphasis, page)) * (gain[page] > 0.0)
    return owed


@kernel
def push_alike(
    offsets: Offsets,
    targets: Targets,
    gain: Vector,
    share: Vector,
    paid: Vector,
    debt: Vector,
    lift: float,
    emphasis: Vector,
    threshold: float,
    step: Whole,
    first: Whole,
    end: Whole,
) -> Whole:
    """One sweep over pages whose links have equal weights; returns the number of links used."""
    pushed = np.int64(0)
    for done in range(0, end - first, BLOCK):
        size = min(BLOCK, end - first - done)
        block = first + done if step > 0 else end - done - size
        if threshold == 0.0 or owed_by(gain, debt, lift, emphasis, block, block + size) > threshold * size:
            for turn in range(size):
                page = block + turn if step > 0 else block + size - 1 - turn
                start = np.uintp(offsets[page])
                stop = np.uintp(offsets[page + 1])
                if start < stop:
                    given = lifted(lift, emphasis, page)
                    owes = debt[page] + given
                    paid[page] += owes * gain[page]
                    amount = owes * share[page]
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += amount
                    debt[page] = -given
                    pushed += np.int64(stop - start)
    return pushed


@kernel
def push_by_weight(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    gain: Vector,
    share: Vector,
    paid: Vector,
    debt: Vector,
    lift: float,
    emphasis: Vector,
    threshold: float,
    step: Whole,
    first: Whole,
    end: Whole,
) -> Whole:
    """One sweep over pages whose links have weights; returns the number of links used."""
    pushed = np.int64(0)
    for done in range(0, end - first, BLOCK):
        size = min(BLOCK, end - first - done)
        block = first + done if step > 0 else end - done - size
        if threshold == 0.0 or owed_by(gain, debt, lift, emphasis, block, block + size) > threshold * size:
            for turn in range(size):
                page = block + turn if step > 0 else block + size - 1 - turn
                start = np.uintp(offsets[page])
                stop = np.uintp(offsets[page + 1])
                if start < stop:
                    given = lifted(lift, emphasis, page)
                    owes = debt[page] + given
                    paid[page] += owes * gain[page]
                    amount = owes * share[page]
                    for link in range(start, stop):
                        debt[np.uintp(targets[link])] += amount * weights[link]
                    debt[page] = -given
                    pushed += np.int64(stop - start)
    return pushed


@kernel
def spread(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    damping: float,
    values: Vector,
    received: Vector,
    first: Whole,
    end: Whole,
) -> float:
    """Adds what pages with these values pay along their links to `received`.

    Returns the sum of all partial sums plus what the rounding of the weights contributes.
    """
    partial = 0.0
    for page in range(first, end):
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + 1])
        if len(weights) > 0:
            partial += values[page] * (stop - start)
            for link in range(start, stop):
                target = np.uintp(targets[link])
                received[target] += damping * values[page] * weights[link]
                partial += received[target]
        elif start < stop:
            amount = damping * values[page] / (stop - start)
            for link in range(start, stop):
                target = np.uintp(targets[link])
                received[target] += amount
                partial += received[target]
    return partial


@kernel
def collect(debt: Vector, mail: Vector, first: Whole, end: Whole) -> None:
    """Moves the mail for a range of pages out of another thread's vector; most entries are 0."""
    for page in range(first, end):
        if mail[page] != 0.0:
            debt[page] += mail[page]
            mail[page] = 0.0


@kernel
def balance(
    gain: Vector, debt: Vector, lift: float, emphasis: Vector, first: Whole, end: Whole
) -> tuple[float, float, float]:
    """The sums of r, of e and of |r| over the pages with links."""
    owed = 0.0
    given = 0.0
    absolute = 0.0
    for page in range(first, end):
        has_links = gain[page] > 0.0
        owes = (debt[page] + lifted(lift, emphasis, page)) * has_links
        owed += owes
        absolute += abs(owes)
        given += lifted(1.0, emphasis, page) * has_links
    return owed, given, absolute


@kernel
def skew(
    offsets: Offsets, debt: Vector, lift: float, emphasis: Vector, level: float, first: Whole, end: Whole
) -> float:
    """The sum of |r_i - e_i * level|, where a page without links owes nothing."""
    total = 0.0
    for page in range(first, end):
        owed = debt[page] + lifted(lift, emphasis, page) if offsets[page] < offsets[page + 1] else 0.0
        total += abs(owed - lifted(level, emphasis, page))
    return total


@kernel
def absorb(
    offsets: Offsets, paid: Vector, debt: Vector, lift: float, emphasis: Vector, first: Whole, end: Whole
) -> None:
    """Adds what pages without links were paid to y."""
    for page in range(first, end):
        if offsets[page] == offsets[page + 1]:
            paid[page] += debt[page] + lifted(lift, emphasis, page)


@kernel
def distance(one: Vector, other: Vector) -> float:
    """|one - other|_1, without allocating a vector."""
    total = 0.0
    for page in range(len(one)):
        total += abs(one[page] - other[page])
    return total


@kernel
def sum_of(gain: Vector, paid: Vector, debt: Vector, lift: float, emphasis: Vector, first: Whole, end: Whole) -> float:
    """The sum of y, including what pages without links were paid."""
    total = 0.0
    for page in range(first, end):
        total += paid[page] + (debt[page] + lifted(lift, emphasis, page)) * (gain[page] == 0.0)
    return total
