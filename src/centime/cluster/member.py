"""The process of one partition, seen from the coordinator: its last messages, and whether it is frozen."""

from centime.cluster.order import Ended, Standing, pack
from centime.cluster.process import Process

SILENT_SECONDS = 3.0  # without an answer, after which a partition counts as frozen
FIRST_LOOK = 0.1  # of the patience, after which the CPU time of a silent process is noted
BUSY = 20  # a busy process gets this many times the patience of an idle one


class Member:
    """One process of a partition, and its last messages."""

    def __init__(self, partition: int, incarnation: int, process: Process) -> None:
        self.partition = partition
        self.incarnation = incarnation
        self.process = process
        self.is_open = False
        self.is_lost = False  # its folder is made from a replica
        self.why_lost = ""  # in words, once it is replaced by another process
        self.heard_at = 0.0  # when its last message came
        self._silent_since = -1.0  # when its current silence began
        self._seen_at = 0.0  # when it was last seen to work during this silence
        self._worked = 0.0  # seconds of CPU by then
        self.standing: Standing | None = None  # in this round
        self.last: Standing | None = None  # the last one with facts
        self.ended: Ended | None = None

    def is_frozen(self, now: float, asked_at: float, patience_seconds: float) -> bool:
        """Whether it has not answered a request, and has used no CPU since: a process that compiles, or writes a
        snapshot, is slow and not frozen, up to a limit.
        """
        silent_since = max(self.heard_at, asked_at)
        if now - silent_since <= FIRST_LOOK * patience_seconds:
            return False
        if silent_since != self._silent_since:  # only CPU time from now on counts
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
        """Its state in a word for people, after it was asked for it in a round."""
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
