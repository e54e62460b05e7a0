"""The outcome of a visit, the kind of the page, and whether it is there.

An outcome is a value, never an exception, because failures are normal on the web. The numbers are written to disk and
must not change.
"""

from enum import IntEnum


class PageKind(IntEnum):
    """The kind of a page at its last visit, as in the Xyleme paper."""

    UNREAD = 0
    HTML = 1
    XML = 2
    DTD = 3
    OTHER = 4
    ERROR = 5
    DEAD = 6


class Presence(IntEnum):
    """Whether a page is there, as far as its visits have shown; failures and temporary redirects say nothing about
    it."""

    UNRECORDED = 0  # by a version that did not record it
    NEVER = 1  # no visit has found it
    PRESENT = 2
    GONE = 3  # it was found, and is gone, given up, or moved permanently


class Outcome(IntEnum):
    """The outcome of one attempt to read a page."""

    READ = 0
    UNCHANGED = 1  # 304
    MOVED = 2  # a permanent redirect: 301, 308
    MOVED_TEMPORARILY = 3  # a temporary redirect: 302, 303, 307
    GONE = 4  # 404, 410
    CLIENT_ERROR = 5  # any other 4xx
    SERVER_ERROR = 6  # any 5xx except 503
    BUSY = 7  # 429, 503
    DISALLOWED = 8  # robots.txt forbids it; no request was sent
    NO_ROBOTS = 9  # robots.txt could not be fetched (5xx, unreachable): no page of the host may be fetched now
    NO_ADDRESS = 10  # the name does not resolve
    REFUSED_ADDRESS = 11  # the name resolves to an address that must not be contacted
    NO_CONNECTION = 12  # refused, reset, unreachable
    BAD_TLS = 13
    TIMED_OUT = 14
    BAD_RESPONSE = 15  # not HTTP, wrong lengths, broken compression, headers too large
    LOST = 16  # the fetcher died, so the outcome is unknown
    EXCLUDED = 17  # an exclude pattern that came after the page was known matches it; no request was sent

    @property
    def present(self) -> bool:
        """Whether the server has the page: it was read, or is unchanged."""
        return self <= Outcome.UNCHANGED

    @property
    def redirect(self) -> bool:
        """Whether the page redirects to another."""
        return self in (Outcome.MOVED, Outcome.MOVED_TEMPORARILY)

    @property
    def denied(self) -> bool:
        """Whether the server denies the page, or its address is forbidden: it is given up if that lasts."""
        return self in (Outcome.CLIENT_ERROR, Outcome.REFUSED_ADDRESS)

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
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
