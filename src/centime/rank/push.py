"""The fastest solver: pages pay their debts on all cores; the order and the amounts depend on the graph.

It solves y = dWy + b e, where e is the personalisation (adding up to N) and b any number: the solution is proportional
to PageRank. Scaled to add up to N, it is the score with "dangling pages pay everyone" (Proposition 2.2 of "Inside
PageRank", which holds for any e). The solver keeps y and

    r = b e + dWy - y                                                (the debt of each page)

When a page pays, y_i grows by r_i / (1 - d w_ii), and d w_ij times that amount goes to each page that it links to. The
divisor solves the self-links of the page directly. On a real graph a quarter of the pages link to themselves, and
without the divisor these determine the running time. A page without links never pays: the money it receives is its y.

It begins with y = 0, r = (1-d) e and a sweep that also finds the self-links, or with a start. After each sweep b
changes so that all pages with links together owe nothing. This is the balance that power iteration keeps, and
it costs no links. Without it, the sum of all debts shrinks by d at each sweep, however fast the graph mixes. Debts are
then of both signs.

A sweep visits the pages in order, or in reverse if most links lead to a lower page: a page that is paid before its turn
passes the money on in the same sweep, so that a graph without cycles takes one sweep. In blocks of 32, the pages all
pay if they owe more than 0.45 times the mean, otherwise none pays. If this threshold spares few links, all pages pay in
the next sweeps.

Where most links are mutual (roads, friendships) and sweeps gain little, pages pay w times their debts
(successive over-relaxation): if all links are mutual, the best w follows from how a sweep shrinks the debts. It is
given up if debts grow.

Where pages have few links, numbered at random, and many sweeps are left, pages are put in the order of their links
first (`renumbering.py`).

Each thread owns a range of pages and a vector over all pages: within its range the vector is the current debt,
elsewhere it is mail for other threads. So no thread writes to a cache line that another uses, and the result depends on
the number of threads but not on timing. Where much is mailed, a sweep has four turns, in which each thread visits a
quarter of its pages after it has collected the mail for them. With one turn, threads would work from old debts of each
other: on a bipartite graph with one side for each thread, debts then shrink by d at each sweep (392 sweeps instead of
18). Elsewhere turns save a sweep or two, which is less than they cost.

Guaranteed: the certified error of x = Gh with h = y N / |y| (`certificate.py`). Since y + r = dWy + b e, x is known
without reading the links again, up to the rounding of all sweeps. Additions to a debt are off by at most 2^-53 of the
largest sum of all debts of that sweep, which is enough unless the requested error is very small or there are many links
or sweeps: then x is computed from the links.
"""

from collections.abc import Callable
from math import log, sqrt

import numpy as np

from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole
from centime.rank.balance import NO_EMPHASIS, balance, close, collect, lift, settle
from centime.rank.certificate import UNIT, certified_error, one_iteration
from centime.rank.crew import Crew, cut_evenly
from centime.rank.scores import Vector
from centime.rank.sweep import HANDED_ON, LOOPED, NO_START, SHORT, begin, mutual, pay_debts, sample

Work = Callable[[int, int, int], tuple[Whole, float]]  # for a thread and a range of its pages
NO_PAGES: Targets = np.empty(0, dtype=np.int32)
LEAST_DAMPING = 1e-100  # a smaller one differs from 0 by less than rounding
LEAST_START = 1e-6  # the share of a start that pages with links must have
SHARE = 0.45  # the threshold for the mean debt of a block, relative to the mean debt of all pages
SPARING = 0.8  # a threshold that lets pages with more than this share of the links pay is not worth its sweeps
WHOLE_SWEEPS = 8  # without a threshold, before it is tried again
BACKWARDS = 0.4  # the share of links to higher pages below which sweeps go from high pages to low ones
SHORT_ROWS = 0.5  # the share of rows with up to four links from which rows are paid without a loop
UNEVEN_ROWS = 0.5  # ... if at least this share has another length than the row before
NEAR = 0.5  # the share of links to the page before or after from which links are handed on
TURNS = 4  # of each thread in a sweep
WITHIN = 0.5  # threads take turns if they keep less than this share of the links that they would keep of random ones
MAILED_OF = 4_096  # links that are examined for this share
TRIED = 3  # sweeps after which it is decided, again and again, whether pages pay more than they owe
SLOW = 0.3  # a sweep that leaves less of the debts needs no help
MUTUAL = 0.9  # the share of mutual links from which over-paying helps
SAMPLE_PAGES = 1_000
SURE = 0.01  # a sum of y that rounding has changed by more than this share is computed again
UNBALANCED = 0.01  # the sum of all debts, relative to that of their absolute values, that is left as it is
FEW_LINKS = 2.0  # for each page: only then links are handed on, and the order of a search has most lead to later pages
WORTH_ORDERING = 80  # sweeps; the search and the renumbering take as long
IN_ORDER = 0.7  # the share of links in one direction from which pages are in order
DIVERGED = 2.0  # times the least debt so far
MOST_PAID, MOST_PAID_ALL_MUTUAL = 1.3, 1.9  # times the debt; one-way links make more diverge


