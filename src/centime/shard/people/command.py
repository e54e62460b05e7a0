"""Commands: orders of people to a crawl, while it runs or before its next run.

A command is a value with its own id (128 random bits) and the time at which it was made. It is first a file of the
folder `commands/` (`crawl/commands/inbox.py`), then a frame of the journal. It is carried out once, because the shard
remembers the ids of the last commands (`RecentIds`) as part of its state. A large publication becomes several commands,
so that no frame of the journal is huge.
"""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from centime.settings.live import Value
from centime.shard.people.subscriptions import Subscription

MOST_URLS = 20_000  # in one command: such a command delays the crawl by a tenth of a second
MOST_URL_BYTES = 2 << 20
MOST_NAME = 200  # characters of a publisher's or a cluster's name
REMEMBERED = 4_096

Source = Literal["url", "sitemap", "feed"]


class SetCommand(msgspec.Struct, tag="set", frozen=True, kw_only=True):
    """Applies new settings. A name that ends in `+` or `-` adds to a list or removes from it (`settings/live.py`)."""

    id: str
    time: float
    values: dict[str, Value]
    by: str = ""  # who gave it, for the log of orders; "" is the command line


class PublishCommand(msgspec.Struct, tag="publish", frozen=True, kw_only=True):
    """Announces pages that are new or have changed, or sitemaps or feeds that the crawl fetches to find out which."""

    id: str
    time: float
    urls: bytes  # canonical URLs, a line each
    source: Source = "url"  # the kind of the URLs
    cluster: str = ""  # pages of one cluster are fetched close together
    publisher: str = ""  # whose credit counts; if empty, that of the host of the first URL
    modified: bytes = b""  # empty, or when each URL changed (float64, seconds since the epoch), 0 if unknown
    periods: bytes = b""  # empty, or the published period of changes of each URL (float64, seconds), 0 if unknown
    by: str = ""

    def lines(self) -> list[str]:
        """The URLs."""
        return self.urls.decode().split("\n")


class SubscribeCommand(msgspec.Struct, tag="subscribe", frozen=True, kw_only=True):
    """Adds a subscription, or replaces the one of the same name."""

    id: str
    time: float
    subscription: Subscription
    by: str = ""


class UnsubscribeCommand(msgspec.Struct, tag="unsubscribe", frozen=True, kw_only=True):
    """Removes a subscription."""

    id: str
    time: float
    name: str
    by: str = ""


Command = SetCommand | PublishCommand | SubscribeCommand | UnsubscribeCommand

pack_command = msgspec.msgpack.Encoder().encode
# checks types only: a command of the journal was checked when it was accepted
decode_command = msgspec.msgpack.Decoder(Command).decode


def new_id() -> str:
    """A random id for a new command."""
    return secrets.token_hex(16)


def publications(
    urls: Sequence[str],
    *,
    time: float,
    source: Source = "url",
    cluster: str = "",
    publisher: str = "",
    modified: Sequence[float] = (),
    periods: Sequence[float] = (),
    by: str = "",
) -> Iterator[PublishCommand]:
    """Commands of bounded size that publish canonical URLs, in the order given; `modified` and `periods` have one
    number for each URL, or none.
    """
    begin, part = 0, 0
    while begin < len(urls):
        end, size = begin, 0
        while end < len(urls) and end - begin < MOST_URLS and (end == begin or size + len(urls[end]) < MOST_URL_BYTES):
            size += len(urls[end]) + 1
            end += 1
        yield PublishCommand(
            id=new_id(),
            time=time + part * 1e-6,  # the inbox is read by time: this keeps the parts in order
            urls="\n".join(urls[begin:end]).encode(),
            source=source,
            cluster=cluster,
            publisher=publisher,
            modified=_column(modified[begin:end]),
            periods=_column(periods[begin:end]),
            by=by,
        )
        begin, part = end, part + 1


class RecentIds:
    """The ids of the last commands: a part of the state, so that no command is carried out twice."""

    def __init__(self, ids: Sequence[str] = (), most: int = REMEMBERED) -> None:
        self._ids = dict.fromkeys(ids)
        self._most = most

    def __contains__(self, identity: str) -> bool:
        """Whether the command of this id is remembered."""
        return identity in self._ids

    def __len__(self) -> int:
        """The number of ids that are remembered."""
        return len(self._ids)

    def add(self, identity: str) -> bool:
        """Remembers a command; returns whether it is new."""
        if identity in self._ids:
            return False
        self._ids[identity] = None
        if len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]
        return True

    def state(self) -> list[str]:
        """The ids, the oldest first, for a snapshot."""
        return list(self._ids)

    @classmethod
    def from_state(cls, state: Sequence[str]) -> "RecentIds":
        """The ids of a snapshot."""
        return cls(state)


def _column(values: Sequence[float]) -> bytes:
    return np.asarray(values, dtype="<f8").tobytes() if any(values) else b""


def column_of(packed: bytes, count: int) -> Any:
    """A column of a publication as numbers: zeros if it is empty."""
    return np.frombuffer(packed, dtype="<f8") if packed else np.zeros(count)
