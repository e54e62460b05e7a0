"""A continuous crawl that is killed again and again: change rates, notices for subscribers and commands survive."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic, sleep, time

import pytest

from bench.faults.crawler import start
from bench.faults.proof import changes
from centime.crawl.check.check import check_crawl
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.lab.webbox import WebBox, serve_in_process
from centime.shard.people.command import SetCommand, SubscribeCommand, new_id
from centime.shard.people.subscriptions import Subscription
from tests.crawl.world import World, advance, crawl

BOX = WebBox(hosts=5, pages=100, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.01, speed=86_400.0)
PATIENCE = 300.0  # a busy machine takes long to start a process


def has_made(visits: int, opened: CrawlReader) -> bool:
    return sum(opened.shard.outcomes.values()) > visits


def wait_until(folder: Path, holds: Callable[[CrawlReader], bool]) -> None:
    until = monotonic() + PATIENCE
    with closing(read_crawl(folder)) as reader:
        while not holds(reader):
            assert monotonic() < until, "the crawl did not come so far"
            sleep(0.02)
            reader.follow()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_change_is_delivered_however_often_the_crawl_is_killed(tmp_path: Path) -> None:
    folder, delivered = tmp_path / "c", tmp_path / "delivered.jsonl"
    with crawl(tmp_path / "warm") as opened:
        advance(opened, World(), 5)  # kernels are compiled before any process is forked
    with serve_in_process(BOX) as served:
        options = ["--allow-network", "127.0.0.0/8", "--scope", "any", "--delay", "0", "--workers", "1"]
        assert start(folder, [served.seed_url, *options, "--pages", "20"]).wait() == (0, "")
        began = time()
        subscription = Subscription("all", ".", 1.0, f"file:{delivered}")
        CommandInbox(folder).put(SubscribeCommand(id=new_id(), time=began, subscription=subscription))
        forever = [*options, "--continuous", "--rate", "100/s", "--least-interval", "0.2s"]
        for number in range(1, 4):
            crawler = start(folder, forever)
            wait_until(folder, partial(has_made, 20 + 150 * number))
            crawler.kill_shard()
        crawler = start(folder, forever)
        CommandInbox(folder).put(SetCommand(id=new_id(), time=time(), values={"rate": "7/s"}))
        wait_until(folder, lambda opened: opened.shard.settings.rate == 7.0)
        os.kill(crawler.process, signal.SIGINT)
        assert crawler.wait()[0] == 0
    assert check_crawl(folder).problems == []
    with closing(read_crawl(folder)) as reader:
        assert reader.settings.rate == 7.0
        assert reader.shard.refreshing.book.statistics()["observations"] > 400
    seen, told = changes(folder, "all", began, delivered.read_text().splitlines())
    assert sum(seen.values()) > 150
    assert told == seen
