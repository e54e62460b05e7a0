"""The process of one partition, seen from the coordinator: started, started again when it dies, and ended."""

import os
import socket
import threading
from collections.abc import Iterable
from pathlib import Path

from centime.cluster.order import Begin, Ended, Standing, pack
from centime.processes.handle import ChildProcess
from centime.processes.spare import fork_spare

MODULE = "centime.cluster.partition"
SILENT_SECONDS = 3.0  # without an answer, after which a partition is said to be frozen
BUSY = 20  # times the patience with a process that does nothing, for one that is busy


def cpu_seconds(process: int) -> float:
    """The CPU that a process has used; 0 if the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Member(ChildProcess):
    """One process, and what it has said last. `others` are the sockets to other children of this process."""

    def __init__(self, begin: Begin, others: Iterable[socket.socket]) -> None:
        from centime.cluster.partition import main

        forks = threading.active_count() == 1  # a fork with other threads may wait for ever for one of their locks
        super().__init__(MODULE, pack(begin), fork_spare(main, others) if forks else None)
        self.partition = begin.partition
        self.incarnation = begin.incarnation
        self.is_open = False
        self.is_lost = False  # with its folder; a keeper makes another one from the replica
        self.heard_at = 0.0  # when it said something last
        self._seen_at = 0.0  # when it was last seen to say or do something
        self._worked = 0.0  # seconds of CPU by then
        self.standing: Standing | None = None  # in this round
        self.last: Standing | None = None  # the last one with facts
        self.ended: Ended | None = None

    def is_frozen(self, now: float, asked_at: float, patience_seconds: float) -> bool:
        """Whether it has not answered since it was asked, and has done nothing else: a process that compiles, or writes
        what it has, is slow and not frozen; but not for ever.
        """
        silent_since = max(self.heard_at, asked_at)
        if now - max(self._seen_at, silent_since) <= patience_seconds:
            return False
        worked, self._seen_at = cpu_seconds(self.pid), now
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
        self.say(pack(message))
