"""Spiders in the usual styles run against the scheduler, in a process of their own; one is killed and continued."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import read_crawl
from centime.store.folder import SCRAPY
from tests.scrapy.site import GRID, Site, site

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install centime[scrapy]")

from centime.scrapy.request_log import RequestLog

pytestmark = pytest.mark.slow


def _command(folder: Path, server: Site, *names: str, **settings: Any) -> list[str]:
    return [sys.executable, "-m", "tests.scrapy.spiders", str(folder), server.url, json.dumps(settings), *names]


def _run(folder: Path, server: Site, *names: str, **settings: Any) -> dict[str, Any]:
    done = subprocess.run(
        _command(folder, server, *names, **settings), capture_output=True, text=True, timeout=250, check=True
    )
    assert not done.stderr  # also no warning that Scrapy's engine does not say which requests are under way
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def styles(tmp_path_factory: pytest.TempPathFactory, server: Site) -> tuple[Path, dict[str, Any]]:
    """All styles of spiders, run once."""
    folder = tmp_path_factory.mktemp("styles")
    return folder, _run(folder, server, "quotes", "rules", "listed", "login")


AUTHORS = [{"author": f"author {n}"} for n in range(3)]


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=json.dumps)


def test_spider_of_the_tutorial_finds_all_items(styles: tuple[Path, dict[str, Any]]) -> None:
    quotes = [{"text": f"{page}-{n}"} for page in (1, 2, 3) for n in range(3)]
    assert _sorted(styles[1]["items"]["quotes"]) == _sorted(quotes + AUTHORS)


@pytest.mark.parametrize("name", ["rules", "listed"])
def test_crawl_spider_and_sitemap_spider_find_all_items(styles: tuple[Path, dict[str, Any]], name: str) -> None:
    assert _sorted(styles[1]["items"][name]) == AUTHORS


def test_forms_meta_headers_cookies_errbacks_and_redirects_work(styles: tuple[Path, dict[str, Any]]) -> None:
    assert _sorted(styles[1]["items"]["login"]) == _sorted(
        [
            {"entered": "ada t1", "step": [1, 2]},
            {"own": "yes", "cookie": "c=1", "left": 2},
            {"failed": 404},
            {"moved": "/author/1"},
        ]
    )


def test_folder_of_a_spider_is_a_crawl_that_knows_its_pages_and_links(
    styles: tuple[Path, dict[str, Any]], server: Site
) -> None:
    folder = styles[0] / "quotes"
    with closing(read_crawl(folder)) as reader:
        assert {row["url"] for row in reader.top(6)} == {
            f"{server.url}{path}"
            for path in ("/quotes/1", "/quotes/2", "/quotes/3", "/author/0", "/author/1", "/author/2")
        }
        assert reader.top(6)[-1]["url"] == f"{server.url}/quotes/1"  # no page links to it
    assert not check_crawl(folder).problems


@pytest.mark.long
def test_killed_spider_loses_nothing_and_repeats_only_what_was_under_way(tmp_path: Path) -> None:
    with site() as server:
        killed = subprocess.Popen(_command(tmp_path, server, "grid"), stdout=subprocess.DEVNULL)
        try:
            server.wait_for(GRID // 3)
        finally:
            killed.kill()
            killed.wait()
        before = Counter(server.hits)
        log = RequestLog(tmp_path / "grid" / SCRAPY)
        left = {request.url.removeprefix(server.url) for request, _ in log.waiting.values()}
        log.close()
        done = {path.split()[1] for path in before} - left
        assert done
        reactor = "twisted.internet.selectreactor.SelectReactor"
        found = _run(tmp_path, server, "grid", TWISTED_REACTOR=reactor)
        assert len(server.hits) == GRID
        after = {path.split()[1] for path in server.hits - before}
        assert left <= after
        assert not after & done
        assert max(server.hits[f"GET /grid/{number}"] for number in range(1, GRID)) <= 2
        stats = found["stats"]["grid"]
        assert stats["centime/resumed"] > 0
        assert stats["finish_reason"] == "finished"
        assert stats["centime/pages_known"] == GRID
        assert not check_crawl(tmp_path / "grid").problems
