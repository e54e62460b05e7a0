"""What people order of a crawl from outside, while it runs or before its next run.

An order is a value with an id of its own (128 random bits, given where it was made) and the time at which it was made. It goes through the
folder `orders/` (order_inbox.py), into the journal, and is carried out: once, because the shard remembers the ids of the last orders
(`RecentIds`) as part of its state. A large publication is several orders, none of which makes a huge frame of the journal.
"""

import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from centime.crawl.patterns import check_pattern
from centime.crawl.subscriptions import Subscription
from centime.crawl.watching import check_xpath
from centime.discover.canonical import canonical
from centime.model.errors import BadInput, BadSetting

MOST_URLS = 20_000  # in one order: taking it holds the crawl up for a tenth of a second
MOST_URL_BYTES = 2 << 20
MOST_NAME = 200  # characters of a publisher's or a cluster's name
REMEMBERED = 4_096
LEAST_EVERY, MOST_EVERY = 1.0, 10 * 365 * 86_400.0

Value = str | float | list[str] | None
Source = Literal["url", "sitemap", "feed"]

_ID = re.compile(r"[0-9a-f]{32}").fullmatch
_NAME = re.compile(r"[\w.:-]{1,100}").fullmatch
_DESTINATION = re.compile(r"file:.+|command:.+|https?://[^/\s]+.*", re.DOTALL).fullmatch


class SetOrder(msgspec.Struct, tag="set", frozen=True, kw_only=True):
    """Go on with other settings. A name with `+` or `-` behind it adds to a list, or takes from it; see settable.py."""

    id: str
    time: float
    values: dict[str, Value]


class PublishOrder(msgspec.Struct, tag="publish", frozen=True, kw_only=True):
    """These pages are new or have changed; or these sitemaps or feeds, which are to be read now, say which have."""

    id: str
    time: float
    urls: bytes  # canonical URLs, a line each
    source: Source = "url"  # what the URLs are
    cluster: str = ""  # pages of one cluster are read close together
    publisher: str = ""  # who says so, for its credit; nobody: the hosts of the URLs
    modified: bytes = b""  # nothing, or for each URL when it changed (float64, seconds since the epoch), 0 if not said
    periods: bytes = b""  # nothing, or for each URL how often it changes by its publisher's word (float64, seconds), 0 if not said

    def lines(self) -> list[str]:
        """The URLs."""
        return self.urls.decode().split("\n")


class SubscribeOrder(msgspec.Struct, tag="subscribe", frozen=True, kw_only=True):
    """Somebody wants to be told of changes."""

    id: str
    time: float
    subscription: Subscription


class UnsubscribeOrder(msgspec.Struct, tag="unsubscribe", frozen=True, kw_only=True):
    """Somebody wants to be told no longer."""

    id: str
    time: float
    name: str


Order = SetOrder | PublishOrder | SubscribeOrder | UnsubscribeOrder

pack_order = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Order).decode


def new_id() -> str:
    """An id that no other order has."""
    return secrets.token_hex(16)


def unpack_order(packed: bytes) -> Order:
    """The order that these bytes are; BadInput says why they are none, or one that cannot be carried out."""
    try:
        order: Order = _decode(packed)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"this is no order: {error}") from error
    check_order(order)
    return order


def check_order(order: Order) -> None:
    """Refuses an order that could not be carried out."""
    if not _ID(order.id):
        raise BadInput(f"the id of an order is 32 hexadecimal digits, not {order.id[:40]!r}")
    if not 0 <= order.time < 1e11:
        raise BadInput(f"the time of an order is in seconds since the epoch, not {order.time}")
    match order:
        case PublishOrder():
            _check_publication(order)
        case SubscribeOrder():
            _check_told(order.subscription)
        case _:
            pass


def check_subscription(told: Subscription) -> None:
    """Refuses a subscription that could never be served, or would hold up the crawl; for new ones, as its pattern is timed."""
    _check_told(told)
    check_pattern(told.pattern)


