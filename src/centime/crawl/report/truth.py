"""The results of a crawl beside the truth, if that is known: a program that crawls a simulated web may write it for the
window.

DIR/truth.json     one JSON object, replaced as a whole; no part of the state of the crawl
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from centime.files.replacement import replace_file
from centime.model.errors import NoRoom

FILE = "truth.json"
MOST_BYTES = 1 << 20


class TruePage(msgspec.Struct, frozen=True):
    """The importance of a page: as the crawl found it, and the true one."""

    url: str
    found: float
    true: float


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a crawl, each with the true one."""

    time: float
    known: int
    true_pages: int
    fresh_share: float  # as the crawl estimates it
    true_fresh_share: float
    certified_error: float | None
    true_error: float  # the distance of all importance from that of the web as it is now
    top: list[TruePage] = []


_decode = msgspec.json.Decoder(Truth).decode


def write_truth(folder: Path, truth: Truth) -> None:
    """Writes the truth; ignores errors."""
    with suppress(OSError, NoRoom):
        replace_file(folder / FILE, msgspec.json.encode(truth), durable=False)


def read_truth(folder: Path) -> Truth | None:
    """The truth about a crawl; None if it is not known."""
    try:
        with (folder / FILE).open("rb") as file:
            return _decode(file.read(MOST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
