"""Messages between the partitions of a cluster. Every message names the incarnation of its sender: how often that
partition was opened, here or elsewhere.
"""

import msgspec


class Sent(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="sent"):
    """A batch of transfers."""

    sender: int
    receiver: int
    incarnation: int
    number: int
    batch: bytes


class Acknowledged(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="acknowledged"):
    """The sender of this message has applied all batches of the receiver up to a number, durably."""

    sender: int
    receiver: int
    incarnation: int
    number: int


Message = Sent | Acknowledged
