"""What a fetcher gives bodies to: the archive of WARC files, or the versions."""

from typing import Protocol

from centime.model.document import Document
from centime.model.response import Response


class Keeper(Protocol):
    """Keeps what fetchers read."""

    obeys_noarchive: bool

    def holds(self, url: str, digest: bytes) -> bool:
        """Whether the body of a page with this digest is kept, as far as it can be told: only then "not changed since"
        is an answer that may be asked for.
        """

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> object:
        """Keeps the body of a page."""

    def verified(self, response: Response) -> object:
        """Notes that a server reported the body as unchanged (304)."""

    def answered(self, response: Response) -> object:
        """Keeps a response that is no document, if such are kept."""

    def flush(self) -> None:
        """Writes what was kept and is not written yet; raises what hinders it, and then none of that is kept."""

    def write_back(self) -> str:
        """Writes again what was deleted or replaced; returns what was wrong, or ""."""

    def close(self) -> None:
        """Ends writing."""
