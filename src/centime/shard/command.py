"""What people command of a crawl from outside, while it runs or before its next run.

An command is a value with an id of its own (128 random bits, given where it was made) and the time at which it was
made. It goes through the folder `commands/` (order_inbox.py), into the journal, and is carried out: once, because the
shard remembers the ids of the last commands (`RecentIds`) as part of its state. A large publication is several
commands, none of which makes a huge frame of the journal.
"""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from centime.settings.live import Value
from centime.shard.subscriptions import Subscription

MOST_URLS = 20_000  # in one command: taking it holds the crawl up for a tenth of a second
MOST_URL_BYTES = 2 << 20
MOST_NAME = 200  # characters of a publisher's or a cluster's name
REMEMBERED = 4_096

Source = Literal["url", "sitemap", "feed"]


class SetCommand(msgspec.Struct, tag="set", frozen=True, kw_only=True):
    """Go on with other settings. A name with `+` or `-` behind it adds to a list, or takes from it; see settable.py."""

    id: str
    time: float
    values: dict[str, Value]


class PublishCommand(msgspec.Struct, tag="publish", frozen=True, kw_only=True):
    """These pages are new or have changed; or these sitemaps or feeds, which are to be read now, say which have."""

    id: str
    time: float
    urls: bytes  # canonical URLs, a line each
    source: Source = "url"  # what the URLs are
    cluster: str = ""  # pages of one cluster are read close together
    publisher: str = ""  # who says so, for its credit; nobody: the hosts of the URLs
    modified: bytes = b""  # nothing, or for each URL when it changed (float64, seconds since the epoch), 0 if not said
    periods: bytes = (
        b""  # nothing, or for each URL how often it changes by its publisher's word (float64, seconds), 0 if not said
    )

    def lines(self) -> list[str]:
        """The URLs."""
        return self.urls.decode().split("\n")


class SubscribeCommand(msgspec.Struct, tag="subscribe", frozen=True, kw_only=True):
    """Somebody wants to be told of changes."""

    id: str
    time: float
    subscription: Subscription


class UnsubscribeCommand(msgspec.Struct, tag="unsubscribe", frozen=True, kw_only=True):
    """Somebody wants to be told no longer."""

    id: str
    time: float
    name: str


Command = SetCommand | PublishCommand | SubscribeCommand | UnsubscribeCommand

pack_command = msgspec.msgpack.Encoder().encode
decode_command = msgspec.msgpack.Decoder(
    Command
).decode  # checks types only: what the journal has was checked when it was accepted


def new_id() -> str:
    """An id that no other command has."""
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
) -> Iterator[PublishCommand]:
    """Orders that publish canonical URLs, each of a bounded size, in their command; `modified` and `periods` have
    one for each or none.
    """
    begin, part = 0, 0
    while begin < len(urls):
        end, size = begin, 0
        while end < len(urls) and end - begin < MOST_URLS and (end == begin or size + len(urls[end]) < MOST_URL_BYTES):
            size += len(urls[end]) + 1
            end += 1
        yield PublishCommand(
            id=new_id(),
            time=time + part * 1e-6,  # files are taken in the command of their time
            urls="\n".join(urls[begin:end]).encode(),
            source=source,
            cluster=cluster,
            publisher=publisher,
            modified=_column(modified[begin:end]),
            periods=_column(periods[begin:end]),
        )
        begin, part = end, part + 1


class RecentIds:
    """The ids of the last commands; part of the state, so that none is carried out twice."""

    def __init__(self, ids: Sequence[str] = (), most: int = REMEMBERED) -> None:
        self._ids = dict.fromkeys(ids)
        self._most = most

    def __contains__(self, identity: str) -> bool:
        """Whether this command was seen."""
        return identity in self._ids

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._ids)

    def add(self, identity: str) -> bool:
        """Remembers a command; whether it is new."""
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


def column_of(packed: bytes, count: int) -> Any:
    """A column of a publication as numbers, zeros where nothing was said."""
    return np.frombuffer(packed, dtype="<f8") if packed else np.zeros(count)
