"""One timer watches all running requests, so that a request needs no timer of its own.

Every tick checks each attempt: past its deadline, or with a body slower than the least rate once the grace is over, its
task is cancelled and the reason noted. Guarantee: an attempt ends at most one tick after its limit. A step of the loop
that takes longer than STANDSTILL_SECONDS (a page that is hard to parse) does not count: no answer could be received
meanwhile, so it is not the server's fault. Times are of `time.monotonic`: the clock of uvloop counts whole milliseconds
and stands still during a step. Trap: an attempt must be dropped in the very step in which its awaiting ends; then the
cancellation can only arrive inside it.
"""

import asyncio
import time
from typing import Any

STANDSTILL_SECONDS = 1.0  # shorter steps count: limits must hold on a busy machine too
NOT_CONNECTED = "no connection after"  # a detail with this is about a host that could not even be connected to


class Attempt:
    """One running request: shared by the watch, the connection and the reader."""

    __slots__ = (
        "address",
        "answered",
        "asked_at",
        "deadline",
        "end",
        "expired",
        "fresh",
        "patience",
        "received",
        "sent",
        "started",
        "task",
        "wire",
    )

    def __init__(
        self, task: "asyncio.Task[Any]", now: float, connect_seconds: float, patience: float, total_seconds: float
    ) -> None:
        """An attempt that starts now."""
        self.task = task
        self.started = now
        self.end = now + total_seconds
        self.deadline = min(self.end, now + connect_seconds)
        self.patience = patience  # for the head of the answer, once the request is sent
        self.sent = 0.0  # when the request had been written
        self.answered = 0.0  # when the head of the answer was there
        self.asked_at = 0.0  # the same by the clock of the world
        self.wire = 0  # bytes received, all of them
        self.received = 0  # bytes of the body
        self.fresh = False  # over a new connection
        self.address = ""
        self.expired = ""  # why it was given up


class Watch:
    """Cancels attempts that take too long or are too slow."""

    def __init__(self, *, tick_seconds: float, least_bytes_per_second: float, grace_seconds: float) -> None:
        """A watch without attempts; its timer runs only while there are some."""
        self._tick = tick_seconds
        self._least = least_bytes_per_second
        self._grace = grace_seconds
        self._attempts: set[Attempt] = set()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0  # time of the next check

    def __len__(self) -> int:
        """The number of running attempts."""
        return len(self._attempts)

    def add(self, attempt: Attempt, loop: asyncio.AbstractEventLoop) -> None:
        """Watches an attempt from now on."""
        self._attempts.add(attempt)
        if self._handle is None:
            self._look_later(loop)

    def drop(self, attempt: Attempt) -> None:
        """Stops watching an attempt."""
        self._attempts.discard(attempt)

    def close(self) -> None:
        """Stops the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        stood_still = now - self._due
        for attempt in self._attempts:
            if attempt.expired:
                continue
            if stood_still > STANDSTILL_SECONDS:
                attempt.deadline += stood_still
                attempt.end += stood_still
            reason = self._judge(attempt, now)
            if reason:
                attempt.expired = reason
                attempt.task.cancel()
        self._handle = None
        if self._attempts:
            self._look_later(loop)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = time.monotonic() + self._tick
        self._handle = loop.call_later(self._tick, self._look, loop)

    def _judge(self, attempt: Attempt, now: float) -> str:
        """Why the attempt must end now; empty if it may continue."""
        if now > attempt.deadline:
            if not attempt.sent:
                return f"{NOT_CONNECTED} {now - attempt.started:.1f} s"
            if not attempt.answered:
                return f"no answer after {now - attempt.sent:.1f} s"
            return f"not complete after {now - attempt.started:.1f} s"
        elapsed = now - attempt.answered if attempt.answered else 0.0
        if elapsed > self._grace and attempt.received < self._least * elapsed:
            return f"too slow: {attempt.received} bytes in {elapsed:.1f} s"
        return ""
