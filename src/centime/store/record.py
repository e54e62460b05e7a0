"""The record of one visit: the Refresh-Data and the Status-Data of the Xyleme paper (Section 4)."""

from enum import IntFlag

import msgspec

from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind, Presence

NO_PAGE = PageId(-1)


class Mark(IntFlag):
    """Flags of a visit; the numbers are written to disk and must not change (32 and 64 are free)."""

    CHANGED = 1  # the content differs from the previous read
    TRUNCATED = 2  # the body was longer than the limit
    NOFOLLOW = 4  # the page asks crawlers not to follow its links
    NOINDEX = 8
    FOREIGN = 16  # imported: signature and digest are another program's, and cannot be compared with ours
    SITEMAP = 128  # the page is a sitemap, and its entries are its links
    BROKEN = 256  # the sitemap is damaged: `detail` says how
    NOARCHIVE = 512  # the page asks not to be archived, and was not
    MARKUP = 1024  # minor: the bytes differ from the previous read, and only in markup
    VOLATILE = 2048  # minor: the bytes differ from the previous read, and only in parts known to be volatile
    KNOWN_VOLATILE = 4096  # subscribers know of the volatile parts of the page
    BECAME_VOLATILE = 8192  # this visit notifies them: a part differs that counts as volatile from now on


NO_MARK = Mark(0)
OF_CONTENT = (  # unchanged as long as the content is
    Mark.TRUNCATED | Mark.NOFOLLOW | Mark.NOINDEX | Mark.SITEMAP | Mark.NOARCHIVE | Mark.FOREIGN
)


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One visit, and what is known about the page after it. Times are seconds since the epoch, 0 if unknown."""

    page: PageId
    previous: int = 0  # the place of the previous record of this page, 0 if there is none; set by `Records.append`
    time: float
    first_time: float = 0.0  # of the first visit
    changed_time: float = 0.0  # when a change was last detected
    modified_time: float = 0.0  # of the last change, according to the server
    baseline_time: float = 0.0  # the start of the counts of visits and changes
    importance: float = 0.0
    signature: int = 0
    digest: bytes = bytes(16)
    visits: int = 0
    changes: int = 0
    wire_bytes: int = 0
    body_bytes: int = 0
    latency_milliseconds: int = 0
    links: int = 0
    redirect: PageId = NO_PAGE  # the page that this one redirects to
    status: int = 0
    depth: int = 0
    marks: Mark = NO_MARK
    outcome: Outcome
    kind: PageKind = PageKind.UNREAD
    failures: int = 0  # in a row; 255 stands for 255 or more
    presence: Presence = Presence.UNRECORDED
    etag: str = ""
    modified: str = ""  # Last-Modified as the server wrote it
    content_type: str = ""
    detail: str = ""
    address: str = ""
    canonical: str = ""
    title: str = ""
    language: str = ""
    refused: str = ""  # how many links of the page were refused, by reason: scope=12 suffix=3
    state: bytes = b""  # the next read is compared with it; empty if this visit made no new one
    state_at: int = 0  # the place of the record whose visit made it, 0 if there is none
    hidden: bytes = b""  # the volatile parts at the last read, if `state` is that of an earlier record
