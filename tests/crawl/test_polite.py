"""Politeness as the hosts see it, from the log of the server."""

import math
import os
import re
import signal
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest

from bench.faults.crawler import Crawler, start
from centime.crawl.engine.reader import read_crawl
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.announcement import of_path
from centime.lab.webbox.log import Seen
from centime.lab.webbox.process import Served
from centime.shard.message import Returned
from tests.crawl.world import World, advance, crawl

STALLED = 0.5  # seconds for which a busy machine may not run the server
CLOCKS_APART = 0.002  # seconds: the log has the time of day, the fetcher uses a monotonic clock


def rules_of(box: WebBox, site: int) -> tuple[RobotFileParser, float]:
    """The robots.txt of a site, read by another parser than ours, and its Crawl-delay."""
    robots = of_path(box, site, b"/robots.txt", box.start)
    assert robots is not None
    text = robots.body.decode()
    rules = RobotFileParser()
    rules.parse(text.splitlines())
    return rules, float("".join(re.findall("^Crawl-delay: (.*)$", text, re.MULTILINE)) or 0)


def site_of(host: str) -> int:
    return int(host.removeprefix("site").partition(".")[0])


def impolite(box: WebBox, requests: Iterable[Seen], delay: float) -> list[str]:
    """Every request that came too soon or is disallowed."""
    by_host: dict[str, list[Seen]] = {}
    for seen in requests:
        by_host.setdefault(seen.host, []).append(seen)
    wrong = []
    for host, received in by_host.items():
        rules, crawl_delay = rules_of(box, site_of(host))
        least = max(delay, crawl_delay)
        received.sort()
        for before, after in pairwise(received):
            if after.time - before.time < least - CLOCKS_APART:
                wrong.append(
                    f"{host}{after.path} {after.time - before.time:.3f} s after {before.path}, should be {least} s"
                )
        wrong += [
            f"{host}{seen.path} is disallowed"
            for seen in received
            if not rules.can_fetch("centime", f"http://{host}{seen.path}")
        ]
    return wrong


def arguments(seed_url: str, delay: float) -> list[str]:
    return [seed_url, "--allow-network", "127.0.0.0/8", "--scope", "any", "--delay", str(delay), "--workers", "2"]


def ends_well(crawler: Crawler) -> None:
    code, errors = crawler.wait()
    assert (code, errors) == (0, "")


def test_no_host_sees_two_requests_closer_than_its_delay_nor_a_disallowed_one(tmp_path: Path) -> None:
    box = WebBox(hosts=10, pages=300, crawl_delay_seconds=0.08, delay_seconds=0.02, traps=False, seed=2)
    with serve_in_process(box) as served:
        ends_well(start(tmp_path / "c", arguments(served.seed_url, 0.05)))
        requests = served.requests()
        assert impolite(served.webbox, requests, 0.05) == []
    assert len(requests) > 300
    assert len({seen.host for seen in requests}) == 10
    assert any(rules_of(box, site)[1] for site in range(10))
    crawled = read_crawl(tmp_path / "c")
    assert crawled.statistics(0.0)["outcomes"].get("disallowed", 0) > 0  # some pages were disallowed
    crawled.close()


def latest_stall(times: list[float], pause: float) -> float:
    """How late the server must have noticed a request at least, if they were sent `pause` apart. A request does not
    wait for the response to the one before, so a server that stands still notices both at once.
    """
    sent, stall = math.inf, 0.0
    for noticed in reversed(times):
        sent = min(noticed, sent - pause)
        stall = max(stall, noticed - sent)
    return stall


def test_a_stall_is_told_from_requests_that_are_too_close() -> None:
    assert latest_stall([0.0, 0.1, 0.4, 0.4, 0.4, 0.5], 0.1) == pytest.approx(0.2)
    assert latest_stall([0.05 * number for number in range(16)], 0.1) == pytest.approx(0.75)


def test_requests_to_hosts_of_one_address_keep_its_delay(tmp_path: Path) -> None:
    pause = 0.1
    box = WebBox(hosts=4, pages=12, crawl_delay_seconds=0.0, traps=False, feeds=False, seed=3)
    with serve_in_process(box) as served:
        given = [served.seed_url, "--allow-network", "127.0.0.0/8", "--scope", "any", "--delay", "0", "--workers", "1"]
        ends_well(start(tmp_path / "c", [*given, "--address-delay", str(pause)]))
        requests = sorted(served.requests())
    assert len({seen.host for seen in requests}) == 4
    assert len(requests) >= 16
    assert latest_stall([seen.time for seen in requests], pause) <= STALLED


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_crawl_that_is_killed_and_resumed_at_once_keeps_the_delays(tmp_path: Path) -> None:
    """The process that died is back long before the last host is ready again, and that host is fetched from again."""
    box = WebBox(hosts=2, pages=40, crawl_delay_seconds=0.0, traps=False, feeds=False, seed=5)
    kills: list[tuple[Seen, float]] = []  # the request before, and when there were fetchers again
    with crawl(tmp_path / "warm") as opened:
        advance(opened, World(), 5)  # kernels are compiled before any process is forked
    with serve_in_process(box) as served:
        delay = max(1.5, 3 * seconds_to_first_request(served, tmp_path / "timed"))
        given = arguments(served.seed_url, delay)
        once = len(served.requests())
        crawler = start(tmp_path / "c", given)
        try:
            crawler.wait_for("visits", seconds=120)
            for hurt in (Crawler.kill_shard, kill_fetchers, Crawler.kill_all):
                request, before = next_request(served), crawler.fetchers()
                hurt(crawler)  # before the visit is recorded
                if hurt is not kill_fetchers:
                    crawler = start(tmp_path / "c", given)
                until_fetching(crawler, before)
                kills.append((request, time.time()))
            while next_request(served).host != kills[-1][0].host:
                pass
        finally:
            crawler.kill_all()
        requests = served.requests()[once:]
    assert all(any(seen.host == last.host and seen.time > back for seen in requests) for last, back in kills)
    assert any(back - last.time < delay / 2 for last, back in kills)  # a request could have come too soon
    assert impolite(served.webbox, requests, delay) == []


def seconds_to_first_request(served: Served, folder: Path) -> float:
    """The time from the start of a crawl to its first request, on this machine as busy as it is."""
    started = time.time()
    ends_well(start(folder, [*arguments(served.seed_url, 0.0), "--pages", "1"]))
    return served.requests()[0].time - started


def next_request(served: Served) -> Seen:
    """Waits for the next request that the server sees."""
    before, until = len(served.requests()), time.monotonic() + 120
    while len(requests := served.requests()) == before:
        assert time.monotonic() < until
        time.sleep(0.001)
    return requests[-1]


def kill_fetchers(crawler: Crawler) -> None:
    for fetcher in crawler.fetchers():
        os.kill(fetcher, signal.SIGKILL)


def until_fetching(crawler: Crawler, before: list[int]) -> None:
    """Waits until the crawl has new fetchers."""
    until = time.monotonic() + 30
    while len(set(crawler.fetchers()) - set(before)) < 2:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_hosts_of_lost_leases_are_delayed(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", delay=5.0) as opened:
        shard = opened.shard
        now = time.time()
        [lease] = shard.lease(now, 1)
        shard.returned(Returned(now + 100, [], all=True))
        assert shard.lease(now + 105.9, 1) == []
        assert shard.lease(now + 106.1, 1) == [lease]
