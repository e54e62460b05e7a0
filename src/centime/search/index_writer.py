"""Writes the index: pages in, pages out, commits. A killed process loses its work since the last commit.

    with write_index(files, pages) as writer:
        writer.put(page, url, digest, time, text)
        writer.drop(page)
        writer.commit(...)

An index that is broken, of another crawl or of another version is discarded and rebuilt; `writer.began_again` says why.
"""

import os
import re
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager

import tantivy

from centime.files.disk import room_for
from centime.model.errors import DamagedFile
from centime.search.index_files import SHOWN, IndexFiles
from centime.search.indexed_pages import BrokenIndex, IndexedPages
from centime.search.page_text import PageText
from centime.search.words import prepared, shown

MEMORY_BYTES = 64_000_000  # that the writer gathers before it writes a segment
COMMIT_SECONDS = 10.0
SIGN = 1 << 63

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


class IndexWriter:
    """An index opened for writing; made by `write_index`."""

    def __init__(self, files: IndexFiles, index: tantivy.Index, pages: IndexedPages, began_again: str) -> None:
        self.pages = pages
        self.began_again = began_again  # why everything is indexed again, in words; empty if it is not
        self._files = files
        self._writer = index.writer(heap_size=MEMORY_BYTES, num_threads=1)
        self._committed = clock.monotonic()
        self._is_changed = False

    @property
    def is_due(self) -> bool:
        """Whether the last commit was a while ago."""
        return clock.monotonic() - self._committed > COMMIT_SECONDS

    def put(self, page: int, url: str, digest: int, time: float, text: PageText) -> None:
        """Indexes a version of a page; replaces the one before."""
        if self.pages.digests[page]:
            self._writer.delete_documents_by_term("page", page)
        document = tantivy.Document()
        document.add_integer("page", page)
        document.add_integer("time", int(time))
        document.add_integer("digest", (digest ^ SIGN) - SIGN)
        document.add_text("url", url)
        for domain in sites_of(url):
            document.add_text("site", domain)
        for name, said in (("title", shown(text.title)), ("text", shown(text.text))):
            document.add_text(name, prepared(said))
            document.add_bytes(SHOWN[name], said.encode())
        document.add_text("kind", text.kind)
        if text.language:
            document.add_text("language", text.language)
        with _written(self._files):
            self._writer.add_document(document)
        self.pages.digests[page] = digest
        self._is_changed = True

    def drop(self, page: int) -> None:
        """Removes a page from the index."""
        self._writer.delete_documents_by_term("page", page)
        self.pages.digests[page] = 0
        self._is_changed = True

    def commit(self) -> None:
        """Makes all changes so far durable, and visible to searches."""
        with _written(self._files):
            if self._is_changed or not self.pages.opstamp:
                self.pages.opstamp = int(self._writer.commit())
            self.pages.write(self._files.pages)
        self._is_changed = False
        self._committed = clock.monotonic()

    def close(self) -> None:
        """Waits for running merges; uncommitted changes are dropped."""
        with _written(self._files):
            self._writer.rollback()
            self._writer.wait_merging_threads()


@contextmanager
def write_index(files: IndexFiles, count: int, *, rebuild: bool = False) -> Iterator[IndexWriter]:
    """The index of a crawl with `count` known pages, opened for writing, made if there is none; InUse if another
    process writes it.
    """
    with files.locked():
        why = files.unfit() or ("that was asked for" if rebuild and files.about.exists() else "")
        writer = None
        if not why and files.about.exists():
            try:
                writer = _continued(files, count)
            except BrokenIndex as trouble:
                why = str(trouble)
        if writer is None:
            writer = IndexWriter(files, files.create(), IndexedPages(), why)
        writer.pages.reserve(count)
        try:
            yield writer
        finally:
            writer.close()


def _continued(files: IndexFiles, count: int) -> IndexWriter:
    """The existing index; BrokenIndex if it does not match its description."""
    pages = IndexedPages.read(files.pages)
    try:
        index = files.open()
        opstamp = files.opstamp()
        writer = IndexWriter(files, index, pages, "")
    except (ValueError, OSError, KeyError) as trouble:
        raise BrokenIndex("its files are damaged") from trouble
    if pages.opstamp > opstamp:
        writer.close()
        raise BrokenIndex("it is older than the list of its pages")
    if pages.opstamp < opstamp:
        pages.take_from(index, count)
        pages.opstamp = opstamp
    return writer


@contextmanager
def _written(files: IndexFiles) -> Iterator[None]:
    """Turns errors of tantivy, all of them ValueError, into NoRoom for a full disk and DamagedFile for others."""
    try:
        with room_for(files.folder):
            yield
    except ValueError as trouble:
        if found := _OS_ERROR.search(str(trouble)):
            with room_for(files.folder):
                raise OSError(int(found[1]), os.strerror(int(found[1])), str(files.folder)) from trouble
        raise DamagedFile(f"{files.folder}: the index cannot be written ({trouble}); delete this folder") from trouble


def sites_of(url: str) -> list[str]:
    """The host of a URL with its port, and every domain around it: the values that `--site` accepts.

    >>> sites_of("https://www.museum.example:8080/a")
    ['www.museum.example:8080', 'www.museum.example', 'museum.example', 'example']
    """
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.startswith("[") or name.replace(".", "").isdigit():
        return list(dict.fromkeys([host, name]))
    labels = name.split(".")
    return list(dict.fromkeys([host, *(".".join(labels[at:]) for at in range(len(labels)))]))
