"""The process that serves the window of a crawl beside it: whatever becomes of it, the crawl goes on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from centime.processes.companion import Companion
from centime.processes.log import LogSettings

MODULE = "centime.serve.serving"
PATIENCE_SECONDS = 5.0


class WindowProcess:
    """The process, or none."""

    def __init__(self, folder: Path, listen: str | None, log: LogSettings | None = None) -> None:
        more = () if log is None else (json.dumps(asdict(log)),)
        self._process = None if listen is None else Companion(MODULE, str(folder), listen, *more)
        self.address = "" if self._process is None else self._process.first_line()

    def trouble(self) -> str:
        """What stopped it, in words; empty if nothing did."""
        if self._process is None or self._process.is_running:
            return ""
        return f"the window is not served: {self._process.reason()}"

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.end(PATIENCE_SECONDS)
            self._process.close()


@contextmanager
def serving_beside(folder: Path, listen: str | None, log: LogSettings | None = None) -> Iterator[WindowProcess]:
    """Serves the window of a crawl while the block runs, at a port of this machine; not at all for None."""
    window = WindowProcess(folder, listen, log)
    try:
        yield window
    finally:
        window.close()
