"""What the shard and its fetchers say to each other, and what the journal keeps of it.

A `Lease` goes out, a `Visit` comes back; both are packed with msgpack, as arrays, so a message is its values and
nothing else. The bytes of a visit are written to the journal as the fetcher packed them: what is replayed after a crash
is what was said.

A batch is a list of messages; how they cross a socket is in `processes/channel.py`.
"""

import msgspec
import numpy as np

from centime.model.outcome import Outcome, PageKind
from centime.shard.subscriptions import Subscription, Watched


class Lease(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page handed to a fetcher."""

    page: int
    url: str
    depth: int = 0
    etag: str = ""
    modified: str = ""
    digest: bytes = b""  # of the copy we have, so that the same content is archived once
    watch: tuple[Subscription, ...] = ()  # those that want an XPath looked for in this page


class Visit(msgspec.Struct, array_like=True, frozen=True, gc=False, kw_only=True):
    """One attempt to read a page, with its outcome; a page's links are 64-bit fingerprints side by side."""

    page: int
    outcome: Outcome
    kind: PageKind = PageKind.UNREAD
    status: int = 0
    asked_at: float = 0.0
    seconds: float = 0.0
    wire_bytes: int = 0
    body_bytes: int = 0
    truncated: bool = False
    nofollow: bool = False
    noindex: bool = False
    signature: int = 0
    digest: bytes = b""
    etag: str = ""
    modified: str = ""
    content_type: str = ""
    address: str = ""
    crawl_delay: float = 0.0
    retry_after: float = 0.0
    detail: str = ""
    links: bytes = b""  # fingerprints (uint64) of the pages linked to, each once
    fresh: bytes = b""  # those of them (uint64) whose text follows: not seen by this fetcher lately
    texts: bytes = b""  # their URLs, a line each
    beside: bool = False  # the links lead to pages as deep as this one: a redirect, a sitemap
    index_of: int = 0  # fingerprint of the folder whose index this may be
    fresh_for: float = 0.0  # seconds for which the server's cache header says that it holds
    claims: bytes = b""  # CLAIM entries: what a sitemap or feed says of the pages that it lists
    watched: tuple[Watched, ...] = ()  # what XPaths found


CLAIM = np.dtype([("fingerprint", "<u8"), ("modified", "<f8"), ("period", "<f8")])  # seconds; 0 where nothing is said


class Visits(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Visits that are recorded together, and the time at which they are: a frame of the journal."""

    now: float
    visits: list[msgspec.Raw]


class Granted(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Leases that were granted, each of them to its fetcher: a frame of the journal."""

    now: float
    count: int
    pages: list[int]


class Seeded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """URLs that came from outside: seeds, sitemaps, publications. A frame of the journal."""

    now: float
    texts: bytes
    depth: int = 0
    level: int = 5


class Returned(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Leases whose fetcher died: a frame of the journal. All of them when the crawl is opened again."""

    now: float
    pages: list[int]
    all: bool = False


class Configured(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Settings (as JSON) to go on with: a frame of the journal, the first of every crawl. No lease is out at that
    moment.
    """

    now: float
    settings: str


class Settled(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An order to pay debts until the error is small: a frame of the journal."""

    error: float
    payments: int


class Commanded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A command from outside, packed as it came: a frame of the journal."""

    now: float
    command: bytes


class Delivered(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Notices of a subscription up to a number have arrived: a frame of the journal."""

    now: float
    name: str
    up_to: int


pack = msgspec.msgpack.Encoder().encode
unpack_leases = msgspec.msgpack.Decoder(list[Lease]).decode
unpack_visit = msgspec.msgpack.Decoder(Visit).decode
unpack_batch = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
