"""One visit of a page as it is remembered: the Refresh-Data and the Status-Data of the Xyleme paper (Section 4)."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

from centime.model.outcome import Outcome, PageKind

NO_PAGE = -1


class Mark(IntFlag):
    """What else is to be said about a visit; the numbers are written to disk and must not change."""

    CHANGED = 1  # the content that matters differs from the time before
    TRUNCATED = 2  # the body was longer than the limit
    NOFOLLOW = 4  # the page asks that its links be not followed
    NOINDEX = 8
    CONDITIONAL = 16  # the server was asked for changes only
    KEPT = 32  # the body lies in the archive
    LINKS_CUT = 64  # it had more links than are kept


NO_MARK = Mark(0)


class Loading(IntEnum):
    """How far the loading of a document has come; the numbers are written to disk and must not change."""

    NOT_WANTED = 0
    WAITING = 1  # for its DTD or its entities
    COMPLETE = 2
    FAILED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One visit, and what was known about the page after it. Times are seconds since the epoch, 0 where there is
    none.
    """

    page: int
    previous: int = 0  # where the record of the visit before lies, 0 without; filled in when this is appended
    time: float
    first_time: float = 0.0  # of the first visit
    changed_time: float = 0.0  # when a change was last detected
    modified_time: float = 0.0  # of the last change, as the server says
    baseline_time: float = 0.0  # since when visits and changes are counted
    importance: float = 0.0
    signature: int = 0
    digest: bytes = bytes(16)
    visits: int = 0
    changes: int = 0
    wire_bytes: int = 0
    body_bytes: int = 0
    latency_milliseconds: int = 0
    links: int = 0
    redirect: int = NO_PAGE  # the page that this one leads on to
    status: int = 0
    depth: int = 0
    marks: Mark = NO_MARK
    outcome: Outcome
    kind: PageKind = PageKind.UNREAD
    failures: int = 0  # in a row; 255 stands for all above
    priority: int = 0
    loading: Loading = Loading.NOT_WANTED
    etag: str = ""
    modified: str = ""  # Last-Modified as the server wrote it
    content_type: str = ""
    detail: str = ""
    address: str = ""
    canonical: str = ""
    title: str = ""
    language: str = ""
    document_type: str = ""
    root: str = ""
