"""Sitemaps as files: the pages that they list become known, and their claims about these are used like those of a
publication."""

from collections.abc import Iterator
from pathlib import Path

from centime.crawl.imports.finding import Item, Listed, Trouble
from centime.discover.sitemap import MOST_BYTES, read_sitemap
from centime.refresh.learning.credit import CHANGE_FREQUENCIES


class SitemapSource:
    """The pages that a sitemap lists."""

    format = "sitemap"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._at = 0
        self.size = 1

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The pages; those of an index of sitemaps are not there: its parts are files of their own."""
        with self._path.open("rb") as file:
            sitemap = read_sitemap(file.read(MOST_BYTES + 1))
        self._at = 1
        if sitemap.trouble:
            yield 0, Trouble(sitemap.trouble)
        if sitemap.is_index:
            yield 0, Trouble("this is an index of sitemaps; import the sitemaps that it names instead")
            return
        for number, entry in enumerate(sitemap.entries, 1):
            period = CHANGE_FREQUENCIES.get(entry.frequency, 0.0)
            if number > position:
                yield number, Listed(entry.url, max(entry.modified, entry.published), period)

    def place(self) -> int:
        """1 when it was read."""
        return self._at
