"""What can come of a visit, and what kind of page it found.

An outcome is a value, never an exception: the web is expected to be like this. The numbers are written to disk and must
not change.
"""

from enum import IntEnum


class PageKind(IntEnum):
    """What a page was when it was last read, as the Xyleme paper has it."""

    UNREAD = 0
    HTML = 1
    XML = 2
    DTD = 3
    OTHER = 4
    ERROR = 5
    DEAD = 6


class Outcome(IntEnum):
    """How one attempt to read a page ended."""

    READ = 0
    UNCHANGED = 1  # the server said 304
    MOVED = 2  # a redirect that is permanent: 301, 308
    MOVED_TEMPORARILY = 3  # a redirect that is temporary: 302, 303, 307
    GONE = 4  # 404, 410
    CLIENT_ERROR = 5  # any other 4xx
    SERVER_ERROR = 6  # 5xx without 503
    BUSY = 7  # 429, 503
    DISALLOWED = 8  # robots.txt says no; nothing was asked
    NO_ROBOTS = 9  # robots.txt could not be had (5xx, unreachable): nothing may be asked now
    NO_ADDRESS = 10  # the name does not resolve
    REFUSED_ADDRESS = 11  # the name resolves to an address that may not be asked
    NO_CONNECTION = 12  # refused, reset, unreachable
    BAD_TLS = 13
    TIMED_OUT = 14
    BAD_RESPONSE = 15  # not HTTP, wrong lengths, broken compression, headers too large
    LOST = 16  # the fetcher died: nothing is known

    @property
    def present(self) -> bool:
        """Whether the page was there: read now, or as it was."""
        return self <= Outcome.UNCHANGED

    @property
    def redirect(self) -> bool:
        """Whether the page leads on to another."""
        return self in (Outcome.MOVED, Outcome.MOVED_TEMPORARILY)

    @property
    def transient(self) -> bool:
        """Whether the same request may well succeed later."""
        return self in _TRANSIENT


_TRANSIENT = frozenset(
    {
        Outcome.SERVER_ERROR,
        Outcome.BUSY,
        Outcome.NO_ROBOTS,
        Outcome.NO_ADDRESS,
        Outcome.NO_CONNECTION,
        Outcome.BAD_TLS,
        Outcome.TIMED_OUT,
        Outcome.BAD_RESPONSE,
        Outcome.LOST,
    }
)
