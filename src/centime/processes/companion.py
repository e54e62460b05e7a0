"""A process that works beside the crawl, seen from the crawl: started, watched and ended.

The crawl does not depend on it. It ends when its standard input does, which happens also when the crawl is killed. Its
standard error is kept, and the last line says why it ended. Fetchers, which the crawl talks to all the time, have a
handle of their own (`handle.py`).
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress

LOOK_SECONDS = 0.1  # between two checks of `is_hurried`


class Companion:
    """One such process: `python -m module arguments`."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        command = [sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return bool(self._process.poll())

    def first_line(self) -> str:
        """Waits for the first line of its standard output; empty if it ended before."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def reason(self) -> str:
        """Why it has ended, in words: the last line that it wrote, or its exit code."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), f"exit code {self._process.returncode}")

    def end(self, patience_seconds: float, is_hurried: Callable[[], bool] = lambda: True) -> None:
        """Ends its standard input and waits: as long as it takes, until `is_hurried`; then `patience_seconds`. After
        that it sends SIGTERM, and after as long again SIGKILL. `reason` is available until `close`.
        """
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        while self.is_running and not is_hurried():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_SECONDS)
        for attempt in (self._process.terminate, self._process.kill):  # work that it has finished is kept
            try:
                self._process.wait(patience_seconds)
                return
            except subprocess.TimeoutExpired:
                attempt()
        self._process.wait()

    def close(self) -> None:
        """Discards its output."""
        self._said.close()
