"""The protocol between partitions: each batch is applied exactly once, whichever process dies. There is no network
here: messages come in and go out, and time is an argument.

    1. A batch or an acknowledgement leaves only when its frame is durable: synced here and stored by the replica.
    2. A receiver applies only the batch after its last one, if it follows the batches before it (chain).
    3. It answers with the number up to which it has applied batches durably. Acknowledgements are not frames.
    4. A sender repeats its batches from the lowest one that is not acknowledged.

So the content of a number never changes (1), money and number change in one frame (2), and a batch that a sender has
dropped is never needed again (3). After any crash the receiver has some number that is not below any that it has
acknowledged, and the sender has all batches that are not acknowledged: in its snapshot, or by folding later frames.

Messages of an older incarnation of a partition are dropped. The replica protects a partition from its own past: it
stores nothing from an older incarnation, so nothing of that one becomes durable, and nothing leaves (1).
"""

from centime.cluster.message import Acknowledged, Message, Sent
from centime.model.errors import TransferBroken
from centime.shard.shard import Shard
from centime.shard.transfers.channel import Closed
from centime.shard.transfers.exchanging import is_next, transfers_of

WINDOW = 8  # batches in flight to one partition


class Exchange:
    """The protocol of one partition, opened for the `incarnation`-th time."""

    def __init__(self, shard: Shard, incarnation: int) -> None:
        self.shard = shard
        self.incarnation = incarnation
        self._transfers = transfers_of(shard)
        self._durable = 0  # frames
        self._newest: dict[int, int] = {}  # incarnations of the other partitions
        self._to_answer = set(self._transfers.incoming)
        self._confirmed: dict[int, int] = {}  # the last batch of each partition that is applied durably
        self._applied = [
            (shard.frame - 1, sender, channel.number) for sender, channel in self._transfers.incoming.items()
        ]

    def made_durable(self, frames: int) -> None:
        """Records that all frames before this one are synced here and stored by the replica."""
        self._durable = frames
        for _, sender, number in [one for one in self._applied if one[0] < frames]:
            self._confirmed[sender] = number
        self._applied = [one for one in self._applied if one[0] >= frames]

    def outgoing(self) -> list[Message]:
        """The messages that may leave now: batches that are not acknowledged, and answers."""
        me, incarnation = self._transfers.partition, self.incarnation
        messages: list[Message] = []
        for receiver, channel in self._transfers.outgoing.items():
            waiting = [(number, closed) for number, closed in channel.outbox.items() if self.may_leave(closed)]
            messages += [Sent(me, receiver, incarnation, number, closed.packed) for number, closed in waiting[:WINDOW]]
        for sender in sorted(self._to_answer):
            number = self.answer_to(sender)
            if number is not None:
                messages.append(Acknowledged(me, sender, incarnation, number))
        self._to_answer = {sender for sender in self._to_answer if self.answer_to(sender) is None}
        return messages

    def take(self, now: float, message: Message) -> bool:
        """Processes a message; returns False if it was dropped."""
        if message.incarnation < self._newest.get(message.sender, 0):
            return False
        self._newest[message.sender] = message.incarnation
        if isinstance(message, Acknowledged):
            channel = self._transfers.outgoing.get(message.sender)
            if channel is None or message.number > channel.number:
                raise TransferBroken(
                    f"partition {message.sender} acknowledges batch {message.number}, which was never closed here: the "
                    "folder of this partition is older than the others know, such as one from a backup"
                )
            channel.forget(message.number)
            return True
        self._to_answer.add(message.sender)
        if not self.fits(message):
            return False
        self.apply(now, message)
        self._applied.append((self.shard.frame - 1, message.sender, message.number))
        return True

    # ---- the rules

    def may_leave(self, closed: Closed) -> bool:
        """Rule 1: whether the frame of a batch is durable."""
        return closed.frame < self._durable

    def fits(self, message: Sent) -> bool:
        """Rule 2: whether a batch is the one that comes next."""
        return is_next(self.shard, message.sender, message.number)

    def apply(self, now: float, message: Sent) -> None:
        """Applies a batch; TransferBroken if it does not follow the batches before it."""
        self.shard.receive(now, message.sender, message.number, message.batch)

    def answer_to(self, sender: int) -> int | None:
        """Rule 3: the last batch of a partition that is applied durably; None if no answer may leave yet."""
        return self._confirmed.get(sender)
