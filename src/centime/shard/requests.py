"""What people requested: the commands already carried out, subscriptions, publishers, banned hosts. A part of the
shard's state.
"""

import msgspec

from centime.model.ids import HostId
from centime.shard.command import RecentIds
from centime.shard.publishers import Publishers
from centime.shard.subscriptions import Subscriptions

_Packed = tuple[list[str], bytes, bytes, int, int, list[HostId]]


class Requests:
    """The requests of all people."""

    def __init__(self) -> None:
        self.recent = RecentIds()
        self.subscriptions = Subscriptions()
        self.publishers = Publishers()
        self.enlisted = self.enlist_end = 0  # pages in this range do not have the deadlines of subscriptions yet
        self.banned: set[HostId] = set()

    def state(self) -> bytes:
        """All requests, packed for a snapshot."""
        parts = (
            self.recent.state(),
            self.subscriptions.state(),
            self.publishers.state(),
            self.enlisted,
            self.enlist_end,
            sorted(self.banned),
        )
        return msgspec.msgpack.encode(parts)

    @classmethod
    def from_state(cls, state: bytes) -> "Requests":
        """The requests of a snapshot."""
        made = cls()
        recent, subscriptions, publishers, made.enlisted, made.enlist_end, banned = msgspec.msgpack.decode(
            state, type=_Packed
        )
        made.recent = RecentIds.from_state(recent)
        made.subscriptions = Subscriptions.from_state(subscriptions)
        made.publishers = Publishers.from_state(publishers)
        made.banned = set(banned)
        return made
