"""Whether a reader takes linear time, however hostile the text."""

import time
from collections.abc import Callable
from typing import AnyStr


def takes_linear_time(read: Callable[[AnyStr], object], piece: AnyStr) -> bool:
    """Whether ten times as many repetitions of a piece take about ten times as long, where a square would take 100."""

    def seconds(count: int) -> float:
        started = time.process_time()
        read(piece * count)
        return time.process_time() - started

    seconds(1_000)
    few = 20_000 if seconds(2_000) < 0.005 else 10_000  # of what takes long, few are enough to tell a square
    most = 20 * min(seconds(few) for _ in range(3)) + 0.1
    return any(seconds(10 * few) < most for _ in range(2))
