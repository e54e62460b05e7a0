"""The interface by which a fetcher stores bodies: the archive of WARC files, or the versions."""

from typing import Protocol

from centime.model.document import Document
from centime.model.response import Response


class Keeper(Protocol):
    """Stores the bodies that fetchers read."""

    obeys_noarchive: bool

    def holds(self, url: str, digest: bytes) -> bool:
        """Whether the body of a page with this digest is kept, as far as this is known: only then may a request be
        conditional ("not changed since").
        """

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> object:
        """Keeps the body of a page."""

    def verified(self, response: Response) -> object:
        """Notes that a server reported the body as unchanged (304)."""

    def answered(self, response: Response) -> object:
        """Keeps a response that is not a document, if such responses are kept."""

    def flush(self) -> None:
        """Writes the bodies that are not written yet; if that fails, raises the reason, and none of them is kept."""

    def write_back(self) -> str:
        """Restores files that were deleted or replaced; returns what was wrong, or ""."""

    def close(self) -> None:
        """Completes and closes the files."""
