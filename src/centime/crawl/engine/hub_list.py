"""The hubs that the feeds of a crawl announce, for the window, which subscribes to them (`serve/pushes/hubs.py`).

    DIR/hubs.json     {"https://a.example/feed": ["the topic", "a hub", ...], ...}

The crawl writes it when it has changed. It is not part of the state: without the file, it is complete again when all
feeds were read once more.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from centime.files.replacement import replace_file
from centime.model.address import fingerprint
from centime.model.errors import NoRoom
from centime.model.outcome import Outcome

if TYPE_CHECKING:
    from centime.model.ids import PageId
    from centime.shard.message import Visit
    from centime.shard.pages import KnownPages

FILE = "hubs.json"
MOST_FEEDS = 1_000
MOST_BYTES = 16 << 20

_decode = msgspec.json.Decoder(dict[str, list[str]]).decode


def read_hubs(folder: Path) -> dict[str, list[str]]:
    """By the URL of a feed: its topic, then its hubs. Empty if the file is missing or damaged."""
    try:
        with (folder / FILE).open("rb") as file:
            found = _decode(file.read(MOST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return {url: one for url, one in found.items() if len(one) > 1}


class HubList:
    """The hubs of one crawl."""

    def __init__(self, folder: Path, pages: "KnownPages") -> None:
        self._folder = folder
        self._texts = pages.texts
        self._hubs = read_hubs(folder)
        places = ((pages.table.find_one(fingerprint(url)), url) for url in self._hubs)
        self._urls: dict[PageId, str] = {page: url for page, url in places if page is not None}
        self._changed = False

    def note(self, visit: "Visit") -> None:
        """Remembers what a visit announces."""
        known = visit.page in self._urls
        if visit.hubs and (known or len(self._hubs) < MOST_FEEDS):
            url = self._urls.setdefault(visit.page, self._texts.get(visit.page))
            self._changed |= self._hubs.get(url) != list(visit.hubs)
            self._hubs[url] = list(visit.hubs)
        elif known and visit.outcome in (Outcome.READ, Outcome.GONE):
            del self._hubs[self._urls.pop(visit.page)]
            self._changed = True

    def write(self) -> None:
        """Writes the file if something has changed; ignores errors."""
        if self._changed:
            self._changed = False
            with suppress(OSError, NoRoom):
                replace_file(self._folder / FILE, msgspec.json.encode(self._hubs), durable=False)
