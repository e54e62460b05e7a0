"""The pages that support a target: they have little but their own default energy, and most of it leads to the target.

For a page t, the search

1. gathers backwards from t every page from which one path gives t at least LEAST_LEAD of what the page has, and every
   page that links to t;
2. drops every page that t leads back to (`reach.py`), then every page that receives more than its default score, 1 - d,
   from outside the set, until there is none;
3. computes the lead of each page, the chance that a surfer who starts there and stays in the set comes to t,

       lead(p) = d * sum of w_(q,p) lead(q) over q in the set, with lead(t) = 1

   and drops pages with less than a tenth of the mean lead: these belong to the neighbourhood of t, not to a community
   that promotes it. A page that only pages of the set link to stays: its energy is theirs.

The rest is the support of t. The measures of a promoting community (`promotion.py`) are computed here:

- `given`: the part of t's score that comes from its links;
- `own`: the share of its energy that is its own, |C| / (|C| + E_in);
- `entered`: the share of its pages that receive anything from outside;
- `returned`: the share of its pages that are led to by pages outside to which C leads back without t;
- `rivals`: the pages other than t that receive half as much from C, and get most of their score from it; `ruled` is the
  largest share of C that one of them leads back to.

A site is poor too if few link to it, and all of its pages may link to its front page. But a site is tied together: its
front page leads to its pages, and its pages lead back to where its readers come from. A farm has no readers.

Guaranteed: each page and each of its links is visited a fixed number of times, in whatever order pages are dropped.

Traps: a farm whose target links to all of its pages looks like a site, and is not found. Where a crawl has not read a
target, nothing leads back from it, and a section of a site may look like a farm.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.reach import Rows, Scratch, forget, reach
from centime.analyse.transition import Pages, Transition, Vector
from centime.model.graph import Graph
from centime.model.kernel import kernel, part

LEAST_PAGES = 25
LEAST_LEAD = 0.002
FARTHEST = 10_000
"""The most pages that are gathered without a link to the target themselves."""
TRIMMED = 0.1
SWEEPS = 4
NEAR_TARGET, NEAR_COMMUNITY = (2_000, 20), (500, 100)
"""The most pages outside the set that are visited to find a way back: an absolute number, and one in this many."""
RIVAL_GIVEN = 0.5
RIVAL_SHARE = 0.4
MOST_RIVALS = 4


@dataclass(frozen=True, slots=True)
class Support:
    """The supporters of one target."""

    target: int
    supporters: Pages
    """Their numbers, sorted."""
    given: float
    """The part of the target's score that comes from their links."""
    received: float
    """E_in of the supporters, in units of the default score, but for pages known mostly from them."""
    entered: float
    """The share of the supporters that receive something from outside."""
    returned: float
    """The share of the supporters that are led to by pages to which the supporters lead back."""
    rivals: int
    """Other pages that live on the supporters as the target does; counted to one more than MOST_RIVALS."""
    ruled: float
    """The largest share of the supporters that a rival leads back to."""

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
        self.share = damping * walk.share
        self.paid = self.share * scores
        self.scores = scores
        pages = walk.pages
        marks = [np.zeros(pages, dtype=np.bool_) for _ in range(2)]
        amounts = [np.zeros(pages) for _ in range(2)]
        lists = [np.empty(pages, dtype=np.int64) for _ in range(4)]
        self.scratch = Scratch(marks[0], marks[1], amounts[0], amounts[1], lists[0], lists[1], lists[2], lists[3])

    def around(self, target: int) -> Support | None:
        """The pages that support a target; None if there are too few."""
        count = _supporters(self.links, self.turned, self.share, self.paid, 1.0 - self.damping, target, self.scratch)
        if count < LEAST_PAGES:
            return None
        supporters = np.sort(self.scratch.members[:count])
        given, rivals, ruled = _rivals(self.links, self.paid, self.scores, supporters, target, self.scratch)
        received, entered, returned = _way_back(self.links, self.turned, self.paid, supporters, target, self.scratch)
        return Support(
            target,
            supporters,
            given,
            received / (1.0 - self.damping),
            entered / count,
            returned / count,
            rivals,
            ruled / count,
        )


