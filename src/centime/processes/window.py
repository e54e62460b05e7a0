"""The process that serves the window of a crawl beside it, seen from the crawl: started, watched and ended.

Whatever becomes of it, the crawl goes on. It ends with the process that started it, because its standard input does.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULE = "centime.serve.serving"
PATIENCE_SECONDS = 5.0


class WindowProcess:
    """The process, or none."""

    def __init__(self, folder: Path, listen: str | None) -> None:
        self.address = ""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._process: subprocess.Popen[bytes] | None = None
        self._trouble = ""
        if listen is not None:
            command = [sys.executable, "-m", MODULE, str(folder), listen]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
            assert self._process.stdout is not None
            self.address = self._process.stdout.readline().decode().strip()

    def trouble(self) -> str:
        """What stopped it, in words; empty if nothing did."""
        if self._process is not None and self._process.poll() is not None:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").strip().split("\n")
            self._trouble = f"the window is not served: {lines[-1] or f'exit code {self._process.returncode}'}"
            self._process = None
        return self._trouble

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
        self._said.close()


@contextmanager
def serving_beside(folder: Path, listen: str | None) -> Iterator[WindowProcess]:
    """Serves the window of a crawl while the block runs, at a port of this machine; not at all for None."""
    window = WindowProcess(folder, listen)
    try:
        yield window
    finally:
        window.close()
