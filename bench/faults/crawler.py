"""A crawl as a process group of its own, forked from here so that its kernels are compiled already, that tells how far
it got.

After every flush of its journal it appends one line to a file beside its folder: frames and visits that were handed to
the system. What a line says was there before the kill must be there after it."""

import errno
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from centime.cli.ending import run
from centime.cli.main import app
from centime.crawl.engine import opening, writer
from centime.crawl.notify import delivering
from centime.crawl.worker import fetching
from centime.processes.parent import die_with_parent
from centime.store.journal import Journal

POLL_SECONDS = 0.002
PATIENCE_SECONDS = 120.0  # a busy machine takes long to start a process
SNAPSHOT_SECONDS = 0.05  # of work between two snapshots: many, so that kills meet them


@dataclass(frozen=True, slots=True)
class Crawler:
    """A crawl under way."""

    process: int
    folder: Path

    def flushed(self) -> tuple[int, int]:
        """Frames and visits that this run had handed to the system when it last said so."""
        lines = _said(self.folder).read_bytes().split(b"\n")[:-1]  # the last line may be torn
        frames, visits = lines[-1].split() if lines else (0, 0)
        return int(frames), int(visits)

    def wait_for(self, what: str, *, more: int = 1, seconds: float = PATIENCE_SECONDS) -> bool:
        """Waits for so many more visits, for a snapshot being written, or for the end; False if the crawl ended
        before."""
        until = time.monotonic() + seconds
        before = self.flushed()[1]
        while time.monotonic() < until:
            if self.ended():
                return what == "the end"
            if what == "visits" and self.flushed()[1] >= before + more:
                return True
            if what == "a snapshot" and any((self.folder / "snapshots").glob(".[0-9]*")):
                return True
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"{self.folder}: waited {seconds:g} s for {what}")

    def ended(self) -> bool:
        """Whether the crawl has ended; it is not waited for."""
        return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def fetchers(self) -> list[int]:
        """The processes that fetch for it."""
        return self._children(fetching.TITLE)

    def notifiers(self) -> list[int]:
        """The process that notifies subscribers for it, if there is one."""
        return self._children(delivering.TITLE)

    def _children(self, title: str) -> list[int]:
        found = []
        try:
            children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
            for child in children:
                if Path(f"/proc/{child}/comm").read_text().strip() == title:
                    found.append(int(child))
        except (FileNotFoundError, ProcessLookupError):
            pass
        return found

    def kill_all(self) -> None:
        """Kills the crawl and whatever it has started, all at once."""
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def kill_shard(self) -> None:
        """Kills the one process that holds the crawl; nobody tells the others."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def wait(self) -> tuple[int, str]:
        """The exit code, once it has ended, and what was said on standard error."""
        self.wait_for("the end")
        _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status), _errors(self.folder).read_text()


def start(folder: Path, arguments: list[str], *, room: int | None = None, seed: int = 0) -> Crawler:
    """Starts the crawl of a folder, or goes on with it; with `room`, its disk is full after so many bytes."""
    _said(folder).write_bytes(b"")
    process = os.fork()
    if process:
        return Crawler(process, folder)
    code = 99
    try:
        die_with_parent()
        os.setsid()
        with Path(os.devnull).open("wb") as nothing, _errors(folder).open("wb") as errors:
            os.dup2(nothing.fileno(), 1)
            os.dup2(errors.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)  # whatever took their place before
        _tell_flushes(_said(folder))
        writer.REPLAY_SECONDS = SNAPSHOT_SECONDS
        if room is not None:
            _limit_disk(room, Random(seed))
        code = run(app, ["crawl", str(folder), *arguments, "--json"])
    finally:
        os._exit(code)


def _said(folder: Path) -> Path:
    return folder.with_name(folder.name + ".said")


def _errors(folder: Path) -> Path:
    return folder.with_name(folder.name + ".errors")


def _tell_flushes(path: Path) -> None:
    """Lets every flush say how far the crawl has come."""
    said = os.open(path, os.O_WRONLY | os.O_APPEND)
    flush = Journal.flush
    crawls: list[writer.CrawlWriter] = []

    class Remembered(writer.CrawlWriter):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            crawls.append(self)

    def flush_and_tell(self: Journal) -> None:
        waiting = self.next_index
        flush(self)
        if crawls:
            os.write(said, f"{waiting} {sum(crawls[0].shard.outcomes.values())}\n".encode())

    patch.object(opening, "CrawlWriter", Remembered).start()  # until the process ends
    patch.object(Journal, "flush", flush_and_tell).start()


def _limit_disk(room: int, chance: Random) -> None:
    """A disk that is full after so many bytes: half of a write may still succeed, room asked for ahead may be
    refused earlier."""
    write, allocate = os.pwrite, os.posix_fallocate
    left = [room]

    def full() -> OSError:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def pwrite(handle: int, data: Any, at: int) -> int:
        if left[0] <= 0:
            raise full()
        written = write(handle, memoryview(data)[: left[0]], at)
        left[0] -= written
        return written

    def posix_fallocate(handle: int, at: int, length: int) -> None:
        if left[0] <= 0 or chance.random() < 0.05:
            left[0] = 0
            raise full()
        allocate(handle, at, length)

    patch.object(os, "pwrite", pwrite).start()  # until the process ends
    patch.object(os, "posix_fallocate", posix_fallocate).start()