def _check_told(told: Subscription) -> None:
    """Refuses a subscription that could never be served; the same whenever it is asked, so that a journal can be read again."""
    if not _NAME(told.name):
        raise BadSetting(f"the name of a subscription is 1 to 100 letters, digits and any of _ . : -, not {told.name!r}")
    try:
        re.compile(told.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadSetting(f"the pattern {told.pattern!r} is not a regular expression: {error}") from error
    if not LEAST_EVERY <= told.every <= MOST_EVERY:
        raise BadSetting(f"a subscription is served every second at most and every ten years at least, not every {told.every} s")
    if not _DESTINATION(told.to) or "\0" in told.to:
        raise BadSetting(f"changes are told to file:PATH, command:PROGRAM, http://... or https://..., not to {told.to!r}")
    if told.xpath:
        check_xpath(told.xpath)


def check_content(order: Order) -> None:
    """Refuses a publication of what are no canonical URLs: an order that another program wrote would make pages of them.

    And a subscription or focus whose pattern takes too long, and endless names, too; what is in the journal has passed already.
    """
    if isinstance(order, SubscribeOrder):
        check_pattern(order.subscription.pattern)
    if isinstance(order, SetOrder) and isinstance(rules := order.values.get("focus"), list):
        for rule in rules:
            check_pattern(rule.rpartition("=")[0])
    if isinstance(order, PublishOrder):
        if max(len(order.publisher), len(order.cluster)) > MOST_NAME:
            raise BadInput(f"the name of a publisher or a cluster has {MOST_NAME} characters at most")
        wrong = next((url for url in order.lines() if canonical(url) != url), None)
        if wrong is not None:
            raise BadInput(f"a publication has canonical URLs, a line each, not {wrong[:100]!r}")


def publications(
    urls: Sequence[str],
    *,
    time: float,
    source: Source = "url",
    cluster: str = "",
    publisher: str = "",
    modified: Sequence[float] = (),
    periods: Sequence[float] = (),
) -> Iterator[PublishOrder]:
    """Orders that publish canonical URLs, each of a bounded size, in their order; `modified` and `periods` have one for each or none."""
    begin, part = 0, 0
    while begin < len(urls):
        end, size = begin, 0
        while end < len(urls) and end - begin < MOST_URLS and (end == begin or size + len(urls[end]) < MOST_URL_BYTES):
            size += len(urls[end]) + 1
            end += 1
        yield PublishOrder(
            id=new_id(),
            time=time + part * 1e-6,  # files are taken in the order of their time
            urls="\n".join(urls[begin:end]).encode(),
            source=source,
            cluster=cluster,
            publisher=publisher,
            modified=_column(modified[begin:end]),
            periods=_column(periods[begin:end]),
        )
        begin, part = end, part + 1


class RecentIds:
    """The ids of the last orders; part of the state, so that none is carried out twice."""

    def __init__(self, ids: Sequence[str] = (), most: int = REMEMBERED) -> None:
        self._ids = dict.fromkeys(ids)
        self._most = most

    def __contains__(self, identity: str) -> bool:
        """Whether this order was seen."""
        return identity in self._ids

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._ids)

    def add(self, identity: str) -> bool:
        """Remembers an order; whether it is new."""
        if identity in self._ids:
            return False
        self._ids[identity] = None
        if len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]
        return True

    def state(self) -> list[str]:
        """The ids, the oldest first: plain values for a snapshot's facts."""
        return list(self._ids)

    @classmethod
    def from_state(cls, state: Sequence[str]) -> "RecentIds":
        """The ids of a snapshot."""
        return cls(state)


def _column(values: Sequence[float]) -> bytes:
    return np.asarray(values, dtype="<f8").tobytes() if any(values) else b""


def _check_publication(order: PublishOrder) -> None:
    try:
        count = len(order.lines())
    except UnicodeDecodeError as error:
        raise BadInput(f"the URLs of a publication are text: {error}") from error
    if not order.urls or count > MOST_URLS:
        raise BadInput(f"a publication has 1 to {MOST_URLS} URLs, not {count if order.urls else 0}")
    for name, column in (("modified", order.modified), ("periods", order.periods)):
        if column and len(column) != 8 * count:
            raise BadInput(f"{name} of a publication has a number for each URL or none, not {len(column)} bytes for {count}")


def column_of(packed: bytes, count: int) -> Any:
    """A column of a publication as numbers, zeros where nothing was said."""
    return np.frombuffer(packed, dtype="<f8") if packed else np.zeros(count)
