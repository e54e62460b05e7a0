"""The server's own record of what it was asked: one line a request, time, host, path and status, with tabs between."""

from pathlib import Path
from typing import NamedTuple

BUFFER_BYTES = 1 << 20


class Seen(NamedTuple):
    """A request as the server saw it; `time` is real time in seconds since the epoch, when its head was complete."""

    time: float
    host: str
    path: str
    status: int


class RequestLog:
    """Writes requests to a file: when it is told to, when a mebibyte has come together, and at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w", buffering=BUFFER_BYTES, encoding="latin-1", newline="\n")

    def add(self, time: float, host: bytes, path: bytes, status: int) -> None:
        """Notes one request."""
        self._file.write(f"{time:.6f}\t{_clean(host)}\t{_clean(path)}\t{status}\n")

    def flush(self) -> None:
        """Writes out what is still in memory."""
        self._file.flush()

    def close(self) -> None:
        """Writes out the rest and ends."""
        self._file.close()


def read_log(path: Path) -> list[Seen]:
    """The requests of a log, in the order in which they came."""
    found = []
    for line in path.read_text("latin-1").splitlines():
        time, host, asked, status = line.split("\t")
        found.append(Seen(float(time), host, asked, int(status)))
    return found


def _clean(text: bytes) -> str:
    """Text without what would be taken for the end of a field or of a line."""
    clean = text.decode("latin-1")
    return (
        clean
        if clean.isascii() and clean.isprintable()
        else "".join(each if "!" <= each <= "~" else f"%{ord(each):02X}" for each in clean)
    )
