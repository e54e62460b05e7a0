"""How long a piece of work takes by itself, for what is tried on made-up input before a crawl takes it."""

import math
import time
from collections.abc import Callable

TRIES = 3


def quickest(work: Callable[[], object], enough: float) -> float:
    """The CPU seconds of the quickest of a few tries; one that takes less than `enough` is the last.

    A busy machine must not make good work slow: hence CPU time. Nor must a collection of garbage that falls into a try,
    which takes longer than the work where a process holds millions of objects: hence more than one.
    """
    took = math.inf
    for _ in range(TRIES):
        began = time.thread_time()
        work()
        took = min(took, time.thread_time() - began)
        if took < enough:
            break
    return took
