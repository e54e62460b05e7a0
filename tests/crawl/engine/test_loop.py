"""Whole crawls of the simulated web, over real HTTP: everything is found, importance is true, limits hold."""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest

from centime.cli import ending
from centime.cli.main import app
from centime.crawl.engine.fetchers import Fetchers
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.state import rows_of
from centime.crawl.engine.writer import CrawlWriter
from centime.lab.crawled import compare
from centime.lab.webbox import Served, WebBox, serve_in_process
from centime.ledger.exact import ExactLedger
from centime.model.graph import graph_from_links
from centime.model.ids import HostId
from centime.model.outcome import Outcome
from centime.rank.pagerank import pagerank
from tests.forked_program import forked

PAGES = 60
GIVEN: dict[str, Any] = {
    "scope": "any",
    "delay": 0.0,
    "workers": 1,
    "allow-network": ["127.0.0.0/8"],
    "sitemaps": False,
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_in_process(
        WebBox(hosts=8, pages=PAGES, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0)
    ) as box:
        yield box


def run(opened: CrawlWriter, **limits: Any) -> Engine:
    crawl = Engine(opened, Limits(**limits))
    crawl.run(lambda crawl, now: None)
    return crawl


@pytest.mark.usefixtures("children_are_programs")
def test_a_whole_crawl_finds_every_page_and_its_true_importance(tmp_path: Path, served: Served) -> None:
    with open_writer(tmp_path / "c", [served.seed_url], GIVEN | {"workers": 2}) as opened:
        crawl = run(opened)
        assert crawl.run_facts.ending.startswith("everything known was read")
        assert opened.shard.pages.count == PAGES
        compared = compare(opened, served.webbox, served.time())
        assert compared.certified_error is not None
        assert compared.error <= compared.certified_error
        opened.shard.ledger.check()
        opened.shard.placement.frontier.check()


@pytest.mark.parametrize("visits", [1, 12, 40])
def test_at_any_moment_the_true_error_is_below_the_certified_one(tmp_path: Path, served: Served, visits: int) -> None:
    """True: PageRank of the links that the crawl knows, by the off-line solver."""
    with open_writer(tmp_path / "c", [served.seed_url], GIVEN) as opened:
        assert run(opened, pages=visits).run_facts.visits == visits
    shard = read_crawl(tmp_path / "c").shard
    assert isinstance(shard.ledger, ExactLedger)
    rows = list(rows_of(shard))
    sources = np.concatenate([np.repeat(pages, lengths) for pages, lengths, _ in rows])
    graph = graph_from_links(shard.pages.count, sources, np.concatenate([targets for _, _, targets in rows]))
    true = pagerank(graph, error=1e-12).scores
    error = np.abs(shard.ledger.importance() - true / true.mean()).sum() / shard.pages.count
    assert error <= shard.ledger.error() < 1e-6


def test_the_same_command_resumes_the_crawl(tmp_path: Path, served: Served) -> None:
    for _ in range(2):
        with open_writer(tmp_path / "c", [] if (tmp_path / "c").exists() else [served.seed_url], GIVEN) as opened:
            run(opened, pages=22)
    with open_writer(tmp_path / "c", [], {}) as opened:
        run(opened)
        assert opened.shard.pages.count == PAGES
        outcomes = opened.shard.outcomes
        assert sum(outcomes.values()) == PAGES, "no page was fetched twice"


def test_ctrl_c_stops_cleanly_and_readers_see_the_crawl_while_it_runs(tmp_path: Path, served: Served) -> None:
    folder = tmp_path / "c"
    words = ["crawl", str(folder), served.seed_url, "--scope", "any", "--delay", "0", "--rate", "4/s", "--json"]
    words += ["--allow-network", "127.0.0.0/8", "--workers", "1"]

    def work(lines: TextIO) -> int:
        with redirect_stdout(lines):
            return ending.run(app, words)

    with forked(work) as child:
        until = time.monotonic() + 200
        visits = 0
        while visits < 6 and time.monotonic() < until:
            if (folder / "centime.json").exists() and list((folder / "journal").glob("0*.log")):
                reader = read_crawl(folder)
                reader.shard.ledger.check()
                visits = sum(reader.shard.outcomes.values())
                reader.close()
            time.sleep(0.05)
        os.kill(child.process, signal.SIGINT)
        said = json.loads(child.said.read())
    assert child.code == 0
    assert said["ended"] == "stopped"
    assert 6 <= said["visits"] < PAGES
    assert said["leased"] == 0
    again = read_crawl(folder)
    assert again.folded == 0
    assert sum(again.shard.outcomes.values()) == said["visits"]


def test_a_rate_is_kept(tmp_path: Path, served: Served) -> None:
    with open_writer(tmp_path / "c", [served.seed_url], GIVEN | {"rate": 15.0}) as opened:
        facts = run(opened, pages=50).run_facts
        assert time.time() - facts.started >= (facts.visits - 15 - 1) / 15  # without what the room of a second holds


def test_scope_depth_and_patterns_keep_pages_out(tmp_path: Path, served: Served) -> None:
    with open_writer(tmp_path / "host", [served.seed_url], GIVEN | {"scope": "host"}) as opened:
        run(opened)
        assert {url.split("/")[2] for url in opened.shard.pages.texts.every()} == {served.seed_url.split("/")[2]}
    with open_writer(
        tmp_path / "depth", [served.seed_url], GIVEN | {"max-depth": 1, "exclude": ["section-2"]}
    ) as opened:
        run(opened)
        urls = list(opened.shard.pages.texts.every())
        assert 1 < len(urls) < PAGES
        assert not [url for url in urls if "section-2" in url]
        assert opened.shard.pages.origins.every()["depth"].max() == 1


def test_bodies_are_kept_and_can_be_read_again(tmp_path: Path, served: Served) -> None:
    from warcio.archiveiterator import ArchiveIterator

    from centime.store.archives.captures import find_bodies, read_body

    with open_writer(tmp_path / "c", [served.seed_url], GIVEN | {"keep": "all"}) as opened:
        run(opened, pages=30)
        [capture] = find_bodies(opened.folder.bodies, served.seed_url)
        assert b"<title>" in read_body(opened.folder.bodies, capture)
        kinds = []
        for path in opened.folder.bodies.glob("*.warc.gz"):
            with path.open("rb") as file:
                kinds += [record.rec_type for record in ArchiveIterator(file)]
    assert kinds.count("response") == kinds.count("request") >= 20


def test_sitemaps_are_seeds_plain_compressed_and_in_parts(tmp_path: Path) -> None:
    with serve_in_process(WebBox(hosts=12, pages=240, delay_seconds=0.0, crawl_delay_seconds=0.0)) as box:
        seeds = [f"sitemap:{box.webbox.origin(site)}/sitemap.xml" for site in range(12)]
        with open_writer(tmp_path / "c", seeds, GIVEN | {"scope": "host", "max-depth": 0}) as opened:
            run(opened)
            urls = set(opened.shard.pages.texts.every())
            gone = opened.shard.outcomes[Outcome.GONE]
    assert any(url.endswith(".gz") for url in urls), "an index with packed parts was among them"
    assert gone < 12, "most sites have one"
    assert len(urls & set(box.webbox.urls())) > 120


def test_a_fetcher_that_dies_is_replaced_and_its_pages_are_read(tmp_path: Path, served: Served) -> None:
    killed: list[int] = []
    with open_writer(tmp_path / "c", [served.seed_url], GIVEN | {"rate": 100.0}) as opened:
        crawl = Engine(opened, Limits())
        crawl.start()
        fetchers = crawl.transport
        assert isinstance(fetchers, Fetchers)
        while crawl.step():
            [fetcher] = fetchers._all
            if (
                len(killed) < 2
                and fetcher.pid not in killed
                and fetcher.held
                and crawl.run_facts.visits >= 5 * (1 + len(killed))
            ):
                killed.append(fetcher.pid)
                os.kill(fetcher.pid, signal.SIGKILL)
        crawl.finish()
        assert fetchers.restarts == len(killed) == 2
        assert opened.shard.pages.count == PAGES
        assert len(opened.shard.placement.leases) == len(opened.shard.placement.frontier) == 0


def test_a_fetcher_without_open_files_blames_no_server_and_all_pages_are_read_in_the_end(
    tmp_path: Path, served: Served
) -> None:
    before: tuple[int, int] | None = None
    with open_writer(tmp_path / "c", [served.seed_url], GIVEN | {"rate": 20.0}) as opened:
        crawl = Engine(opened)
        crawl.start()
        assert isinstance(crawl.transport, Fetchers)
        fetcher = crawl.transport._all[0].pid
        while crawl.step():
            if before is None and crawl.run_facts.visits >= 3:
                before = resource.prlimit(fetcher, resource.RLIMIT_NOFILE)
                resource.prlimit(fetcher, resource.RLIMIT_NOFILE, (3, before[1]))
            elif before is not None and crawl.run_facts.lacked:
                resource.prlimit(fetcher, resource.RLIMIT_NOFILE, before)
        crawl.finish()
        shard = opened.shard
        assert shard.outcomes.pop(Outcome.LOST) > 0
        assert sum(shard.outcomes.values()) == PAGES, "no page was recorded twice"
        assert shard.outcomes[Outcome.NO_CONNECTION] == shard.outcomes[Outcome.NO_ROBOTS] == 0
        assert sum(shard.hosts[HostId(number)].failures for number in range(len(shard.hosts))) == 0
        assert len(crawl.run_facts.notes) == 1
        assert "Too many open files" in crawl.run_facts.notes[0]
