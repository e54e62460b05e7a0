"""The richest page first (Greedy, Section 3.1) during one exploration: pages filed by their cash in a `queue`.

Every visit takes the page that is the richest at that time, within a factor of 1.5. (Choosing pages in batches is a
different algorithm: a page that should be read a thousand times in N visits is read once per batch, and the cash found
on a page is far from 2/n.)

A payment files its receivers again if they belong into a higher bucket. It does not notice the payments of the virtual
page, and a page that gets no other cash would never be read. So all pages are filed again after N/4 visits for N pages,
or when the queue is empty.
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

REFILLS = 4  # in as many visits as there are pages
FILED_SHARE = 8  # one page in 8 is filed: filing all of them at every small payment would be most of the work
RICHEST = -1


class Richest:
    """The pages by their cash, the richest first."""

    def __init__(self, pages: int) -> None:
        self._queue = make_queue(np.zeros(pages, dtype=np.uint8))
        self._wanted = max(1, pages // FILED_SHARE)
        self._left = 0

    def read(self, cash: Cash, damping: float, web: RowBatch, plan: Pages, amounts: Money) -> int:
        """Reads the pages of a plan, and the richest page where it says RICHEST; writes the pages to `plan` and their
        cash to `amounts`.

        Row i of `web` belongs to page i. Returns the number of reads, which is less than planned if no page has cash
        left.
        """
        if self._left <= 0:
            refill(cash, self._queue, self._wanted)
            self._left = max(1, len(self._queue.filed) // REFILLS)
        done = read_plan(cash, damping, self._queue, self._wanted, web, plan, amounts)
        self._left -= done
        return done


@inlined
def take_richest(cash: Cash, queue: Queue) -> Whole:
    """Takes the richest filed page; RICHEST if there is none."""
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
    """Files all pages again, at least `wanted` of them if that many have cash."""
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
    """Reads pages, and files again the pages that now belong into a higher bucket; returns the number of reads."""
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
