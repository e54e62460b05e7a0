"""The requests of people: the commands already carried out, subscriptions, publishers, banned hosts. A part of the
shard's state.
"""

import msgspec

from centime.model.ids import HostId, PageId
from centime.shard.people.command import RecentIds
from centime.shard.people.publishers import Publishers
from centime.shard.people.subscriptions import Subscriptions

MOST_SITEMAPS = 65_536  # pages that were known before they were announced as sitemaps


class _Packed(msgspec.Struct, array_like=True):
    """All requests, as in a snapshot. A new field goes to the end and has a default."""

    recent: list[str]
    subscriptions: bytes
    publishers: bytes
    enlisted: int
    enlist_end: int
    banned: list[HostId]
    sitemaps: list[PageId] = []


class Requests:
    """The requests of all people."""

    def __init__(self) -> None:
        self.recent = RecentIds()
        self.subscriptions = Subscriptions()
        self.publishers = Publishers()
        self.enlisted = self.enlist_end = 0  # pages in this range do not have the deadlines of subscriptions yet
        self.banned: set[HostId] = set()
        self.sitemaps: set[PageId] = set()  # announced as such after they were known; the origin of others says it

    def state(self) -> bytes:
        """All requests, packed for a snapshot."""
        parts = _Packed(
            self.recent.state(),
            self.subscriptions.state(),
            self.publishers.state(),
            self.enlisted,
            self.enlist_end,
            sorted(self.banned),
            sorted(self.sitemaps),
        )
        return msgspec.msgpack.encode(parts)

    @classmethod
    def from_state(cls, state: bytes) -> "Requests":
        """The requests of a snapshot."""
        made = cls()
        packed = msgspec.msgpack.decode(state, type=_Packed)
        made.recent = RecentIds.from_state(packed.recent)
        made.subscriptions = Subscriptions.from_state(packed.subscriptions)
        made.publishers = Publishers.from_state(packed.publishers)
        made.enlisted, made.enlist_end = packed.enlisted, packed.enlist_end
        made.banned, made.sitemaps = set(packed.banned), set(packed.sitemaps)
        return made
