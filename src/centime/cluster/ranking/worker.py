"""One process of a divided ranking: iterates over its slice of the pages (`said.py`).

    python -m centime.cluster.ranking.worker SOCKET

Both ways solve y = dWy + (1-d), whose solution is PageRank up to its scale: no number is shared by all pages, so
nothing but boundary values is exchanged.

    synchronous   y_i := d * sum over links j->i of y_j w_ji + (1-d), all y_j of the last iteration (Jacobi)
    chaotic       the same in place, in the order of pages (Gauss-Seidel within a slice), with whatever values of other
                  slices have arrived. dW contracts, so it converges with any delays, as long as each value arrives
"""

import signal
import socket
import sys
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from centime.cluster.ranking.said import (
    Carried,
    Certify,
    Finish,
    Keep,
    Kept,
    Moved,
    Part,
    Pause,
    Paused,
    Run,
    Share,
    Slice,
    Step,
    Total,
    ToWorker,
    Values,
    pack,
    unpack_order,
    unpack_slice,
)
from centime.model.graph import Offsets, Targets, Weights
from centime.processes.channel import MessageSocket
from centime.processes.parent import die_with_parent
from centime.rank.pull import pull, relax
from centime.rank.scores import Vector

SENT_SHARE = 0.3  # of the mean change: smaller changes of boundary values wait for the next iteration
MOST_UNSENT = 1 << 22
STALE_SHARE = 0.3  # of the change after the last news, below which a worker waits for the next
PAUSE_SECONDS = 0.02  # for news, at most
Numbers = npt.NDArray[np.int32]


class Worker:
    """One slice and its values."""

    def __init__(self, line: MessageSocket, slice_: Slice, me: int) -> None:
        self._line = line
        self._me = me
        self._damping = slice_.damping
        self._offsets: Offsets = np.frombuffer(slice_.offsets, dtype=np.int64)
        self._sources: Targets = np.frombuffer(slice_.sources, dtype=np.int32)
        self._weights: Weights = np.frombuffer(slice_.weights)
        self._shares: Vector = np.frombuffer(slice_.shares)
        self._ghosts = slice_.ghosts
        self._needed: list[Numbers] = [np.frombuffer(some, dtype=np.int32) for some in slice_.needed]
        self._pages = len(self._offsets) - 1
        self._values: Vector = np.ones(len(self._shares))
        if slice_.values:
            self._values[: self._pages] = np.frombuffer(slice_.values)
        self._last_sent: list[Vector] = [self._values[some] for some in self._needed]
        self._brought: Vector = np.empty(self._pages)
        self._base: Vector = np.full(self._pages, 1.0 - self._damping)
        self._least = self._change_by_news = 0.0
        self._runs = self._has_news = False

    def serve(self) -> None:
        """Processes messages until the line ends."""
        while True:
            self._line.flush()
            if not self._runs:
                self._line.wait(60.0)
            for packed in self._line.receive():
                self._take(unpack_order(packed))
            if self._runs:
                self._relax()

    def _take(self, message: ToWorker) -> None:
        match message:
            case Values(sender, _, positions, values):
                self._receive(sender, positions, values)
            case Step():
                self._step()
            case Run(least):
                self._runs, self._least = True, least
            case Pause():
                self._runs = False
                self._say(Paused())
            case Keep():
                self._say(Kept(self._own.tobytes()))
            case Share():
                self._send(0.0, everything=True)
                self._say(Total(float(self._own.sum())))
            case Certify(scale):
                self._from = self._own * scale
                self._say(Carried(self._pull(self._values * (self._shares * scale))))
            case Finish(left):
                scores = self._brought + left
                self._say(Part(scores.tobytes(), float(np.abs(scores - self._from).sum())))

    @property
    def _own(self) -> Vector:
        return self._values[: self._pages]

    def _receive(self, sender: int, positions: bytes, values: bytes) -> None:
        received = self._values[self._ghosts[sender] : self._ghosts[sender + 1]]
        if positions:
            received[np.frombuffer(positions, dtype=np.int32)] = np.frombuffer(values)
        else:
            received[:] = np.frombuffer(values)
        self._has_news = True

    def _pull(self, values: Vector) -> float:
        return float(pull(self._offsets, self._sources, self._weights, values, self._brought, 0, self._pages))

    def _step(self) -> None:
        self._pull(self._values * self._shares)
        fresh = self._brought + self._base
        change = float(np.abs(fresh - self._own).sum())
        self._own[:] = fresh
        self._send(0.0, everything=True)
        self._say(Moved(change, float(fresh.sum())))

    def _relax(self) -> None:
        had_news, self._has_news = self._has_news, False
        change = float(relax(self._offsets, self._sources, self._weights, self._shares, self._base, self._values))
        self._send(max(self._least, SENT_SHARE * change / max(1, self._pages)), everything=False)
        self._say(Moved(change, float(self._own.sum())))
        self._line.flush()
        while self._line.unsent > MOST_UNSENT:
            self._line.wait(1.0)
            self._line.flush()
        if had_news:
            self._change_by_news = change
        if change <= max(self._least * self._pages, STALE_SHARE * self._change_by_news):
            self._line.wait(PAUSE_SECONDS)  # most work done now would have to be repeated with the next values

    def _send(self, least: float, *, everything: bool) -> None:
        """Sends boundary values that have changed by more than `least` since they were last sent, or all of them."""
        for receiver, needed in enumerate(self._needed):
            if not len(needed):
                continue
            now, sent = self._values[needed], self._last_sent[receiver]
            chosen = np.flatnonzero(np.abs(now - sent) > least).astype(np.int32)
            if everything or 3 * len(chosen) > 2 * len(needed):  # a position takes half the bytes of a value
                sent[:] = now
                self._say(Values(self._me, receiver, b"", now.tobytes()))
            elif len(chosen):
                sent[chosen] = now[chosen]
                self._say(Values(self._me, receiver, chosen.tobytes(), now[chosen].tobytes()))

    def _say(self, message: object) -> None:
        self._line.say(pack(message))


def main(number: int | None = None) -> None:
    """Ranks a slice on the inherited socket; the first messages are its number and the slice."""
    die_with_parent()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    line = MessageSocket(socket.socket(fileno=int(sys.argv[1]) if number is None else number))
    with suppress(EOFError, OSError):
        me = int(line.first())
        Worker(line, unpack_slice(line.first()), me).serve()


if __name__ == "__main__":
    main()
