"""The clock of a box: it can run faster than time."""

import time
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache

from centime.lab.webbox.box import WebBox


def box_clock(webbox: WebBox) -> Callable[[], float]:
    """A clock that shows the start of the box now and runs at its speed."""
    began = time.monotonic()
    return lambda: webbox.start + webbox.speed * (time.monotonic() - began)


@lru_cache(maxsize=65_536)
def http_date(seconds: int) -> bytes:
    """A time as HTTP writes it."""
    return formatdate(seconds, usegmt=True).encode()


def from_http_date(text: bytes) -> float:
    """The time that a date of HTTP says; long ago when it says none."""
    try:
        return parsedate_to_datetime(text.decode("latin-1")).timestamp()
    except ValueError:
        return 0.0
