"""The process of one partition, seen from the coordinator: started, started again when it dies, and ended."""

import socket
import threading
from collections.abc import Iterable

from centime.cluster.order import Begin, Ended, Standing, pack
from centime.processes.handle import ChildProcess
from centime.processes.spare import fork_spare

MODULE = "centime.cluster.partition"


class Member(ChildProcess):
    """One process, and what it has said last. `others` are the sockets to other children of this process."""

    def __init__(self, begin: Begin, others: Iterable[socket.socket]) -> None:
        from centime.cluster.partition import main

        forks = threading.active_count() == 1  # a fork with other threads may wait for ever for one of their locks
        super().__init__(MODULE, pack(begin), fork_spare(main, others) if forks else None)
        self.partition = begin.partition
        self.incarnation = begin.incarnation
        self.is_open = False
        self.heard_at = 0.0  # when it said something last
        self.standing: Standing | None = None  # in this round
        self.last: Standing | None = None  # the last one with facts
        self.ended: Ended | None = None

    def order(self, message: object) -> None:
        """Queues a message to the partition."""
        self.say(pack(message))