@kernel
def _supporters(
    links: Rows, turned: Rows, share: Vector, paid: Vector, allowed: float, target: int, scratch: Scratch
) -> int:
    """Steps 1 to 3: returns the number of supporters in `members`."""
    inside, income, members, queue = scratch.inside, scratch.income, scratch.members, scratch.queue
    count = _gather(turned, share, target, scratch)
    queue[0] = target
    seen = reach(links, 1, min(NEAR_TARGET[0], len(paid) // NEAR_TARGET[1]), scratch)
    for place in range(count):
        if scratch.seen[members[place]]:
            inside[members[place]] = False
    forget(seen, scratch)
    _receive(turned, paid, count, scratch)
    gone = 0
    for place in range(count):
        page = members[place]
        if inside[page] and income[page] > allowed:
            inside[page] = False
            scratch.others[gone] = page
            gone += 1
    _cascade(links, paid, allowed, gone, scratch)
    left = _lead(links, turned, share, target, scratch)
    for place in range(count):
        inside[members[place]] = False
    _cascade(links, paid, allowed, _trim(turned, left, scratch), scratch)
    for place in range(count):
        income[members[place]] = 0.0
    kept = 0
    for place in range(left):
        if inside[queue[place]]:
            inside[queue[place]] = False
            members[kept] = queue[place]
            kept += 1
    return kept


@part
def _gather(turned: Rows, share: Vector, target: int, scratch: Scratch) -> int:
    """Step 1: marks the pages `inside` and returns their number in `members`."""
    offsets, sources, weights = turned
    weighted = len(weights) > 0
    inside, lead, members = scratch.inside, scratch.amount, scratch.members
    count = 0
    inside[target] = True
    for link in range(offsets[target], offsets[target + 1]):
        page = sources[link]
        way = share[page] * (weights[link] if weighted else 1.0)
        if not inside[page]:
            inside[page] = True
            lead[page] = way
            members[count] = page
            count += 1
    most = count + FARTHEST
    first = 0
    while first < count < most:
        near = members[first]
        first += 1
        for link in range(offsets[near], offsets[near + 1]):
            page = sources[link]
            way = lead[near] * share[page] * (weights[link] if weighted else 1.0)
            if way >= LEAST_LEAD and not inside[page]:
                inside[page] = True
                lead[page] = way
                members[count] = page
                count += 1
    inside[target] = False
    for place in range(count):
        lead[members[place]] = 0.0
    return count


@part
def _receive(turned: Rows, paid: Vector, count: int, scratch: Scratch) -> None:
    """Sets the income of the members `inside` to the payments of pages that are not inside."""
    offsets, sources, weights = turned
    weighted = len(weights) > 0
    for place in range(count):
        page = scratch.members[place]
        if scratch.inside[page]:
            for link in range(offsets[page], offsets[page + 1]):
                if not scratch.inside[sources[link]]:
                    scratch.income[page] += paid[sources[link]] * (weights[link] if weighted else 1.0)


@part
def _cascade(links: Rows, paid: Vector, allowed: float, gone: int, scratch: Scratch) -> None:
    """Adds the payments of the first `gone` pages of `others` to the income of pages inside, and drops those that then
    receive too much.
    """
    offsets, targets, weights = links
    weighted = len(weights) > 0
    inside, income, others = scratch.inside, scratch.income, scratch.others
    done = 0
    while done < gone:
        page = others[done]
        done += 1
        for link in range(offsets[page], offsets[page + 1]):
            other = targets[link]
            if inside[other]:
                income[other] += paid[page] * (weights[link] if weighted else 1.0)
                if income[other] > allowed:
                    inside[other] = False
                    others[gone] = other
                    gone += 1


@part
def _lead(links: Rows, turned: Rows, share: Vector, target: int, scratch: Scratch) -> int:
    """Step 3: returns the number of pages in `queue` that lead to the target inside; their leads are in `amount`."""
    inside, seen, lead, queue = scratch.inside, scratch.seen, scratch.amount, scratch.queue
    offsets, sources, _ = turned
    queue[0] = target
    first, count = 0, 1
    while first < count:
        page = queue[first]
        first += 1
        for link in range(offsets[page], offsets[page + 1]):
            other = sources[link]
            if inside[other] and not seen[other]:
                seen[other] = True
                queue[count] = other
                count += 1
    offsets, targets, weights = links
    weighted = len(weights) > 0
    lead[target] = 1.0
    for _ in range(SWEEPS):
        for place in range(1, count):
            page = queue[place]
            total = 0.0
            for link in range(offsets[page], offsets[page + 1]):
                total += lead[targets[link]] * (weights[link] if weighted else 1.0)
            lead[page] = share[page] * total
    lead[target] = 0.0
    for place in range(1, count):
        queue[place - 1] = queue[place]
        seen[queue[place]] = False
    return count - 1


@part
def _trim(turned: Rows, count: int, scratch: Scratch) -> int:
    """Step 3: puts pages with too small a lead into `others`, returns their number, and marks the rest `inside`."""
    inside, lead, queue, others = scratch.inside, scratch.amount, scratch.queue, scratch.others
    offsets, sources, _ = turned
    squares, total = 0.0, 0.0
    for place in range(count):
        squares += lead[queue[place]] ** 2
        total += lead[queue[place]]
    gone = 0
    for place in range(count):
        page = queue[place]
        if lead[page] * total < TRIMMED * squares:
            others[gone] = page
            gone += 1
        else:
            inside[page] = True
    for place in range(count):
        lead[queue[place]] = 0.0
    # Pages fed only by the set and by each other stay. Hence all without other income are in at first, then fall out.
    for place in range(gone):
        inside[others[place]] = scratch.income[others[place]] == 0.0
    changed = True
    while changed:
        changed = False
        for place in range(gone):
            page = others[place]
            if inside[page]:
                for link in range(offsets[page], offsets[page + 1]):
                    if not inside[sources[link]]:
                        inside[page] = False
                        changed = True
                        break
    left = 0
    for place in range(gone):
        if not inside[others[place]]:
            others[left] = others[place]
            left += 1
    return left


@kernel
def _rivals(
    links: Rows, paid: Vector, scores: Vector, supporters: Pages, target: int, scratch: Scratch
) -> tuple[float, int, int]:
    """The score that the supporters give to the target, the number of its rivals, and how many supporters one leads
    back to."""
    offsets, targets, weights = links
    weighted = len(weights) > 0
    inside, amount, others = scratch.inside, scratch.amount, scratch.others
    count = 0
    for page in supporters:
        inside[page] = True
        for link in range(offsets[page], offsets[page + 1]):
            other = targets[link]
            if amount[other] == 0.0:
                others[count] = other
                count += 1
            amount[other] += paid[page] * (weights[link] if weighted else 1.0)
    given = amount[target]
    rivals, ruled = 0, 0
    for place in range(count):
        other = others[place]
        rival = amount[other] >= max(RIVAL_GIVEN * given, RIVAL_SHARE * scores[other])
        if rival and other != target and rivals <= MOST_RIVALS:
            rivals += 1
            scratch.queue[0] = other
            seen = reach(links, 1, min(NEAR_TARGET[0], len(paid) // NEAR_TARGET[1]), scratch)
            back = 0
            for position in range(1, seen):
                back += inside[scratch.queue[position]]
            forget(seen, scratch)
            ruled = max(ruled, back)
    for place in range(count):
        amount[others[place]] = 0.0
    for page in supporters:
        inside[page] = False
    return given, rivals, ruled


@kernel
def _way_back(
    links: Rows, turned: Rows, paid: Vector, supporters: Pages, target: int, scratch: Scratch
) -> tuple[float, int, int]:
    """The score that the supporters receive from outside, how many of them do, and how many are led to by pages outside
    to which the supporters lead back, not through the target.
    """
    offsets, sources, weights = turned
    weighted = len(weights) > 0
    inside, seen, queue = scratch.inside, scratch.seen, scratch.queue
    queue[: len(supporters)] = supporters
    inside[supporters] = True
    seen[target] = True
    count = reach(links, len(supporters), min(NEAR_COMMUNITY[0], len(paid) // NEAR_COMMUNITY[1]), scratch)
    known = scratch.amount
    for page in supporters:
        for link in range(links[0][page], links[0][page + 1]):
            known[links[1][link]] += 1.0
    received, entered, back = 0.0, 0, 0
    for page in supporters:
        enters, returns = False, False
        for link in range(offsets[page], offsets[page + 1]):
            source = sources[link]
            # A page known mostly from the supporters is one of them in all but its lead.
            if not inside[source] and 2.0 * known[source] < offsets[source + 1] - offsets[source]:
                received += paid[source] * (weights[link] if weighted else 1.0)
                enters = True
                returns = returns or (seen[source] and source != target)
        entered += enters
        if returns:
            scratch.others[back] = page
            back += 1
    for page in supporters:
        for link in range(links[0][page], links[0][page + 1]):
            known[links[1][link]] = 0.0
    forget(count, scratch)
    queue[:back] = scratch.others[:back]
    back = reach(links, back, 0, scratch)
    forget(back, scratch)
    seen[target] = False
    inside[supporters] = False
    return received, entered, back
