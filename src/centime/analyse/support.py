"""The pages that support a target: they have little but their own default energy, and they give it to the target.

For a page t, the search

1. takes all pages that link to t, then pages that link to those, then pages that link to these, up to a limit: eight
   times the number of pages that link to t, or a thousand if that is less. Each round takes one more link of every
   page;
2. drops every page that receives more than its default score, 1 - d, from outside the set, until there is none;
3. calls the remaining pages supporters if they link to t and give t at least a third of what they give to pages outside
   the set.

Guaranteed: each page and each of its links is visited a fixed number of times, however pages are dropped because of
others.

Trap: the larger the set of step 1 is, the less comes from outside; on an island, no page would be dropped. Hence the
limit.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.transition import Marks, Pages, Transition, Vector
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel

LEAST_PAGES = 10
LEAST_AIMED = 1 / 3
FAR = 8
FARTHEST = 1_000

Rows = tuple[Offsets, Targets, Weights]


@dataclass(frozen=True, slots=True)
class Support:
    """The supporters of one target."""

    target: int
    supporters: Pages
    """Their numbers, sorted."""
    given: float
    """The part of the target's score that comes from their links."""
    received: float
    """E_in of the supporters: what they receive from outside the set of step 1."""

    @property
    def own(self) -> float:
        """The share of the supporters' energy that is their own default energy."""
        return len(self.supporters) / (len(self.supporters) + self.received)


class SupportSearch:
    """A search around one target after the other, which reuses its arrays."""

    def __init__(self, walk: Transition, turned: Graph, scores: Vector, damping: float) -> None:
        self.damping = damping
        self.links: Rows = (walk.offsets, walk.targets, walk.weights)
        self.turned: Rows = (turned.offsets, turned.targets, np.empty(0) if turned.weights is None else turned.weights)
        self.paid = damping * scores * walk.share
        self.inside = np.zeros(walk.pages, dtype=np.bool_)
        self.income = np.zeros(walk.pages)
        self.members = np.empty(walk.pages, dtype=np.int64)
        self.dropped = np.empty(walk.pages, dtype=np.int64)

    def around(self, target: int) -> Support | None:
        """The pages that support a target; None if there are too few."""
        count = _gather(
            self.links,
            self.turned,
            self.paid,
            1.0 - self.damping,
            target,
            self.inside,
            self.income,
            self.members,
            self.dropped,
        )
        left = self.members[:count]
        near: Pages = np.unique(self.turned[1][self.turned[0][target] : self.turned[0][target + 1]]).astype(np.int64)
        near = near[self.inside[near]]
        to_target, leaving = _aims(self.links, self.paid, near, self.inside, target)
        received = self.income[near] / (1.0 - self.damping)
        self.inside[left] = False
        self.income[left] = 0.0
        supports = (to_target > 0.0) & (to_target >= LEAST_AIMED * leaving)
        if np.count_nonzero(supports) < LEAST_PAGES:
            return None
        return Support(target, near[supports], float(to_target[supports].sum()), float(received[supports].sum()))


@kernel
def _gather(
    links: Rows,
    turned: Rows,
    paid: Vector,
    allowed: float,
    target: int,
    inside: Marks,
    income: Vector,
    members: Pages,
    dropped: Pages,
) -> int:
    """Steps 1 and 2: returns the number of pages left in `members`, marked `inside`, with `income` from outside."""
    offsets, sources, weights = turned
    weighted = len(weights) > 0
    count = 0
    inside[target] = True
    for link in range(offsets[target], offsets[target + 1]):
        if not inside[sources[link]]:
            inside[sources[link]] = True
            members[count] = sources[link]
            count += 1
    # One more link of every page in each round: a page with many links to it must not use up the limit.
    most = min(max(count, min(FAR * count, FARTHEST)), len(members))
    first, last = 0, count
    for _ in range(2):
        turn = 0
        more = True
        while more and count < most:
            more = False
            for place in range(first, last):
                link = offsets[members[place]] + turn
                if link < offsets[members[place] + 1]:
                    more = True
                    if not inside[sources[link]] and count < most:
                        inside[sources[link]] = True
                        members[count] = sources[link]
                        count += 1
            turn += 1
        first, last = last, count
    gone = 0
    for place in range(count):
        page = members[place]
        for link in range(offsets[page], offsets[page + 1]):
            if not inside[sources[link]]:
                income[page] += paid[sources[link]] * (weights[link] if weighted else 1.0)
                if income[page] > allowed:
                    break
    for place in range(count):
        if income[members[place]] > allowed:
            inside[members[place]] = False
            dropped[gone] = members[place]
            gone += 1
    # A dropped page is then outside for the pages that it links to, so these may have to be dropped too.
    offsets, targets, weights = links
    done = 0
    while done < gone:
        page = dropped[done]
        done += 1
        for link in range(offsets[page], offsets[page + 1]):
            other = targets[link]
            if inside[other] and other != target:
                income[other] += paid[page] * (weights[link] if weighted else 1.0)
                if income[other] > allowed:
                    inside[other] = False
                    dropped[gone] = other
                    gone += 1
    inside[target] = False
    for place in range(gone):
        income[dropped[place]] = 0.0
    kept = 0
    for place in range(count):
        if inside[members[place]]:
            members[kept] = members[place]
            kept += 1
    return kept


@kernel
def _aims(links: Rows, paid: Vector, members: Pages, inside: Marks, target: int) -> tuple[Vector, Vector]:
    """What each member gives to the target, and to all pages outside the set."""
    offsets, targets, weights = links
    weighted = len(weights) > 0
    to_target, leaving = np.zeros(len(members)), np.zeros(len(members))
    for place in range(len(members)):
        page = members[place]
        for link in range(offsets[page], offsets[page + 1]):
            if not inside[targets[link]]:
                amount = paid[page] * (weights[link] if weighted else 1.0)
                leaving[place] += amount
                if targets[link] == target:
                    to_target[place] += amount
    return to_target, leaving
