"""The messages between the shard and its fetchers, and the frames of the journal.

A `Lease` goes out, a `Visit` comes back. Both are packed with msgpack as arrays: a message has values and no field
names. The journal stores the bytes of a visit as the fetcher packed them, so a replay sees exactly what the fetcher
sent.

A batch is a list of messages; `processes/channel.py` sends it through a socket.

Trap: fields are stored by position. A new field goes to the end and has a default.
"""

from enum import IntEnum, IntFlag

import msgspec
import numpy as np

from centime.change.advice import NO_ADVICE, Advice
from centime.change.seen import Seen
from centime.fetch.address_leases import AddressLease
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.people.subscriptions import Subscription, Watched


class Role(IntFlag):
    """What was announced about a page before it was read; the numbers are written to disk and must not change."""

    SITEMAP = 1  # a person, robots.txt or a sitemap index calls it a sitemap
    GUESSED = 2  # a person gave no scheme: it is https, and http if nothing answers


PLAIN = Role(0)
WITHOUT_TLS = "without a scheme:"  # the detail of a visit starts with this if it tries http instead of https


class Lease(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page handed to a fetcher."""

    page: PageId
    url: str
    depth: int = 0
    etag: str = ""
    modified: str = ""
    digest: bytes = b""  # of the stored copy, so that the same content is archived once
    watch: tuple[Subscription, ...] = ()  # the subscriptions whose condition is evaluated in this page
    patience: float = 0.0  # seconds to wait for a host that may never answer; 0 for as long as the settings say
    role: Role = PLAIN  # what was announced about the page before it was read
    hops: int = 0  # redirects in a row that led to this page
    nesting: int = 0  # of a requisite: 1 if a page needs it, 2 if a requisite of a page does, and so on; 0 for a page
    signature: int = 0  # of the stored copy
    state: bytes = b""  # the state with which the page is compared
    advice: Advice = NO_ADVICE  # the rules by which the host's pages are compared
    doubt: bool = False  # an answer that the page is unchanged (304) is checked by another request
    noarchive: bool = False  # the page asked not to be archived
    skips_hook: bool = False  # `on_page` is not called, because it ended fetchers for this page


class AddressesAsked(msgspec.Struct, frozen=True, gc=False):
    """Addresses that a fetcher requests, with their delays."""

    addresses: dict[str, float]


class Visit(msgspec.Struct, array_like=True, frozen=True, gc=False, kw_only=True):
    """One attempt to read a page, with its outcome. Links are 64-bit fingerprints, one after the other."""

    page: PageId
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
    same_depth: bool = False  # the linked pages are as deep as this one: it is a redirect or a sitemap
    index_of: int = 0  # fingerprint of the folder whose index page this may be; 0 if none
    fresh_for: float = 0.0  # seconds for which the page is fresh by the server's cache header
    claims: bytes = b""  # CLAIM entries: claims of a sitemap or feed about the pages that it lists
    watched: tuple[Watched, ...] = ()  # the results of the conditions of subscriptions
    held: float = 0.0  # seconds for which the host kept the fetcher waiting, from connecting to the last byte
    role: Role = PLAIN  # of the pages linked to: those of a sitemap index are sitemaps
    is_sitemap: bool = False  # the page was read as a sitemap
    sitemaps: bytes = b""  # URLs of the sitemaps that robots.txt names, a line each
    needed: bytes = b""  # URLs of the requisites that this fetcher has not sent lately, a line each
    needs_cut: int = 0  # requisites above the limits of a page and of nesting
    is_page: bool = False  # fetched as a requisite, and found to be a page in scope
    noarchive: bool = False  # the page asks not to be archived, and is not
    shapes: bytes | None = None  # SHAPE entries of `fresh`; None: the fetcher was older than shapes
    shape: int = 0  # key of the suspicious shape of this page's URL (discover/traps.py); 0 if it has none
    shorter: bytes = b""  # fingerprints (uint64) of shorter URLs that may have the same content, if it has a shape
    refused: bytes = b""  # fingerprints (uint64) of the links that the fetcher refused, each once
    refused_for: bytes = b""  # their reasons, a byte each (discover/refusal.py), TEXT_FOLLOWS if their text follows
    refused_texts: bytes = b""  # a line each
    seen: Seen | None = None  # how the content compares with the stored copy; None if it was not compared
    doubted: int = 0  # the result of the check of a 304: NOT_DOUBTED, TRUE or LIE
    elsewhere: tuple[tuple[str, float], ...] = ()  # other hosts that were contacted on the way, each with the last time
    sample: bytes = b""  # of the text (parse/text_sample.py), if the URL has a suspicious shape
    target: str = ""  # where the page moved to permanently
    hubs: tuple[str, ...] = ()  # the topic of a feed and the hubs that announce its changes
    foreign: bool = False  # imported: `digest` and `signature` are those of another program
    unfollowed: bytes = b""  # those of `links` (uint64) that ask not to be followed, if they have a weight of their own


TEXT_FOLLOWS = 128
SHAPE = np.dtype([("place", "<u4"), ("key", "<u8")])  # a link, by its place, and the key of its shape
NOT_DOUBTED, TRUE, LIE = 0, 1, 2

CLAIM = np.dtype([("fingerprint", "<u8"), ("modified", "<f8"), ("period", "<f8")])  # in seconds; 0 if unknown


class Visits(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Visits that are recorded together, and when: a frame of the journal."""

    now: float
    visits: list[msgspec.Raw]


class Granted(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Leases that were granted: a frame of the journal. `count` is how many were requested, `slots` how many the
    fetchers can hold in all; 0 for no bound.
    """

    now: float
    count: int
    pages: list[PageId]
    slots: int = 0


class Seeded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """URLs from outside the crawl, a line each: a frame of the journal. With `sources`, they were refused before, and
    new settings accept them; the bounds of the crawl hold for them.
    """

    now: float
    texts: bytes
    depth: int = 0
    level: int = 5
    role: Role = PLAIN
    sources: bytes = b""  # page numbers (int64): where a link to each was found


class Returned(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Leases whose fetcher died: a frame of the journal. With `all`, every lease: when a crawl is opened again."""

    now: float
    pages: list[PageId]
    all: bool = False
    rules: int = 0  # if all: the rules by which pages are leased from now on


class Configured(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """New settings, as JSON: a frame of the journal, and the first of every crawl. No lease is out at that moment."""

    now: float
    settings: str


class Bounded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """How many pages the machine has memory for, and how many are allowed while memory is short (0: it is not): a frame
    of the journal. Measurements of the engine take effect only through it, so that a replay decides the same.
    """

    now: float
    machine: int
    pressed: int = 0


class Settled(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Debts are paid until the certified error is at most `error`, with at most `payments` payments: a frame of the
    journal.
    """

    error: float
    payments: int


class Commanded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A command of a person, packed as it was received: a frame of the journal."""

    now: float
    command: bytes


class Clocked(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A run uses another clock than the last one: a frame of the journal. `ahead` is how far it is ahead of the time
    since the machine was started, `boot` which start that was (`processes/clock.py`).

    If the clock was set, `before` is the latest time that the shard had seen, and `passed` the seconds that have truly
    passed since; otherwise both are 0.
    """

    now: float
    boot: str
    ahead: float
    before: float = 0.0
    passed: float = 0.0


class Knowledge(IntEnum):
    """What an imported file says about a visit; the numbers are written to disk and must not change."""

    WHOLE = 0  # everything: its body was read as a fetcher reads it
    LINKED = 1  # its outcome and its links
    SEEN = 2  # its outcome; the page is still to be read for its links
    LINKS = 3  # there is no visit, only links


class Imported(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Visits that other programs made, at the times in `asked_at`, from a file up to a position: a frame of the
    journal.
    """

    now: float
    source: str  # the key of the file
    position: int  # up to which the file is imported; what it counts depends on the format
    texts: bytes  # the URL of each visit, a line each
    visits: list[msgspec.Raw]  # their page is 0
    knowledge: bytes  # of each visit


class Delivered(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The notices of a subscription up to a number were delivered: a frame of the journal."""

    now: float
    name: str
    up_to: int


class Flushed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The next batch of transfers for a partition is closed, with the proxies that have `threshold` units or more to
    send: a frame of the journal. The content of the batch follows from the state.
    """

    now: float
    partition: int
    threshold: int = 1


class Received(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A batch of transfers from a partition, packed as it was received: a frame of the journal."""

    now: float
    partition: int
    number: int
    batch: bytes


pack = msgspec.msgpack.Encoder().encode
unpack_leases = msgspec.msgpack.Decoder(list[Lease]).decode
unpack_visit = msgspec.msgpack.Decoder(Visit).decode
unpack_batch = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
# the number of a page, what is wrong, or addresses
unpack_note = msgspec.msgpack.Decoder(PageId | str | AddressesAsked).decode
unpack_grants = msgspec.msgpack.Decoder(dict[str, AddressLease]).decode


def is_visit(packed: bytes) -> bool:
    """Whether a part of a batch is a visit; otherwise it is a note."""
    return packed[0] in _ARRAYS


def are_grants(packed: bytes) -> bool:
    """Whether a message to a fetcher has leases of addresses; otherwise it has leases of pages."""
    return packed[0] not in _ARRAYS


_ARRAYS = frozenset([*range(0x90, 0xA0), 0xDC, 0xDD])  # first bytes of arrays in msgpack
