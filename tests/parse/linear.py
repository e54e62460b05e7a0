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
    return min(seconds(200_000) for _ in range(2)) < 20 * min(seconds(20_000) for _ in range(3)) + 0.1
