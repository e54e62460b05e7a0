"""PageRank of a graph by several processes that exchange boundary values alone, with a certified error.

    bsp       synchronous: all workers make one iteration, exchange values, and make the next one
    chaotic   no worker waits: each continues with the newest values that have arrived

Guaranteed: as of any solver (`rank/pagerank.py`), |x - x*|_1 <= (d |x - h|_1 + rounding) / (1-d), where x is one exact
iteration from h. The workers make that iteration together; all earlier iterations only serve to find a good h. So a
worker that is lost with its machine costs nothing but time: another one continues from the values that it sent last
(every KEEP_SECONDS), all exchange their boundary values, and the ranking continues.
"""

import selectors
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from msgspec import structs

from centime.cluster.process import Process
from centime.cluster.ranking.crewing import Crewing, LocalCrew
from centime.cluster.ranking.said import (
    Carried,
    Certify,
    Finish,
    FromWorker,
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
    unpack_answer,
)
from centime.cluster.ranking.slices import slices_of
from centime.model.errors import BadInput, BadSetting, CentimeError
from centime.model.graph import Graph
from centime.processes.channel import LARGEST
from centime.rank.certificate import certified_error, rounding_of_sums
from centime.rank.pagerank import MOST_ITERATIONS, NEARER
from centime.rank.scores import Scores

Way = Literal["bsp", "chaotic"]
WAYS: tuple[Way, ...] = ("bsp", "chaotic")
Answer = TypeVar("Answer", bound=FromWorker)
IDLE = 5  # iterations in a row without a smaller change: only rounding is left
CHAOTIC_IDLE = 100  # the same, where news from another slice may raise the change again
LEAST_SHARE = 0.1  # of the error, for changes of boundary values that are never sent
SILENCE_SECONDS = 600.0
KEEP_SECONDS = 5.0
MOST_LOST = 100  # when this many processes end, the cause is not a lost machine


class _Lost(Exception):
    """The process of a slice has ended."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The traffic between workers: bytes of messages without the result, and boundary values."""

    bytes: int
    values: int
    boundary: int  # values that all workers together need


def rank_divided(
    graph: Graph,
    way: Way,
    workers: int | Crewing,
    *,
    damping: float = 0.85,
    error: float = 1e-8,
    progress: Callable[[float], None] = lambda error: None,
) -> tuple[Scores, Exchanged]:
    """The PageRank of each page (mean 1), by `processes` processes of this machine or those of a crew; and the traffic
    between them.
    """
    if way not in WAYS:
        raise BadSetting(f"a ranking on a cluster is one of {', '.join(WAYS)}, not {way!r}")
    if not graph.pages:
        return Scores(np.empty(0), way, 0, 0.0, 0.0, 0.0), Exchanged(0, 0, 0)
    began = time.perf_counter()
    crew = _Workers(graph, damping, LocalCrew(workers) if isinstance(workers, int) else workers)
    try:
        scores = _solve(crew, graph, way, damping, error, progress)
        return Scores(*scores, seconds=time.perf_counter() - began), crew.exchanged
    finally:
        crew.close()


def _solve(
    crew: "_Workers", graph: Graph, way: Way, damping: float, error: float, progress: Callable[[float], None]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str, int, float, float, float]:
    aim, factor = NEARER * error, damping / (1 - damping)
    iterations = crew.iterations
    while True:
        try:
            estimate, exhausted = (crew.synchronous if way == "bsp" else crew.chaotic)(aim / factor if factor else 1.0)
            progress(factor * estimate)
            iterations = crew.iterations
            scores, moved = crew.certify()
        except _Lost:
            crew.recover()
            continue
        certified = certified_error(damping, moved, rounding_of_sums(graph.in_degree, scores), graph.pages)
        if certified <= error or exhausted or iterations > MOST_ITERATIONS:
            return scores, way, iterations, iterations + 1.0, moved, certified
        aim = min(aim, factor * estimate) / 2


