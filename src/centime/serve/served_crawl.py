"""A crawl that is served: one thread reads it, answers are remembered while they are valid, and known answers are given
even while the thread is busy.

    an answer holds      as long as the reader's state does. Time itself changes figures: an answer older than HOLDS
                         seconds is given, and recomputed in the background; one older than FORGOTTEN is recomputed
                         first
    the reader follows   at most once per FOLLOW_SECONDS, and so seldom that following takes a twentieth of the time;
                         the shorter of the last two durations counts, so that one slow pass delays no answer
    a late answer        of an earlier state is given while the thread is busy, if it is no older than LATE seconds

The reader's state is changed by `follow` and is not made for several threads: everything that touches it runs in the
one thread of the crawl. If a folder cannot be read (damaged, deleted, of another format), every answer raises a
CentimeError that says so; the next request after FOLLOW_SECONDS tries again, so a folder that was repaired, upgraded or
put back is served again. The log has a warning when a folder becomes unreadable, and a message when it is readable
again.
"""

import asyncio
import errno
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from centime.cluster.nodes.gathering import bring_here
from centime.cluster.opening import check_any_folder, folders_of
from centime.cluster.report.parts import Parts, parts_of
from centime.crawl.engine.damage import damage_closes
from centime.model.errors import BadInput, CentimeError, FolderGone
from centime.serve.glance import Glance
from centime.store.folder import read_about

FOLLOW_SECONDS = 1.0
LEISURE = 20.0
BRING_SECONDS = 10.0  # between two copies of partitions of other machines
HOLDS, FORGOTTEN = 30.0, 600.0
LATE = 10.0
MOST_BYTES = 64 << 20  # of remembered answers

Value = TypeVar("Value")
Given = ParamSpec("Given")

_log = logging.getLogger("centime.serve")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """The value of a request, with the state and the time to which it belongs."""

    value: Value
    frame: int
    made: float
    size: int


