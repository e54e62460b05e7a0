"""Brings the index of a crawl up to date with its bodies: pages that are new, changed or gone, and no others.

The index has the newest body of every page, except of pages that are gone, that redirect or that ask not to be indexed
(`noindex`), and of requisites. Every body is read and parsed separately: one that cannot be read is counted, and tried
again the next time.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.documents.page_texts import PageTexts, page_texts
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.visits import REDIRECTS, last_visits
from centime.crawl.search.newest import NewestBodies, NewestBody, StoredBodies, digest_number
from centime.crawl.search.paths import update_paths
from centime.files.listing import files_below
from centime.model.errors import BadInput, DamagedFile, FileGone, UnknownPage
from centime.model.ids import PageId
from centime.model.outcome import PageKind, Presence
from centime.search.index_files import IndexFiles
from centime.search.index_writer import IndexWriter, write_index
from centime.search.page_text import PageText
from centime.store.record import Mark
from centime.store.versions.database import keeping_open

Step = Callable[[float], None]
Flags = npt.NDArray[np.bool_]


@dataclass
class Update:
    """The figures of an update."""

    pages: int = 0  # in the index now
    added: int = 0
    changed: int = 0
    removed: int = 0
    noindex: int = 0  # pages that ask to be left out
    without_text: int = 0  # of those added and changed: found by their URL only
    unreadable: int = 0
    first_unreadable: str = ""
    text_bytes: int = 0  # of those added and changed
    index_bytes: int = 0
    documents: int = 0  # in the index of paths
    began_again: str = ""

    def facts(self) -> dict[str, Any]:
        """For a report."""
        return {name: value for name, value in asdict(self).items() if value != ""}


def index_files(opened: CrawlState) -> IndexFiles:
    """The files of the index of a crawl."""
    return IndexFiles(opened.folder.index, opened.folder.identity)


def update_index(
    opened: CrawlState,
    *,
    rebuild: bool = False,
    step: Step = lambda share: None,
    bodies: NewestBodies | None = None,
) -> Update:
    """Brings the index up to date; `step` receives each further share of the work. Whatever ends it, the index is
    consistent: finished work counts, and the next update continues.
    """
    must_have_bodies(opened)
    files, known = index_files(opened), opened.shard.pages
    update = Update()

    def half(share: float) -> None:
        step(share / 2)  # words, then paths

    with (
        write_index(files, known.count, rebuild=rebuild) as writer,
        page_texts(opened.folder.path) as texts,
        keeping_open(),
    ):
        update.began_again = writer.began_again
        seen_until = known.last_time()
        source = bodies or StoredBodies(opened)
        wanted, update.noindex = wanted_pages(opened)
        try:
            for body in _due(source, opened, writer, wanted, half):
                _index(body, source, writer, update, texts)
                if writer.is_due:
                    writer.commit()
            for page in np.flatnonzero((writer.pages.digests[: known.count] != 0) & ~wanted).tolist():
                writer.drop(page)
                update.removed += 1
            writer.pages.position, writer.pages.seen_until = source.position, seen_until
        finally:
            writer.commit()
        update.pages = int(np.count_nonzero(writer.pages.digests))
        update.documents = update_paths(opened, rebuild=rebuild, step=half).documents
    update.index_bytes = sum(path.stat().st_size for path in files_below(files.folder))
    return update


def must_have_bodies(opened: CrawlState) -> None:
    """Raises BadInput if a crawl has no bodies and keeps none."""
    folder = opened.folder
    if opened.settings.keep == "none" and not any(map(files_below, (folder.bodies, folder.imported, folder.versions))):
        raise BadInput(
            f"{opened.folder.path}: this crawl keeps no bodies (--keep none), so there is no text; "
            f"centime crawl {opened.folder.path} --keep all stores those that it reads from then on"
        )


def wanted_pages(opened: CrawlState) -> tuple[Flags, int]:
    """Which pages are to be in the index if they have a body, and how many ask to be left out."""
    last = last_visits(opened.shard.pages, "visits", "kind", "outcome", "marks", "presence")
    asked = (last["marks"] & Mark.NOINDEX) > 0
    gone = (last["kind"] == PageKind.DEAD) | (last["presence"] == Presence.GONE) | REDIRECTS[last["outcome"]]
    wanted: Flags = (last["visits"] > 0) & ~gone & ~asked
    wanted[opened.shard.requisites.every()] = False
    return wanted, int(np.count_nonzero(asked))


def _due(
    source: NewestBodies, opened: CrawlState, writer: IndexWriter, wanted: Flags, step: Step
) -> Iterator[NewestBody]:
    """The bodies that the index lacks."""
    pages = writer.pages
    for body in source.since(pages.position):
        step(1 / source.count)
        if body.seen < pages.times[body.page]:
            continue
        pages.times[body.page] = int(body.seen)
        if wanted[body.page] and pages.digests[body.page] != digest_number(body.digest):
            yield body
    # Pages that are back, and bodies that could not be read the last time.
    lacking = np.flatnonzero(wanted & (pages.times[: len(wanted)] > 0) & (pages.digests[: len(wanted)] == 0))
    for page, url in zip(lacking.tolist(), opened.shard.pages.texts.get_many(lacking), strict=True):
        if pages.digests[page] == 0 and (found := source.of(PageId(page), url)) is not None:
            yield found


def _index(body: NewestBody, source: NewestBodies, writer: IndexWriter, update: Update, texts: PageTexts) -> None:
    try:
        data, content_type = source.read(body)
    except (DamagedFile, FileGone, UnknownPage, OSError) as trouble:
        update.unreadable += not update.first_unreadable.startswith(str(trouble))
        update.first_unreadable = update.first_unreadable or str(trouble)
        return
    text = _text(texts, data, content_type, body.url)
    update.without_text += not text.text
    update.text_bytes += len(text.text.encode(errors="replace"))
    if writer.pages.digests[body.page]:
        update.changed += 1
    else:
        update.added += 1
    writer.put(body.page, body.url, digest_number(body.digest), body.time, text)


def _text(texts: PageTexts, data: bytes, content_type: str, url: str) -> PageText:
    """The text of a body; none if a defect of this program prevents reading it, which must not stop the work on all
    others."""
    try:
        return texts.of(data, content_type, url)
    except Exception:
        return PageText("other")
