"""The pages that are reached by links from some pages, as far as they are relevant to a set of pages.

The search goes from link to link. A path may run through the set as long as it likes, but through at most HOPS pages
outside of it. So a page of the set is found wherever it is entered near the start, and a path through half the web,
which exists between almost any two pages, does not count.

Guaranteed: at most `most` pages outside the set are visited, those with the fewest hops first; no page is visited
twice.
"""

from typing import NamedTuple

from centime.analyse.transition import Marks, Pages, Vector
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import part

HOPS = 3

Rows = tuple[Offsets, Targets, Weights]


class Scratch(NamedTuple):
    """Arrays with one place for each page, which searches reuse; between searches, all marks and amounts are zero."""

    inside: Marks
    seen: Marks
    income: Vector
    amount: Vector
    members: Pages
    others: Pages
    queue: Pages
    later: Pages


@part
def reach(links: Rows, count: int, most: int, scratch: Scratch) -> int:
    """Adds to the first `count` pages of `queue` all that they lead to; all of them are `seen`. Returns how many."""
    offsets, targets, _ = links
    inside, seen, queue, later = scratch.inside, scratch.seen, scratch.queue, scratch.later
    for place in range(count):
        seen[queue[place]] = True
    first, outside = 0, 0
    for hop in range(HOPS + 1):
        waiting = 0
        while first < count:
            page = queue[first]
            first += 1
            for link in range(offsets[page], offsets[page + 1]):
                other = targets[link]
                if seen[other]:
                    continue
                if inside[other]:
                    seen[other] = True
                    queue[count] = other
                    count += 1
                elif hop < HOPS and outside < most:
                    seen[other] = True
                    later[waiting] = other
                    waiting += 1
                    outside += 1
        for place in range(waiting):
            queue[count] = later[place]
            count += 1
    return count


@part
def forget(count: int, scratch: Scratch) -> None:
    """Clears `seen` for the first `count` pages of `queue`."""
    for place in range(count):
        scratch.seen[scratch.queue[place]] = False
