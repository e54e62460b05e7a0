"""The process that serves the window of a crawl beside it: if it fails, the crawl continues.

A process that was killed is started again at the same address, after a pause that doubles from FIRST_PAUSE to
LONGEST_PAUSE seconds, and is short again after a process that ran for longer than that. A process that could not begin,
because its port is taken for example, is not restarted.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from centime.processes.companion import Companion
from centime.processes.log import LogSettings

MODULE = "centime.serve.serving"
PATIENCE_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0

_log = logging.getLogger("centime.serve")


class WindowProcess:
    """The process, or none."""

    def __init__(
        self,
        folder: Path,
        listen: str | None,
        log: LogSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._more = () if log is None else (json.dumps(asdict(log)),)
        self._clock = clock
        self._begun = clock()
        self._pause = FIRST_PAUSE
        self._again: float | None = None  # when it is started again
        self._process = None if listen is None else self._started(listen)
        self.address = "" if self._process is None else self._process.first_line()

    def trouble(self) -> str:
        """Why it did not begin, in words; empty if it did. One that has ended since is started again when it is time;
        call this now and then.
        """
        if self._process is None or self._process.is_running:
            return ""
        if not self.address:
            return f"the window is not served: {self._process.reason()}"
        now = self._clock()
        if self._again is None:
            if now - self._begun > LONGEST_PAUSE:
                self._pause = FIRST_PAUSE
            self._again, reason = now + self._pause, self._process.reason()
            _log.warning("the window has ended (%s); it is started again in %g seconds", reason, self._pause)
            self._pause = min(2.0 * self._pause, LONGEST_PAUSE)
        elif now >= self._again:
            self.close()
            self._process = self._started(self.address.removeprefix("http://").rstrip("/"))
            self._begun, self._again = now, None
        return ""

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.end(PATIENCE_SECONDS)
            self._process.close()

    def _started(self, listen: str) -> Companion:
        return Companion(MODULE, str(self._folder), listen, *self._more)


@contextmanager
def serving_beside(folder: Path, listen: str | None, log: LogSettings | None = None) -> Iterator[WindowProcess]:
    """Serves the window of a crawl while the block runs, at a port of this machine; not at all for None."""
    window = WindowProcess(folder, listen, log)
    try:
        yield window
    finally:
        window.close()
