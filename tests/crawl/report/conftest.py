from collections.abc import Iterator
from pathlib import Path

import pytest

from centime.crawl.engine.reader import CrawlReader, read_crawl
from tests.crawl.report.made import crawled, hand_made, refreshed


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the crawl made by hand, closed."""
    folder = tmp_path_factory.mktemp("small") / "crawl"
    with hand_made(folder) as opened:
        opened.close()
    return folder


@pytest.fixture(scope="session")
def small(small_folder: Path) -> CrawlReader:
    """The crawl made by hand, opened for reading."""
    return read_crawl(small_folder)


@pytest.fixture(scope="session")
def later(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrawlReader]:
    """The same with a second visit of some pages, read while its writer is open."""
    folder = tmp_path_factory.mktemp("later") / "crawl"
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        refreshed(opened)
        yield read_crawl(folder)


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl of the simulated web."""
    return crawled(tmp_path_factory.getbasetemp()).folder
