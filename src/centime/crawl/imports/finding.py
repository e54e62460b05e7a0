"""What an imported file says about one page: a visit, or only links. URLs, links and headers are as written there."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from centime.model.outcome import Outcome

MOST_DIGITS = 15  # of a status or a number of bytes

Headers = tuple[tuple[str, str], ...]


class Place(NamedTuple):
    """Where the body of a page is: a file, by its absolute path, and the byte at which its record begins. A file in a
    zip file has the path of that one before its own.
    """

    file: str
    at: int = 0
    is_record: bool = True  # False: the file is the body

    def __str__(self) -> str:
        return f"{self.file} at byte {self.at}" if self.is_record else self.file


class Finding(NamedTuple):
    """One page as a file describes it. Fields that the file does not have are None, empty or 0."""

    url: str
    time: float  # seconds since the epoch
    status: int = 200
    headers: Headers = ()  # names in lower case
    body: bytes | None = None  # decoded; None: the file has no bodies
    truncated: bool = False
    hrefs: tuple[str, ...] | None = None  # None: the file has no links
    flags: bytes = b""  # of the links, as in a Document
    base: str = ""  # against which links are resolved; by default the URL
    digest: str = ""  # by which the file compares contents
    size: int = 0  # bytes of the body
    revisits: float | None = None  # of a revisit: the time of the capture with the same body, 0 if unknown
    only_links: bool = False  # there was no visit
    place: Place | None = None  # of the body


class Trouble(NamedTuple):
    """What is wrong with a part of a file, in words; the rest is read."""

    text: str


class Listed(NamedTuple):
    """A page that a sitemap lists, with the sitemap's claims about it."""

    url: str
    modified: float = 0.0
    period: float = 0.0


class Refused(NamedTuple):
    """A page that the crawl does not accept, for a reason in a word: nothing more of it was decoded."""

    reason: str


FAILED = Refused("failure")
"""A visit that says nothing about the page: a server or a crawler was in trouble."""
Item = Finding | Trouble | Listed | Refused | None


class Reading(NamedTuple):
    """What the reader of a format must know about the crawl."""

    most_bytes: int  # of a body
    refusal: Callable[[str], str] = lambda url: ""  # why it does not accept the URL of a page, in a word; or ""
    is_plain: Callable[[str], bool] = lambda host: False  # whether it knows a host without TLS alone


class Source(Protocol):
    """A file to import."""

    name: str
    format: str
    size: int  # of the file, in the unit of `place`

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """What the file says behind a position that was reached before (0: from the beginning), each with the position
        that is reached when it is imported; None where there is nothing to import.
        """

    def place(self) -> int:
        """How far the file was read, for the progress display."""


IMPORTED = frozenset({Outcome.READ, Outcome.UNCHANGED, Outcome.MOVED, Outcome.MOVED_TEMPORARILY, Outcome.GONE})
"""Outcomes of an old visit that say something about the page now. That a server was busy once does not."""


def number_of(value: object) -> int:
    """The number that a file gives, as a number or in digits; 0 if it is missing or impossible."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS else 0
    return value if isinstance(value, int) and 0 <= value < 10**MOST_DIGITS else 0


def moment_of(text: str) -> float:
    """The seconds since the epoch of a date as in WARC files and logs; 0 if unparsable."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def moment_of_digits(text: str) -> float:
    """The same for YYYYMMDDhhmmss, as indexes have it."""
    digits = text[:14].ljust(14, "0")
    return moment_of(f"{digits[:8]}T{digits[8:]}") if digits.isascii() and digits.isdigit() else 0.0
