"""Deliveries, seen from the engine: batches go out, results come back, and the engine never waits for a subscriber.

Delivery is at least once: a batch is due (`shard/people/subscriptions.py`) until its arrival is in the journal, and it
is sent under the same id until then. A batch that failed is tried again after

    1 minute · 2^(failures in a row - 1),   at most 1 hour

At most MOST_IN_HAND batches are being delivered at a time; the others wait in the state of the shard, so memory here is
bounded. The process that delivers (`delivering.py`) is started with the first batch. If it dies, or is silent for too
long, a new process takes its place, and the batches it had are due again.

    DIR/deliveries.json     the subscribers that could not be notified, for reports; absent if there are none

This file is not part of the state: each run starts without troubles and makes a new attempt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from centime.crawl.notify.delivering import DeliverySettings, unpack_attempted
from centime.fetch.settings import FetchSettings
from centime.files.replacement import replace_file
from centime.processes.handle import ChildProcess
from centime.shard.message import pack
from centime.shard.people.notices import Batch

MOST_IN_HAND = 32
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
SILENCE_SECONDS = 300.0  # longer than any attempt can take
RESTART_SECONDS = 1.0
MODULE = "centime.crawl.notify.delivering"
TROUBLES = "deliveries.json"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a subscriber could not be notified, how often in a row, and when it is tried again."""

    failures: int
    next_time: float
    reason: str


_pack_troubles = msgspec.json.Encoder(order="sorted").encode
_unpack_troubles = msgspec.json.Decoder(dict[str, Trouble]).decode


def write_troubles(folder: Path, troubles: Mapping[str, Trouble]) -> bool:
    """Writes the troubles into the crawl's folder, atomically; returns whether they have changed."""
    path = folder / TROUBLES
    before = path.read_bytes() if path.exists() else b""
    now = _pack_troubles(troubles) if troubles else b""
    if now == before:
        return False
    if troubles:
        replace_file(path, now)
    else:
        path.unlink()
    return True


def read_troubles(folder: Path) -> dict[str, Trouble]:
    """The troubles that the crawl in a folder wrote last; empty if they cannot be read."""
    try:
        return _unpack_troubles((folder / TROUBLES).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


class Delivery:
    """The deliveries of one run of a crawl."""

    def __init__(
        self,
        fetch: FetchSettings,
        *,
        crawl: Path | None = None,
        foreign: bool = False,
        command_seconds: float = 60.0,
        http_seconds: float = 30.0,
    ) -> None:
        """Deliveries that write no file in the folder `crawl`, and notify only HTTP subscribers if it is `foreign`. The
        process is started with the first batch.
        """
        self._settings = DeliverySettings(
            fetch, command_seconds, http_seconds, "" if crawl is None else str(crawl.absolute()), foreign
        )
        self._process: ChildProcess | None = None
        self._restart_time = 0.0
        # by subscription: the last number of the batch that is being delivered, and since when
        self._in_hand: dict[str, tuple[int, float]] = {}
        # by subscription: the last number of a batch that was reported as arrived, while the caller still has it as due
        self._arrived: dict[str, int] = {}
        self.troubles: dict[str, Trouble] = {}
        self.restarts = 0

    @property
    def in_hand(self) -> int:
        """The number of batches that are being delivered."""
        return len(self._in_hand)

    @property
    def process_id(self) -> int:
        """The id of the delivering process, or 0."""
        return 0 if self._process is None else self._process.pid

    def deliver(self, batches: Sequence[Batch], now: float) -> None:
        """Starts the delivery of due batches, except those being delivered, those that arrived, and those that wait
        after a failure. `batches` are all that are due now.
        """
        names = {batch.name for batch in batches}
        self._arrived = {name: up_to for name, up_to in self._arrived.items() if name in names}
        self.troubles = {name: trouble for name, trouble in self.troubles.items() if name in names}
        room = max(0, MOST_IN_HAND - len(self._in_hand))
        ready = [batch for batch in batches if self._is_ready(batch, now)][:room]
        if not ready or (self._process is None and now < self._restart_time):
            return
        if self._process is None:
            self._process = ChildProcess(MODULE, pack(self._settings))
        for batch in ready:
            self._in_hand[batch.name] = (batch.up_to, now)
            self._process.say(pack([batch]))

    def receive(self, now: float, timeout: float = 0.0) -> list[tuple[str, int]]:
        """The subscriptions whose batch arrived, each with the batch's last number; waits up to `timeout` seconds."""
        if self._process is None:
            return []
        try:
            messages = self._process.exchange(timeout)
        except (OSError, EOFError, ValueError):
            self._give_up(now)
            return []
        arrived = []
        for message in messages:
            attempt = unpack_attempted(message)
            up_to, _ = self._in_hand.pop(attempt.name, (None, 0.0))
            if up_to != attempt.up_to:
                continue
            if attempt.trouble:
                self._failed(attempt.name, attempt.trouble, now)
            else:
                self.troubles.pop(attempt.name, None)
                self._arrived[attempt.name] = attempt.up_to
                arrived.append((attempt.name, attempt.up_to))
        if any(now - since > SILENCE_SECONDS for _, since in self._in_hand.values()):
            self._give_up(now)
        return arrived

    def close(self) -> None:
        """Ends the process; the batches it had are due again in the next run."""
        if self._process is not None:
            self._process.end(2.0)
            self._process = None
        self._in_hand.clear()

    def _is_ready(self, batch: Batch, now: float) -> bool:
        trouble = self.troubles.get(batch.name)
        waits = trouble is not None and now < trouble.next_time
        return batch.name not in self._in_hand and self._arrived.get(batch.name, -1) < batch.up_to and not waits

    def _failed(self, name: str, reason: str, now: float) -> None:
        before = self.troubles.get(name)
        failures = 1 if before is None else before.failures + 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))
        self.troubles[name] = Trouble(failures, now + pause, reason)

    def _give_up(self, now: float) -> None:
        """Kills the process; `deliver` starts a new one after RESTART_SECONDS."""
        assert self._process is not None
        self._process.kill()
        self._process = None
        self._in_hand.clear()
        self.restarts += 1
        self._restart_time = now + RESTART_SECONDS
