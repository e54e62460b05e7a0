"""Measures the CPU time of a piece of work, to refuse XPaths that are too slow before a crawl uses them."""

import math
import time
from collections.abc import Callable

TRIES = 2


def quickest(work: Callable[[], object], enough: float) -> float:
    """The CPU seconds of the quickest of a few tries; a try that takes less than `enough` is the last.

    CPU time does not depend on how busy the machine is. There are several tries because a garbage collection can fall
    into one; in a process with millions of objects it takes longer than the work.
    """
    took = math.inf
    for _ in range(TRIES):
        began = time.thread_time()
        work()
        took = min(took, time.thread_time() - began)
        if took < enough:
            break
    return took
