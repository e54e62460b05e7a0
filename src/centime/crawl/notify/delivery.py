"""Deliveries, seen from the crawl's side: batches out, word that they arrived in, and the crawl never waits for a
subscriber.

At least once: a batch is due (subscriptions.py) until the shard has in its journal that it arrived, and is handed out
again until then, under the same id. A batch that failed has its next turn after

    1 minute · 2^(failures in a row - 1),   1 hour at most

At most MOST_IN_HAND are in hand at a time; the rest waits in the shard's state, so nothing here grows. The process that
does the work is started with the first batch; when it dies, or is silent for too long, another takes its place and what
it held is due again.

    DIR/deliveries.json     the subscribers in trouble, for whoever looks at the crawl; no such file if there are none

It is a note for people and no state: a run begins without troubles, and with a new attempt.
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
from centime.shard.notices import Batch

MOST_IN_HAND = 32
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
SILENCE_SECONDS = 300.0  # longer than any attempt may take
RESTART_SECONDS = 1.0
MODULE = "centime.crawl.notify.delivering"
TROUBLES = "deliveries.json"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a subscriber has not got its batch, how often that happened in a row, and when it is tried again."""

    failures: int
    next_time: float
    reason: str


_pack_troubles = msgspec.json.Encoder(order="sorted").encode
_unpack_troubles = msgspec.json.Decoder(dict[str, Trouble]).decode


def write_troubles(folder: Path, troubles: Mapping[str, Trouble]) -> bool:
    """Notes the subscribers in trouble in the crawl's folder, whole or not at all; whether that was anything new."""
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
    """The subscribers in trouble as the crawl in a folder noted them last; none where nothing can be read."""
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
        command_seconds: float = 60.0,
        http_seconds: float = 30.0,
    ) -> None:
        """Nothing is started before there is something to deliver; no file in the folder `crawl` is written to."""
        self._settings = DeliverySettings(
            fetch, command_seconds, http_seconds, "" if crawl is None else str(crawl.absolute())
        )
        self._process: ChildProcess | None = None
        self._restart_time = 0.0
        self._in_hand: dict[str, tuple[int, float]] = {}  # subscription -> the number its batch goes up to, since when
        self._arrived: dict[
            str, int
        ] = {}  # the same for batches of which the caller has been told and which are still due to it
        self.troubles: dict[str, Trouble] = {}
        self.restarts = 0

    @property
    def in_hand(self) -> int:
        """How many batches are on their way."""
        return len(self._in_hand)

    @property
    def process_id(self) -> int:
        """The delivering process, 0 if there is none."""
        return 0 if self._process is None else self._process.pid

    def deliver(self, batches: Sequence[Batch], now: float) -> None:
        """Hands out what may be handed out of all the batches that are due now."""
        names = {batch.name for batch in batches}
        self._arrived = {name: up_to for name, up_to in self._arrived.items() if name in names}
        self.troubles = {name: trouble for name, trouble in self.troubles.items() if name in names}
        wanted = [batch for batch in batches if self._is_wanted(batch, now)][
            : max(0, MOST_IN_HAND - len(self._in_hand))
        ]
        if not wanted or (self._process is None and now < self._restart_time):
            return
        if self._process is None:
            self._process = ChildProcess(MODULE, pack(self._settings))
        for batch in wanted:
            self._in_hand[batch.name] = (batch.up_to, now)
            self._process.say(pack([batch]))

    def receive(self, now: float, timeout: float = 0.0) -> list[tuple[str, int]]:
        """The subscriptions whose batch has arrived, with the number it went up to; waits no longer than told."""
        if self._process is None:
            return []
        try:
            messages = self._process.exchange(timeout)
        except (OSError, EOFError, ValueError):
            self._give_up(now)
            return []
        arrived = []
        for message in messages:
            came = unpack_attempted(message)
            up_to, _ = self._in_hand.pop(came.name, (None, 0.0))
            if up_to != came.up_to:
                continue
            if came.trouble:
                self._failed(came.name, came.trouble, now)
            else:
                self.troubles.pop(came.name, None)
                self._arrived[came.name] = came.up_to
                arrived.append((came.name, came.up_to))
        if any(now - since > SILENCE_SECONDS for _, since in self._in_hand.values()):
            self._give_up(now)
        return arrived

    def close(self) -> None:
        """Ends the process; what it held is due again in the next run."""
        if self._process is not None:
            self._process.end(2.0)
            self._process = None
        self._in_hand.clear()

    def _is_wanted(self, batch: Batch, now: float) -> bool:
        trouble = self.troubles.get(batch.name)
        waits = trouble is not None and now < trouble.next_time
        return batch.name not in self._in_hand and self._arrived.get(batch.name, -1) < batch.up_to and not waits

    def _failed(self, name: str, reason: str, now: float) -> None:
        before = self.troubles.get(name)
        failures = 1 if before is None else before.failures + 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))
        self.troubles[name] = Trouble(failures, now + pause, reason)

    def _give_up(self, now: float) -> None:
        """Lets another process begin a moment later."""
        assert self._process is not None
        self._process.kill()
        self._process = None
        self._in_hand.clear()
        self.restarts += 1
        self._restart_time = now + RESTART_SECONDS
