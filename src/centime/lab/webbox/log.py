"""The server's log of requests: one line per request with time, host, path and status, separated by tabs."""

from pathlib import Path
from typing import NamedTuple

BUFFER_BYTES = 1 << 20


class Seen(NamedTuple):
    """A request in the log; `time` is the real time at which its head was complete, in seconds since the epoch."""

    time: float
    host: str
    path: str
    status: int


class RequestLog:
    """Writes requests to a file: at `flush`, whenever the buffer holds a mebibyte, and at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w", buffering=BUFFER_BYTES, encoding="latin-1", newline="\n")

    def add(self, time: float, host: bytes, path: bytes, status: int) -> None:
        """Adds one request."""
        self._file.write(f"{time:.6f}\t{_clean(host)}\t{_clean(path)}\t{status}\n")

    def flush(self) -> None:
        """Writes the buffer to the file."""
        self._file.flush()

    def close(self) -> None:
        """Writes the buffer to the file and closes it."""
        self._file.close()


def read_log(path: Path) -> list[Seen]:
    """The requests of a log, in the order of their arrival."""
    found = []
    for line in path.read_text("latin-1").splitlines():
        time, host, requested, status = line.split("\t")
        found.append(Seen(float(time), host, requested, int(status)))
    return found


def _clean(text: bytes) -> str:
    """The text without characters that would end a field or a line."""
    clean = text.decode("latin-1")
    return (
        clean
        if clean.isascii() and clean.isprintable()
        else "".join(each if "!" <= each <= "~" else f"%{ord(each):02X}" for each in clean)
    )
