"""Ctrl-C and SIGTERM stop a crawl cleanly; a second one stops it without waiting for pages that are being fetched."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_signals(stop: Callable[..., None]) -> Iterator[None]:
    """Calls `stop` on SIGINT and SIGTERM, and restores the handlers at the end."""
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