class _Workers:
    """The processes of a ranking. Values are carried by their receiver."""

    def __init__(self, graph: Graph, damping: float, crewing: Crewing) -> None:
        self._graph, self._pages = graph, graph.pages
        self._damping = damping
        self._crewing = crewing
        self._selector = selectors.DefaultSelector()
        self._processes: list[Process] = []
        self._sweeps: list[int] = [0] * crewing.count
        self._kept = [b""] * crewing.count  # the values that each has sent last
        self._kept_at = time.monotonic()
        self._ended: set[int] = set()  # slices whose processes have ended
        self._lost = 0
        self._bytes = self._values = self._boundary = 0
        self._still, self._least_change = 0, float("inf")
        self._received: deque[tuple[int, FromWorker]] = deque()
        for number, piece in enumerate(slices_of(graph, damping, crewing.count)):
            self._processes.append(self._start(number, piece))
            self._boundary += sum(map(len, piece.needed)) // 4

    def _start(self, number: int, piece: Slice) -> Process:
        packed = pack(piece)
        if len(packed) > LARGEST:
            raise BadInput(f"a slice of this graph has {len(packed):,} bytes; give more nodes")
        others = [process.connection for process in self._processes if process.fileno() >= 0]
        process = self._crewing.start(number, str(number).encode(), others)
        process.say(packed)
        self._selector.register(process, selectors.EVENT_READ, number)
        return process

    def recover(self) -> None:
        """Starts other processes for the slices of those that have ended, from the values that these sent last."""
        while True:
            self._lost += len(self._ended)
            if self._lost > MOST_LOST:
                raise CentimeError(f"processes of a ranking ended {self._lost} times")
            ended, self._ended = self._ended, set()
            pieces = slices_of(self._graph, self._damping, len(self._processes))
            for number, piece in enumerate(pieces):
                if number in ended:
                    self._processes[number] = self._start(number, structs.replace(piece, values=self._kept[number]))
            self._still, self._least_change = 0, float("inf")
            try:
                self._order_all(Pause())
                paused = 0
                while paused < len(self._processes):  # their earlier messages are obsolete
                    paused += isinstance(self._next()[1], Paused)
                self._all(Share(), Total)  # new processes lack the values of all others
            except _Lost:
                continue
            return

    @property
    def iterations(self) -> int:
        """Iterations of the worker that has made most."""
        return max(self._sweeps)

    @property
    def exchanged(self) -> Exchanged:
        """The traffic so far."""
        return Exchanged(self._bytes, self._values, self._boundary)

    def synchronous(self, aim: float) -> tuple[float, bool]:
        """Iterates until the mean change is below the aim; returns it, and whether it falls no further."""
        while True:
            moved = self._all(Step(), Moved)
            self._sweeps = [sweeps + 1 for sweeps in self._sweeps]
            change = sum(one.change for one in moved) / sum(one.total for one in moved)
            if change <= aim or self._is_still(change, IDLE) or self.iterations > MOST_ITERATIONS:
                return change, change > aim

    def chaotic(self, aim: float) -> tuple[float, bool]:
        """The same; every worker continues by itself, and the last message of each counts."""
        least = LEAST_SHARE * aim * self._pages / max(1, self._boundary)
        self._order_all(Run(least))
        moved: dict[int, Moved] = {}
        looks = 0
        while True:
            number, message = self._next()
            assert isinstance(message, Moved)
            self._sweeps[number] += 1
            moved[number] = message
            if len(moved) < len(self._processes):
                continue
            change = sum(one.change for one in moved.values()) / sum(one.total for one in moved.values())
            looks += 1
            still = looks % len(self._processes) == 0 and self._is_still(change, CHAOTIC_IDLE)
            if change <= aim or still or self.iterations > MOST_ITERATIONS:
                break
        self._order_all(Pause())
        paused = 0
        while paused < len(self._processes):
            number, message = self._next()
            paused += isinstance(message, Paused)
            self._sweeps[number] += isinstance(message, Moved)
        return change, change > aim

    def certify(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], float]:
        """One exact iteration x = Gh from h, the values as they are: x, and |x - h|."""
        scale = self._pages / sum(one.total for one in self._all(Share(), Total))
        carried = sum(one.carried for one in self._all(Certify(scale), Carried))
        parts = self._all(Finish(1.0 - carried / self._pages), Part)
        return np.concatenate([np.frombuffer(part.scores) for part in parts]), sum(part.moved for part in parts)

    def close(self) -> None:
        """Ends all processes."""
        for process in self._processes:
            process.hang_up()
        for process in self._processes:
            process.end()
        self._selector.close()
        self._crewing.close()

    def _is_still(self, change: float, patience: int) -> bool:
        self._still = self._still + 1 if change >= self._least_change else 0
        self._least_change = min(change, self._least_change)
        return self._still >= patience

    def _order_all(self, order: ToWorker) -> None:
        for process in self._processes:
            process.say(pack(order))

    def _all(self, order: ToWorker, kind: type[Answer]) -> list[Answer]:
        """The answers of all workers, in their order."""
        self._order_all(order)
        found: dict[int, Answer] = {}
        while len(found) < len(self._processes):
            number, message = self._next()
            assert isinstance(message, kind)
            found[number] = message
        return [found[number] for number in range(len(self._processes))]

    def _next(self) -> tuple[int, FromWorker]:
        """The next message for the coordinator, and its sender."""
        until = time.monotonic() + SILENCE_SECONDS
        while not self._received:
            for process in self._processes:
                with suppress(OSError):  # it has ended, which is noticed next
                    process.flush()
            self._look_after()
            self._listen()
            if time.monotonic() > until:
                raise CentimeError(f"a worker has not answered for {SILENCE_SECONDS:g} seconds")
        return self._received.popleft()

    def _look_after(self) -> None:
        self._crewing.turn()
        if time.monotonic() - self._kept_at >= KEEP_SECONDS:
            self._kept_at = time.monotonic()
            self._order_all(Keep())

    def _listen(self) -> None:
        for key in self._selector.get_map().values():
            process = self._processes[key.data]
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.unsent else 0)
            if key.events != events:
                self._selector.modify(key.fileobj, events, key.data)
        for key, _ in self._selector.select(1.0):
            try:
                messages = self._processes[key.data].receive()
            except (OSError, EOFError):
                self._selector.unregister(key.fileobj)
                self._processes[key.data].kill()
                self._ended.add(key.data)
                continue
            for packed in messages:
                message = unpack_answer(packed)
                self._bytes += len(packed) if not isinstance(message, Part) else 0
                if isinstance(message, Values):
                    self._values += len(message.values) // 8
                    self._processes[message.receiver].say(packed)
                elif isinstance(message, Kept):
                    self._kept[key.data] = message.values
                else:
                    self._received.append((key.data, message))
        if self._ended:
            self._received.clear()
            raise _Lost
