"""The clock of a box, which can run faster than real time."""

import time
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache

from centime.lab.webbox.box import WebBox


def box_clock(webbox: WebBox) -> Callable[[], float]:
    """A clock that starts now at the start time of the box and runs at its speed."""
    began = time.monotonic()
    return lambda: webbox.start + webbox.speed * (time.monotonic() - began)


@lru_cache(maxsize=65_536)
def http_date(seconds: int) -> bytes:
    """A time in the format of HTTP."""
    return formatdate(seconds, usegmt=True).encode()


def from_http_date(text: bytes) -> float:
    """The time of an HTTP date; 0 if unparsable."""
    try:
        return parsedate_to_datetime(text.decode("latin-1")).timestamp()
    except ValueError:
        return 0.0
