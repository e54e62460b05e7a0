"""The index of a running crawl, kept by a process of its own, which the crawl does not depend on."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from centime import Crawl, open_crawl
from centime.crawl.search import indexer
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served

GIVEN: dict[str, Any] = {
    "scope": "any",
    "delay": 0.0,
    "workers": 1,
    "allow_network": ["127.0.0.0/8"],
    "keep": "all",
    "index": True,
}


@pytest.fixture(scope="module")
def web() -> Iterator[Served]:
    with serve_in_process(WebBox(hosts=2, pages=40)) as served:
        yield served


@pytest.mark.slow
def test_the_index_is_up_to_date_when_the_crawl_has_ended_however_busy_the_machine_is(
    web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "PATIENCE_SECONDS", 0.0)
    with Crawl(tmp_path / "c", web.seed_url, **GIVEN) as crawl:
        crawl.run(pages=30)
    assert crawl.index_trouble == ""
    with open_crawl(tmp_path / "c") as reader:
        assert reader.settings["index"] is True
        assert len(reader.search("honey", most=100)) > 3
        assert reader.update_index()["added"] == 0


@pytest.mark.slow
def test_a_crawl_goes_on_without_its_index(web: Served, tmp_path: Path) -> None:
    with Crawl(tmp_path / "killed", web.seed_url, **GIVEN) as crawl:
        process = crawl._indexer.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        crawl.run(pages=10)
        assert crawl.fetched >= 10
        assert "has ended: exit code -9; centime index" in crawl.index_trouble
    with Crawl(tmp_path / "blocked", web.seed_url, **GIVEN) as crawl:
        (tmp_path / "blocked/index").write_text("this is no folder")
        crawl.run(pages=10)
        assert crawl.fetched >= 10
    assert "File exists" in crawl.index_trouble


def test_a_crawl_that_stores_nothing_says_that_it_keeps_no_index(web: Served, tmp_path: Path) -> None:
    with Crawl(tmp_path / "c", web.seed_url, **GIVEN | {"keep": "none"}) as crawl:
        assert "--index needs stored pages" in crawl.index_trouble
