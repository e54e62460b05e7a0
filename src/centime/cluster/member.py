"""The process of one partition, seen from the coordinator: what it has said last, and whether it is frozen."""

from centime.cluster.order import Ended, Standing, pack
from centime.cluster.process import Process

SILENT_SECONDS = 3.0  # without an answer, after which a partition is said to be frozen
FIRST_LOOK = 0.1  # of the patience, after which it is noted how much a silent process has worked
BUSY = 20  # times the patience with a process that does nothing, for one that is busy


class Member:
    """One process of a partition, and what it has said last."""

    def __init__(self, partition: int, incarnation: int, process: Process) -> None:
        self.partition = partition
        self.incarnation = incarnation
        self.process = process
        self.is_open = False
        self.is_lost = False  # its folder is made from a replica
        self.why_lost = ""  # in words, once it is replaced by another process
        self.heard_at = 0.0  # when it said something last
        self._silent_since = -1.0  # the silence that it is in
        self._seen_at = 0.0  # when it was last seen to do something in this silence
        self._worked = 0.0  # seconds of CPU by then
        self.standing: Standing | None = None  # in this round
        self.last: Standing | None = None  # the last one with facts
        self.ended: Ended | None = None

    def is_frozen(self, now: float, asked_at: float, patience_seconds: float) -> bool:
        """Whether it has not answered since it was asked, and has done nothing else: a process that compiles, or writes
        what it has, is slow and not frozen; but not for ever.
        """
        silent_since = max(self.heard_at, asked_at)
        if now - silent_since <= FIRST_LOOK * patience_seconds:
            return False
        if silent_since != self._silent_since:  # what it works from now on counts, not what it did before
            is_soon = now - silent_since <= patience_seconds / 2
            self._silent_since, self._seen_at = silent_since, silent_since if is_soon else now
            self._worked = self.process.cpu_seconds()
        if now - self._seen_at <= patience_seconds:
            return False
        worked, self._seen_at = self.process.cpu_seconds(), now
        is_busy = worked > self._worked
        self._worked = worked
        return not is_busy or now - silent_since > BUSY * patience_seconds

    def state(self, asked: int, asked_at: float, now: float) -> str:
        """How it is, in a word for people, after it was asked how it stands in a round."""
        if self.ended is not None:
            return "ended"
        if self.is_lost:
            return "lost"
        if not self.is_open:
            return "starting"
        answered = self.standing is not None and self.standing.number == asked
        return "running" if answered or now - max(self.heard_at, asked_at) <= SILENT_SECONDS else "frozen"

    def order(self, message: object) -> None:
        """Queues a message to the partition."""
        self.process.say(pack(message))