class ServedCrawl:
    """One crawl of the window."""

    def __init__(self, name: str, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.path = path
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"crawl-{name}")
        self._parts: Parts | None = None
        self._opened_as: list[Any] = []
        self._glance: Glance | None = None
        self._trouble: CentimeError | None = None
        self._brought_at = 0.0
        self._logged = ""  # the trouble that was logged last
        self._looked = float("-inf")  # by the monotonic clock, as all times here but those of glances
        self._pause = FOLLOW_SECONDS
        self._taken = 0.0  # seconds of CPU for the last look
        self._state = 0  # raised whenever the reader's state changes
        self._answers: OrderedDict[Any, tuple[int, Answer[Any]]] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Any, asyncio.Future[Answer[Any]]] = {}

    async def ask(
        self, key: Any, work: Callable[[Glance], Value], size: Callable[[Value], int] = lambda value: 1000
    ) -> Answer[Value]:
        """The value of `work` for the newest state, or a remembered one; `key` identifies the request."""
        known = self._known(key)
        if known is not None and time.monotonic() - known.made < HOLDS:
            return known
        future = self._under_way.get(key)
        if future is None:
            future = asyncio.get_running_loop().run_in_executor(self._thread, self._answer, key, work, size)
            self._under_way[key] = future
            future.add_done_callback(lambda done: self._forget(key, done))
        return known if known is not None else await asyncio.shield(future)

    async def run(self, work: Callable[[Glance], Value]) -> Value:
        """The value of `work` for the newest state, which is not remembered."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._done(work, self._look()))

    async def beside(self, work: Callable[Given, Value], *given: Given.args, **named: Given.kwargs) -> Value:
        """The value of `work`, which opens the folder itself, in another thread."""
        return await asyncio.to_thread(lambda: in_folder(self.path, work, *given, **named))

    async def close(self) -> None:
        """Closes all files."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _forget(self, key: Any, done: "asyncio.Future[Answer[Any]]") -> None:
        self._under_way.pop(key, None)
        if not done.cancelled():
            done.exception()  # no request waits for it any more

    def _known(self, key: Any) -> Answer[Any] | None:
        found = self._answers.get(key)
        if found is None or self._trouble is not None:
            return None
        state, answer = found
        now = time.monotonic()
        looked = now - self._looked < self._pause and state == self._state
        if (looked and now - answer.made < FORGOTTEN) or (self._under_way and now - answer.made < LATE):
            return answer
        return None

    # ---- in the thread of the crawl

    def _answer(self, key: Any, work: Callable[[Glance], Value], size: Callable[[Value], int]) -> Answer[Value]:
        glance = self._look()
        value = self._done(work, glance)
        answer = Answer(value, glance.parts.frame, time.monotonic(), size(value))
        before = self._answers.pop(key, None)
        self._bytes += answer.size - (before[1].size if before else 0)
        self._answers[key] = (self._state, answer)
        while self._bytes > MOST_BYTES and len(self._answers) > 1:
            self._bytes -= self._answers.popitem(last=False)[1][1].size
        return answer

    def _done(self, work: Callable[[Glance], Value], glance: Glance) -> Value:
        try:
            return work(glance)
        except OSError as trouble:  # a file that only this work reads
            raise _named(self.path, trouble) from trouble

    def _look(self) -> Glance:
        """The newest glance; a CentimeError says why there is none."""
        now = time.monotonic()
        if now - self._looked < self._pause:
            if self._trouble is not None:
                raise self._trouble
            if self._glance is not None:
                if now - self._looked > HOLDS:
                    self._glance = Glance(self._glance.parts, self._clock(), self._glance)
                return self._glance
        self._trouble = None
        worked = time.thread_time()
        try:
            self._glance = self._followed()
        except (CentimeError, OSError) as trouble:
            self._close()
            self._trouble = _named(self.path, trouble)
            self._log_trouble(str(self._trouble))
            raise self._trouble from trouble
        finally:
            self._looked = time.monotonic()
            # CPU time instead of elapsed time: other work on the machine does not count
            before, self._taken = self._taken, time.thread_time() - worked
            self._pause = max(FOLLOW_SECONDS, LEISURE * min(before, self._taken))
        self._log_trouble("")
        return self._glance

    def _log_trouble(self, trouble: str) -> None:
        """Logs that the crawl cannot be read, and that it can again, once each."""
        if trouble and trouble != self._logged:
            _log.warning("%s cannot be shown: %s", self.name, trouble)
        elif self._logged and not trouble:
            _log.info("%s is shown again", self.name)
        self._logged = trouble

    def _followed(self) -> Glance:
        """The glance after all frames that are there."""
        if self._clock() - self._brought_at >= BRING_SECONDS:
            bring_here(self.path)
            self._brought_at = self._clock()
        parts = self._parts
        if parts is not None and self._opened_as != self._described():
            self._close()  # another crawl took its place, it was upgraded or damaged, or another partition was opened
            parts = None
        if parts is None:
            self._opened_as = self._described()
            parts = self._parts = parts_of(self.path)
            self._state += 1
            return Glance(parts, self._clock())
        frame = parts.frame
        with damage_closes(self.path):
            parts.follow()
        old = self._glance
        if parts.frame != frame:
            self._state += 1
        elif old is not None and self._clock() - old.now < HOLDS:
            return old
        return Glance(parts, self._clock(), old)

    def _described(self) -> list[Any]:
        """The descriptions in the folders; they stay the same while a crawl runs."""
        check_any_folder(self.path)
        with damage_closes(self.path):
            said = [(folder, read_about(folder)) for folder in folders_of(self.path)]
        return [(folder, about.identity, about.format, about.parts, about.trouble) for folder, about in said]

    def _close(self) -> None:
        self._glance = None
        if self._parts is not None:
            self._parts.close()
            self._parts = None


def in_folder(path: Path, work: Callable[Given, Value], *given: Given.args, **named: Given.kwargs) -> Value:
    """The value of `work` in the folder of a crawl; a folder that is away or may not be read is a FolderGone, which is
    not a wrong usage.
    """
    try:
        check_any_folder(path)
    except (BadInput, OSError) as trouble:
        raise _named(path, trouble) from trouble
    try:
        return work(*given, **named)
    except OSError as trouble:
        raise _named(path, trouble, reads=False) from trouble


def _named(path: Path, trouble: CentimeError | OSError, *, reads: bool = True) -> CentimeError:
    """Why a crawl cannot be read, or not be written, as an error that is not a wrong usage."""
    if isinstance(trouble, BadInput):
        return FolderGone(str(trouble))
    if isinstance(trouble, CentimeError):
        return trouble
    if not reads and _can_only_be_read(path, trouble):
        return FolderGone(f"{path}: the folder can only be read here, so it accepts no commands: {trouble.strerror}")
    denied = reads and isinstance(trouble, PermissionError)
    where = trouble.filename if isinstance(trouble.filename, str) else path
    reason = trouble.strerror or str(trouble)
    return FolderGone(f"{where}: may not be read: {reason}" if denied else f"{where}: {reason}")


def _can_only_be_read(path: Path, trouble: OSError) -> bool:
    if trouble.errno == errno.EROFS:
        return True
    denied = isinstance(trouble, PermissionError)
    return denied and os.access(path, os.R_OK | os.X_OK) and not os.access(path, os.W_OK)
