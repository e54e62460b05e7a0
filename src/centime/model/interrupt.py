"""Steps that Ctrl-C must not separate.

Money moves in one call, and the row that moved it is written in the next. An interrupt between the two would leave a
ledger that contradicts its rows, so it is delayed for those few microseconds.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays SIGINT in the main thread until the block ends; other threads never receive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held and callable(before):
            before(*held[0])
