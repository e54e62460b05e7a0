"""Imports files into a crawl, and looks at what became of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.imports.importing import ImportReport, importing
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.row_batch import Pages
from centime.shard.joining import fingerprints_of
from centime.store.record import Record
from tests.crawl.imports.written import SEED

Step = Callable[[float, str], None]


def imported(
    folder: Path,
    *paths: Path,
    form: str = "",
    keep: Any = "none",
    step: Step = lambda done, what: None,
    seed: str = SEED,
    **given: Any,
) -> ImportReport:
    """Imports files, and checks the crawl."""
    seeds = () if folder.exists() else (seed,)
    with open_writer(folder, seeds, given) as opened, importing(opened, keep=keep) as importer:
        report = importer.run(importer.sources(paths, form), step)
    assert not check_crawl(folder).problems
    return report


def numbers(crawl: CrawlReader, *urls: str) -> Pages:
    """The numbers of known pages."""
    pages: Pages = crawl.shard.pages.table.find(fingerprints_of(list(urls))).astype(np.int64)
    assert (pages >= 0).all()
    return pages


def rates(folder: Path, *urls: str) -> list[float]:
    """The estimated change rates of known pages, per second."""
    crawl = read_crawl(folder)
    means: list[float] = crawl.shard.refreshing.book.rates(numbers(crawl, *urls))[0].tolist()
    return means


def history(folder: Path, url: str) -> list[Record]:
    """The visits of a page, the oldest first; none if it is not known."""
    crawl = read_crawl(folder)
    page = crawl.shard.pages.table.find_one(fingerprint(url))
    return [] if page is None else list(crawl.shard.pages.records.history(page))[::-1]


def links(folder: Path, url: str) -> set[str]:
    """The URLs that a page links to, as far as the crawl knows."""
    crawl = read_crawl(folder)
    found = crawl.shard.pages.rows.gather(numbers(crawl, url)).links()
    return set(crawl.shard.pages.texts.get_many(found.astype(np.int64)))


def all_records(folder: Path) -> list[tuple[str, float, str, bool]]:
    """Every visit of every page: URL, time, outcome, changed."""
    pages = read_crawl(folder).shard.pages
    return sorted(
        (pages.texts.get(PageId(page)), one.time, one.outcome.name, bool(one.marks & 1))
        for page in range(pages.count)
        for one in pages.records.history(PageId(page))
    )