def _mailed(graph: Graph, cuts: Offsets) -> float:
    """About the share of links that lead to pages of another thread."""
    links = np.arange(0, graph.links, max(1, graph.links // MAILED_OF))
    ends = np.searchsorted(graph.offsets, links, "right") - 1, graph.targets[links]
    owners, others = (np.searchsorted(cuts, pages, "right") for pages in ends)
    return float((owners != others).mean()) if len(links) else 0.0


class Pushing:
    """The state of one computation."""

    def __init__(
        self, graph: Graph, weights: Weights, damping: float, emphasis: Vector | None, start: Vector | None, crew: Crew
    ) -> None:
        pages, base = graph.pages, 1.0 - max(damping, LEAST_DAMPING)
        if start is not None:
            linked_pages = graph.out_degree > 0
            begun_with = float(start[linked_pages].sum())
            if begun_with <= LEAST_START * pages:
                start = None  # balanced, it would be 0 everywhere
            else:
                # The base that fits the start, or the first debts would be larger than the values, and their rounding
                # too.
                given = float(linked_pages.sum() if emphasis is None else emphasis[linked_pages].sum())
                base *= begun_with / given if given > 0.0 else 1.0
        self.graph = graph
        self.weights = weights
        self.damping = max(damping, LEAST_DAMPING)
        self.crew = crew
        self.cuts = self._turn_cuts = cut_evenly(graph.offsets, crew.parts)
        if crew.parts > 1 and _mailed(graph, self.cuts) > 1.0 - WITHIN / crew.parts:
            self._turn_cuts = cut_evenly(graph.offsets, TURNS * crew.parts)
            self.cuts = self._turn_cuts[::TURNS]
        # One allocation: large ones get large memory pages, and thousands of small ones take as long as a sweep.
        self.share, *self.debts = np.zeros((1 + crew.parts, pages))
        self.paid = np.empty(pages)
        self.sweeps = 1 if start is None else 0
        self.links = graph.links
        self._emphasis = NO_EMPHASIS if emphasis is None else emphasis
        self._rising, near, short, uneven = sample(graph.offsets, graph.targets)
        self._step = 1 if self._rising >= BACKWARDS else -1
        self._rows = LOOPED
        if near >= NEAR and graph.links < FEW_LINKS * pages:
            self._rows = HANDED_ON
        elif self._step > 0 and short >= SHORT_ROWS and uneven >= UNEVEN_ROWS:
            self._rows = SHORT

        def work(part: int, first: int, end: int) -> tuple[Whole, float]:
            return begin(
                graph.offsets,
                graph.targets,
                weights,
                self.damping,
                base,
                self._emphasis,
                NO_START if start is None else start,
                self.share,
                self.paid,
                self.debts[part],
                self._rows,
                self._step,
                first,
                end,
            )

        begun = self._in_turns(work)
        linked = sum(int(pages_of_part) for pages_of_part, _ in begun)
        self._given = float(linked if emphasis is None else emphasis[self.share > 0.0].sum())
        unlinked = NO_PAGES if linked == pages else np.flatnonzero(self.share == 0.0).astype(np.int32)
        self._dangling = np.split(unlinked, np.searchsorted(unlinked, self.cuts[1:-1]))  # for each thread
        self._whole = TRIED  # sweeps without a threshold that are left
        self._overpaid = 1.0
        self._most_paid = np.inf  # not known before it is needed
        self._least = np.inf
        self._left = 0.0  # what the last sweep left of the debts
        self.total = sum(total for _, total in begun)  # about the sum of y
        self._slack = 0.0  # the largest change of it by rounding
        self._lifted = 0.0  # the part of the debts of pages without links that the last change of b has added
        self._held = (base if start is None else base + 2.0) * pages  # at least the sum of all |r|
        self.drift = 0.0  # the rounding of all debts, at most
        self._drift(2 * graph.links)
        self.debt = self._hand_over()  # the sum of |r|, and `_owed` of r, over pages with links

    def sweep(self) -> None:
        """Visits all pages once; those that owe more than the threshold pay."""
        threshold = 0.0 if self._whole or self._overpaid != 1.0 else SHARE * self.debt / self.graph.pages
        graph = self.graph

        def work(part: int, first: int, end: int) -> tuple[Whole, float]:
            return pay_debts(
                graph.offsets,
                graph.targets,
                self.weights,
                self.share,
                self.paid,
                self.debts[part],
                1.0 / self.damping,
                1.0 - self._overpaid,
                threshold,
                self._rows,
                self._step,
                first,
                end,
            )

        done = self._in_turns(work)
        pushed = sum(int(links) for links, _ in done)
        self.total += sum(added for _, added in done)
        if self._whole:
            self._whole -= 1
        elif pushed > SPARING * graph.links:
            self._whole = WHOLE_SWEEPS
        self.links += pushed
        self.sweeps += 1
        self._drift(pushed)
        before, self.debt = self.debt, self._hand_over()
        self._pace(self.debt / before if before > 0.0 else 0.0)

    def needs_order(self, error: float) -> bool:
        """Whether enough sweeps remain until a certified error to make renumbering by links worthwhile."""
        if self.graph.links > FEW_LINKS * self.graph.pages or abs(self._rising - 0.5) >= IN_ORDER - 0.5:
            return False
        if not SLOW < self._left < 1.0 or self._overpaid != 1.0 or self.debt <= 0.0:
            return False
        aim = error * self.total * (1 - self.damping) / self.damping
        return aim < self.debt and log(aim / self.debt) / log(self._left) > WORTH_ORDERING

    def settle(self) -> None:
        """Adds to y the debts that a new b gave to pages without links; otherwise the next sweep would do it."""
        self.crew.do(lambda part: settle(self._dangling[part], self.paid, self.debts[part]))
        self._lifted = 0.0

    def bound(self) -> float:
        """About the certified error of the current solution, never less, without rounding."""
        if not self._slack <= SURE * self.total:
            self._measure()
        return (
            self.damping / (1 - self.damping) * (self.debt + abs(self._owed)) / (self.total - self._slack)
            if self.debt <= self.total
            else np.inf
        )

    def certify(self, error: float) -> tuple[Vector, float, float]:
        """x = Gh with h = y N / |y|, a bound on |x - h|_1, and one on the rounding error of x; from the links if the
        error cannot be certified otherwise. Overwrites the vectors, so nothing can follow."""
        graph, pages = self.graph, self.graph.pages
        moved, hidden = self._known()
        if not (is_certain := self._error(moved, hidden) <= error) and self.drift < np.inf:
            self._measure()
            moved, hidden = self._known()
            is_certain = self._error(moved, hidden) <= error
        if is_certain:
            scale, level = pages / self.total, self._owed / pages
            self.crew.do(
                lambda part: close(self.paid, self.debts[part], scale, level, self._emphasis, *self._ends(part))
            )
            return self.paid, moved, hidden
        self.settle()
        np.maximum(self.paid, 0.0, out=self.paid)  # over-paying and rounding leave values below 0
        self.paid *= pages / self.paid.sum()
        self.links += graph.links
        emphasis = self._emphasis if len(self._emphasis) else None
        return one_iteration(graph, self.weights, self.damping, emphasis, self.paid, self.crew, self.debts)

    def _known(self) -> tuple[float, float]:
        """Bounds on |x - h|_1 and on the rounding error of x, if x comes from the debts."""
        pages, scale = self.graph.pages, self.graph.pages / self.total
        off = self._slack / (self.total - self._slack) if self._slack < self.total else np.inf
        moved = scale * (self.debt + abs(self._owed)) * (1.0 + off)
        return moved, 2 * scale * self.drift + (UNIT * (pages + 16) + off) * (pages + moved)

    def _error(self, moved: float, hidden: float) -> float:
        return certified_error(self.damping, moved, hidden, self.graph.pages)

    def _drift(self, links: int) -> None:
        """Adds the rounding of a sweep over `links` links to that of debts, and of the sum of y.

        No debt exceeds the sum of all |r| and payments to pages without links, which no payment increases. Over-paying
        increases it, and weights are rounded themselves: then the error is certified from the links. The payments of
        pages in a sweep are at most this sum over 1 - d, and each payment is off by a few units: three of s, three of
        the product for y, which the equation has twice.
        """
        if len(self.weights) or self._overpaid != 1.0:
            self.drift = self._slack = np.inf
        pages, gross = self.graph.pages, self._held / (1.0 - self.damping)
        self.drift += UNIT * ((links + pages + 8 + 2 * self.crew.parts) * self._held + 12 * gross)
        self._slack += UNIT * (pages + 8 + 2 * self.crew.parts) * (gross + self._held)

    def _drift_of_values(self) -> None:
        """Adds the rounding of y itself, after payments or a new b: one unit of each y, which the equation has twice.

        No y is below 0 except by rounding, as long as no page pays more than it owes and b is balanced: a page that has
        paid has the money that others pay it. So their sum is that of absolute values.
        """
        size = UNIT * 4 * (abs(self.total) + self._slack)
        self.drift += size
        self._slack += size

    def _pace(self, left: float) -> None:
        """Decides by how much pages overpay, from the share of the debts that the last sweep left.

        With mutual links alone, and w times the debt, a sweep leaves l of the debts where (l + w - 1)^2 = l w^2 m^2 for
        an m of at most d, and the best w is 2 / (1 + sqrt(1 - m^2)) (Young).
        """
        self._left = left
        self._least = min(self._least, self.debt)
        if self.debt > DIVERGED * self._least and self._overpaid != 1.0:
            self._most_paid = 1.0
            self._overpay(1.0)
        elif self.sweeps % TRIED == 0 and self._most_paid != 1.0 and SLOW < left < 1.0:
            if self._most_paid == np.inf:
                share = mutual(self.graph.offsets, self.graph.targets, SAMPLE_PAGES)
                self._most_paid = MOST_PAID_ALL_MUTUAL if share == 1.0 else MOST_PAID if share >= MUTUAL else 1.0
            now = self._overpaid
            square = min((left + now - 1.0) ** 2 / (left * now**2), self.damping**2)
            self._overpay(max(now, min(2.0 / (1.0 + sqrt(1.0 - square)), self._most_paid)))

    def _overpay(self, times: float) -> None:
        self.share *= times / self._overpaid
        self._overpaid = times

    def _in_turns(self, work: Work) -> list[tuple[Whole, float]]:
        """The results of `work` for each thread and each turn; before its turn, a thread collects the mail for it."""
        done: list[tuple[Whole, float]] = []
        turns = (len(self._turn_cuts) - 1) // self.crew.parts
        for turn in range(turns) if self._step > 0 else range(turns - 1, -1, -1):
            places = [slice(one, one + 2) for one in range(turn, turns * self.crew.parts, turns)]
            ends = [(int(first), int(end)) for first, end in (self._turn_cuts[place] for place in places)]
            done += self._turn(work, ends, is_first=not done)
        return done

    def _turn(self, work: Work, ends: list[tuple[int, int]], *, is_first: bool) -> list[tuple[Whole, float]]:
        if not is_first:
            self.crew.do(lambda part: self._collect(part, *ends[part]))
        return self.crew.do(lambda part: work(part, *ends[part]))

    def _collect(self, part: int, first: int, end: int) -> None:
        """Moves the mail of all other threads for a range of pages into a thread's debts."""
        for other, mail in enumerate(self.debts):
            if other != part:
                collect(self.debts[part], mail, first, end)

    def _hand_over(self) -> float:
        """Delivers the mail between threads, balances the debts, and returns |r|_1 over pages with links."""

        def deliver(part: int) -> tuple[float, float, float]:
            debt = self.debts[part]
            self._collect(part, *self._ends(part))
            received = settle(self._dangling[part], self.paid, debt)
            return received, *balance(debt, *self._ends(part))

        received, self._owed, absolute = (float(sum(sums)) for sums in zip(*self.crew.do(deliver), strict=True))
        self.total += received - self._lifted
        self._held, self._lifted = absolute, 0.0
        self._drift_of_values()
        if self._given <= 0.0 or abs(self._owed) <= UNBALANCED * absolute:
            return absolute
        level, self._owed = -self._owed / self._given, 0.0

        def raise_all(part: int) -> float:
            return lift(self.debts[part], level, self._emphasis, *self._ends(part))

        absolute = sum(self.crew.do(raise_all))
        unowed = max(0.0, self.graph.pages - self._given)
        self._lifted = level * unowed
        self.total += self._lifted
        self._held += abs(level) * self.graph.pages
        self.drift += UNIT * (self.graph.pages + 8) * self._held  # debts minus those of pages without links
        self._slack += UNIT * self.graph.pages * self._held
        self._drift_of_values()
        return max(absolute - abs(level) * unowed, 0.0)

    def _measure(self) -> None:
        """Computes the sum of y, which is known only approximately after a sweep."""
        self.settle()
        self.total, self._slack = float(self.paid.sum()), 0.0

    def _ends(self, part: int) -> tuple[int, int]:
        return int(self.cuts[part]), int(self.cuts[part + 1])

    def _range(self, part: int) -> slice:
        return slice(*self._ends(part))
