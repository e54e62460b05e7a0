"""The richest page first (Greedy, Section 3.1), for the length of one exploration: pages filed by their cash in a
`queue`.

Every visit takes the page that is the richest then, within a factor 1.5. (Choosing pages in batches is another
algorithm: a page that ought to be read a thousand times in the time of N visits is read once a batch, and the cash
found on a page is far from 2/n.)

A payment files the pages it goes to, where they now belong higher. What the virtual page gives to all is not seen that
way, and a page that lives on it alone would never be read, so all pages are filed anew after every 1/4 of their number
of visits, or when none is left.
"""

import numpy as np

from centime.ledger.cash import Cash, Money, held, read_page
from centime.ledger.queue import (
    BUCKETS,
    FLOOR,
    TOP,
    Queue,
    bucket_of,
    clear,
    file_page,
    file_surely,
    floor_for,
    make_queue,
    take_page,
)
from centime.model.kernel import Whole, inlined, kernel
from centime.model.row_batch import Pages, RowBatch

REFILLS = 4  # in the time of as many visits as there are pages
FILED_SHARE = 8  # one page in so many is filed: filing them all at every small payment would be most of the work
RICHEST = -1


class Richest:
    """The pages by their cash, the richest first."""

    def __init__(self, pages: int) -> None:
        self._queue = make_queue(np.zeros(pages, dtype=np.uint8))
        self._wanted = max(1, pages // FILED_SHARE)
        self._left = 0

    def read(self, cash: Cash, damping: float, web: RowBatch, plan: Pages, amounts: Money) -> int:
        """Reads the pages of a plan, the richest where it says RICHEST; `plan` and `amounts` come back with which, and
        their cash.

        Row i of `web` is that of page i. Gives back how many were read: not all if there was no page with cash left.
        """
        if self._left <= 0:
            refill(cash, self._queue, self._wanted)
            self._left = max(1, len(self._queue.filed) // REFILLS)
        done = read_plan(cash, damping, self._queue, self._wanted, web, plan, amounts)
        self._left -= done
        return done


@inlined
def take_richest(cash: Cash, queue: Queue) -> Whole:
    """The richest page filed, no longer filed; RICHEST when there is none."""
    while True:
        page = take_page(queue)
        if page < 0:
            return RICHEST
        bucket = bucket_of(held(cash, page))
        if bucket >= queue.state[TOP]:
            return page
        if bucket >= queue.state[FLOOR]:
            file_surely(queue, page, bucket)


@kernel
def refill(cash: Cash, queue: Queue, wanted: int) -> None:
    """Files all pages anew, at least `wanted` of them if so many have cash."""
    clear(queue)
    counts = np.zeros(BUCKETS, dtype=np.int64)
    for page in range(len(cash.stored)):
        counts[bucket_of(held(cash, page))] += 1
    floor = floor_for(counts, wanted)
    queue.state[FLOOR] = floor
    for page in range(len(cash.stored)):
        bucket = bucket_of(held(cash, page))
        queue.filed[page] = 0
        if bucket >= floor:
            file_page(queue, page, bucket)


@kernel
def read_plan(cash: Cash, damping: float, queue: Queue, wanted: int, web: RowBatch, plan: Pages, amounts: Money) -> int:
    """Reads pages, and files the pages they pay where they belong higher; how many were read."""
    for k in range(len(plan)):
        refilled = False
        while plan[k] == RICHEST:
            plan[k] = take_richest(cash, queue)
            if plan[k] == RICHEST:
                if refilled:
                    return k
                refill(cash, queue, wanted)
                refilled = True
        page = np.uintp(plan[k])
        amounts[k] = read_page(cash, damping, page, web, page)
        start = np.uintp(web.starts[page])
        for link in range(start, start + np.uintp(web.lengths[page])):
            target = np.uintp(web.targets[link])
            bucket = bucket_of(held(cash, target))
            if bucket > queue.filed[target] and bucket >= queue.state[FLOOR]:
                file_surely(queue, target, bucket)
    return len(plan)
