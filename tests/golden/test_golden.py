"""Golden crawl folders of the present format: read as the code that made them read them, and continued.

Those of older formats, which are upgraded first: tests/store/test_upgrade.py.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from centime import Crawl, open_crawl
from centime.cluster.beginning import cluster_run
from centime.crawl.engine.loop import Limits
from centime.crawl.engine.reader import read_crawl
from tests.golden.make import ARCHIVE, CRAWLS, HERE, SAID, said_of
from tests.golden.site import MUSEUM, Site, serve_site

ROOM = f"{MUSEUM}/rooms/3"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """The crawls of the present format, by their names."""
    with tarfile.open(HERE / ARCHIVE) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site() as served:
        served.edition = 3
        yield served


def said(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((HERE / SAID).read_text())[name]
    return facts


def must_have_grown(folder: Path, name: str) -> None:
    """What was there is there, and a room has a version of the third edition."""
    before, after = said(name), said_of(folder)
    assert after["problems"] == []
    assert set(before["pages"]) <= set(after["pages"])
    assert [one for one in before["changes"] if one not in after["changes"]] == []
    assert after["versions"][ROOM][:-1] == before["versions"][ROOM]
    assert after["pages"][ROOM][2] > before["pages"][ROOM][2]
    with open_crawl(folder) as reader:
        assert "edition 3" in str(reader.diff(ROOM))


@pytest.mark.parametrize("name", CRAWLS)
def test_a_crawl_says_what_the_version_that_made_it_said(golden: Path, name: str) -> None:
    assert said_of(golden / name) == said(name)


def test_a_continuous_crawl_goes_on(golden: Path, site: Site) -> None:
    with Crawl(golden / "kept", proxy=site.proxy) as crawl:
        crawl.run(lambda crawl: crawl.fetched >= 40, seconds=60)
    reader = read_crawl(golden / "kept")
    assert reader.shard.requests.subscriptions.waiting > 0  # a folder from elsewhere writes no file (SECURITY.md)
    reader.close()
    must_have_grown(golden / "kept", "kept")
    with open_crawl(golden / "kept") as crawl_again:
        crawl_again.update_index()  # the process that keeps it follows the crawl in its own time
        assert "edition 3" in crawl_again.search("stone weighs 21 kg edition 3")[0].snippet


def test_an_archive_goes_on(golden: Path, site: Site) -> None:
    with Crawl(golden / "archived", proxy=site.proxy, refresh_after="1s") as crawl:
        crawl.run(lambda crawl: crawl.fetched >= 30, seconds=60)
    must_have_grown(golden / "archived", "archived")


def test_a_crawl_in_partitions_goes_on(golden: Path, site: Site) -> None:
    given = {"proxy": site.proxy, "refresh-after": "1s"}
    with cluster_run(golden / "divided", [], given, Limits(pages=15)) as crawl:
        crawl.run()
    must_have_grown(golden / "divided", "divided")
