"""The two ends of a channel between two partitions: what was closed and sent, what was applied.

The sender numbers its batches from 1 and keeps each until the receiver has acknowledged it. The receiver applies only
the batch after its last one, and only with the right chain. Money and number change in one frame, so no batch is lost
or applied twice, whichever process dies.

    absolute, signed    sums of all entries closed (sender) or applied (receiver), Python integers; at equal numbers
                        both ends have the same
"""

from collections import deque
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from centime.ledger.accounts import Sums
from centime.shard.transfers.batch import MOST_TEXT, Name, Needed, chain_of

Waiting = TypeVar("Waiting", Name, Needed)


class Members:
    """A dictionary of one channel: numbers of pages or proxies in the order in which they were named."""

    def __init__(self, numbers: npt.NDArray[np.int32] | None = None) -> None:
        self._room = np.empty(0, dtype=np.int32) if numbers is None else numbers
        self.count = len(self._room)

    @property
    def numbers(self) -> npt.NDArray[np.int32]:
        """The numbers by index."""
        return self._room[: self.count]

    @property
    def nbytes(self) -> int:
        """Bytes of memory, reserved space included."""
        return self._room.nbytes

    def extend(self, numbers: npt.NDArray[np.integer]) -> None:
        """Names further pages."""
        count = self.count + len(numbers)
        if count > len(self._room):
            room = np.empty(max(count, len(self._room) * 9 // 8, 16), dtype=np.int32)
            room[: self.count] = self.numbers
            self._room = room
        self._room[self.count : count] = numbers
        self.count = count


class Closed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A batch that was closed by a frame of the journal."""

    frame: int
    packed: bytes


class _Packed(msgspec.Struct, array_like=True, gc=False):
    """One end of a channel in a snapshot; sums as text, because they may exceed 64 bits."""

    number: int
    chain: int
    absolute: str
    signed: str
    members: bytes
    cursor: int = 0
    names: list[Name] = []
    outbox: dict[int, Closed] = {}
    sums: Sums = Sums()
    needed: list[Needed] = []


class End:
    """One end of a channel: the number of its last batch, and the sum of the entries of all batches so far."""

    def __init__(self, packed: _Packed | None) -> None:
        self.number = 0 if packed is None else packed.number  # of the last batch that was closed or applied
        self.chain = 0 if packed is None else packed.chain
        self.absolute = 0 if packed is None else int(packed.absolute)
        self.signed = 0 if packed is None else int(packed.signed)

    def advance(self, batch: bytes, amounts: npt.NDArray[np.int64]) -> None:
        """Counts the next batch, with these entries."""
        self.number += 1
        self.chain = chain_of(batch)
        self.absolute += int(np.abs(amounts).sum())
        self.signed += int(amounts.sum())


class Outgoing(End):
    """The sending end of a channel."""

    def __init__(self, packed: _Packed | None = None) -> None:
        super().__init__(packed)
        self.proxies = Members()
        self.names: deque[Name] = deque()  # of the last proxies, which no batch has named yet
        self.needed: deque[Needed] = deque()  # requisites that are not in a batch yet
        self.cursor = 0  # the index from which the next batch takes entries
        self.outbox: dict[int, Closed] = {}  # batches that are not acknowledged, by number

    @property
    def named(self) -> int:
        """The number of proxies that batches have named."""
        return self.proxies.count - len(self.names)

    def take_names(self) -> list[Name]:
        """The names for the next batch."""
        return _taken(self.names)

    def take_needed(self) -> list[Needed]:
        """The requisites for the next batch."""
        return _taken(self.needed)

    @property
    def to_send(self) -> int:
        """The number of pages and requisites that are not in a batch yet."""
        return len(self.names) + len(self.needed)

    def forget(self, acknowledged: int) -> None:
        """Drops batches that the receiver has stored durably."""
        for number in [number for number in self.outbox if number <= acknowledged]:
            del self.outbox[number]

    def packed(self) -> _Packed:
        """This end for a snapshot."""
        members = self.proxies.numbers.tobytes()
        sums = str(self.absolute), str(self.signed)
        named, needed = list(self.names), list(self.needed)
        return _Packed(self.number, self.chain, *sums, members, self.cursor, named, self.outbox, needed=needed)

    @classmethod
    def unpacked(cls, packed: _Packed) -> "Outgoing":
        """The end of a snapshot."""
        made = cls(packed)
        made.proxies = Members(np.frombuffer(packed.members, dtype=np.int32).copy())
        made.names, made.cursor, made.outbox = deque(packed.names), packed.cursor, packed.outbox
        made.needed = deque(packed.needed)
        return made


class Incoming(End):
    """The receiving end of a channel."""

    def __init__(self, packed: _Packed | None = None) -> None:
        super().__init__(packed)
        self.pages = Members()
        self.sums = Sums()  # of the sender's ledger, as of that batch

    def packed(self) -> _Packed:
        """This end for a snapshot."""
        return _Packed(
            self.number,
            self.chain,
            str(self.absolute),
            str(self.signed),
            self.pages.numbers.tobytes(),
            sums=self.sums,
        )

    @classmethod
    def unpacked(cls, packed: _Packed) -> "Incoming":
        """The end of a snapshot."""
        made = cls(packed)
        made.pages = Members(np.frombuffer(packed.members, dtype=np.int32).copy())
        made.sums = packed.sums
        return made


class Ends(msgspec.Struct, array_like=True, gc=False):
    """All ends of the channels of a partition in a snapshot, by the other partition."""

    outgoing: dict[int, _Packed]
    incoming: dict[int, _Packed]


def _taken(waiting: deque[Waiting]) -> list[Waiting]:
    """Removes and returns the first waiting ones, as many as fit into a batch."""
    taken: list[Waiting] = []
    size = 0
    while waiting and (not taken or size + len(waiting[0].url) <= MOST_TEXT):
        size += len(waiting[0].url)
        taken.append(waiting.popleft())
    return taken
