"""An archive that skips bodies that a killed import had already written: the last visits are imported again."""

from centime.model.document import Document
from centime.model.response import Response
from centime.store.archives.archive import Archive
from centime.store.archives.captures import Capture, find_bodies
from centime.store.archives.warc import moment_of

DOUBTED = 1_000  # first responses that may have been written before: more than a frame has


class OnceArchive(Archive):
    """The archive of an import."""

    _asked = 0

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> Capture | None:
        """Writes one body, unless the archive has one of this URL and time."""
        return None if self._has(response) else super().keep(response, document, unchanged)

    def answered(self, response: Response) -> Capture | None:
        """The same for a response without a document."""
        return None if self._has(response) else super().answered(response)

    def _has(self, response: Response) -> bool:
        self._asked += 1
        if self._asked > DOUBTED:
            return False
        stamp = moment_of(response).strftime("%Y%m%d%H%M%S")
        return any(one.timestamp == stamp for one in find_bodies(self.folder, response.url, with_open=False))
