"""What people order of a crawl in partitions reaches the partitions that it concerns, exactly once, and budgets are
those of all partitions together.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from centime.cli.main import app
from centime.cluster.beginning import cluster_run
from centime.cluster.budgets import BUDGETS, Budgets
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import About, ClusterFolder
from centime.cluster.opening import folders_of, settings_of
from centime.cluster.order import Standing
from centime.cluster.post import CommandPost, parts_of_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.commands.order_log import read_orders
from centime.crawl.commands.ordering import hand_over
from centime.crawl.engine.loop import Limits
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.subscribers import subscription_table
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.address import fingerprint, host_of, partition_of
from centime.settings.crawl import CrawlSettings
from centime.settings.live import read_values
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    column_of,
    new_id,
    publications,
)
from centime.shard.people.subscriptions import Subscription

PARTITIONS = 4
RATE, MORE = 10.0, 30.0
BOX = WebBox(
    hosts=16, pages=400, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {
    "allow-network": ["127.0.0.0/8"],
    "scope": "any",
    "delay": 0.0,
    "workers": 4,
    "rate": RATE,
    "alpha": 0.75,
}
URLS = st.lists(
    st.builds("http://h{}.example/{}".format, st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=9
)


@dataclass
class Ordered:
    """A crawl in partitions that was ordered about before it ran and while it did, and what was seen of it."""

    path: Path
    banned: str
    published: list[str]
    given: list[Command] = field(default_factory=list)
    refused: str = ""
    shares: list[float] = field(default_factory=list)  # of the rate, those of all partitions together
    killed: int = 0  # the process of a partition, after it had carried out everything
    started: float = 0.0
    stopped: float = 0.0

    @property
    def notices(self) -> Path:
        """Where subscribers of it are notified."""
        return self.path.with_name("notices.jsonl")


def setting(*words: str) -> SetCommand:
    return SetCommand(id=new_id(), time=time.time(), values=read_values(words))


def orders_of(crawl: Ordered) -> list[Command]:
    subscription = Subscription("all", ".", 1.0, f"file:{crawl.notices}")
    return [
        SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription),
        *publications(crawl.published, time=time.time()),
        setting(f"rate={MORE:g}/s", "alpha=0.25", "most-pages=100000"),
    ]


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ordered]:
    room = tmp_path_factory.mktemp("orders")
    with serve_in_process(BOX) as served:
        host = f"site{{}}.localhost:{served.port}"
        crawl = Ordered(room / "c", host.format(3), [f"http://{host.format(n)}/new/{n}" for n in range(8)])

        def look(run: Coordinator, now: float) -> None:
            shares = [one.standing.budget["rate"] for one in run.members if one.standing is not None]
            if len(shares) == PARTITIONS:
                crawl.shares.append(sum(share or float("inf") for share in shares))
            if crawl.shares and crawl.shares[-1] > 0.98 * RATE and not crawl.given:
                crawl.given = orders_of(crawl)
                hand_over(crawl.path, crawl.given)
                bad = setting("delay=3")  # not while a crawl without delays runs
                hand_over(crawl.path, [bad])
                crawl.refused = bad.id
            heard = crawl.notices.exists() and not CommandInbox(crawl.path).waiting()
            if heard and not crawl.killed:
                crawl.killed = run.pids[0]
                os.kill(crawl.killed, signal.SIGKILL)
            again = bool(crawl.killed) and run.pids[0] != crawl.killed and run.members[0].standing is not None
            spends = bool(crawl.shares) and crawl.shares[-1] > 0.98 * MORE
            if run.run_facts.visits >= 50 and again and spends and not crawl.stopped:
                crawl.stopped = now
                run.stop()

        with cluster_run(crawl.path, [served.seed_url], GIVEN, Limits(), partitions=PARTITIONS) as run:
            hand_over(crawl.path, [setting(f"ban+={crawl.banned}")])
            crawl.started = run.now()
            run.run(look)
        yield crawl


@contextmanager
def readers(path: Path) -> Iterator[list[CrawlReader]]:
    opened = [read_crawl(folder) for folder in folders_of(path)]
    yield opened
    for one in opened:
        one.close()


def test_settings_reach_all_partitions_and_stay_and_what_is_divided_adds_up(ordered: Ordered) -> None:
    with readers(ordered.path) as parts:
        assert [part.shard.settings.alpha for part in parts] == [0.25] * PARTITIONS
        assert [part.shard.settings.most_pages for part in parts] == [100_000 // PARTITIONS] * PARTITIONS
        assert 0.0 < sum(part.shard.settings.rate or 0.0 for part in parts) <= 1.02 * MORE
    whole = settings_of(ordered.path)
    assert (whole.rate, whole.alpha, whole.most_pages) == (MORE, 0.25, 100_000)


def test_the_rate_is_that_of_all_partitions_together_also_after_a_change(ordered: Ordered) -> None:
    before = [share for share in ordered.shares if share <= 1.02 * RATE]
    assert max(before) == pytest.approx(RATE, rel=0.02)
    assert max(ordered.shares) == pytest.approx(MORE, rel=0.02), "less only while shares are moved"
    with readers(ordered.path) as parts:
        visits = sum(sum(part.shard.outcomes.values()) for part in parts)
    assert visits <= 1.02 * MORE * (ordered.stopped - ordered.started + 1) + PARTITIONS


def test_a_host_that_was_banned_before_the_run_is_never_asked(ordered: Ordered) -> None:
    with readers(ordered.path) as parts:
        for part in parts:
            visited = np.flatnonzero(part.shard.pages.records.visited(np.arange(part.shard.pages.count)))
            assert not [url for url in part.shard.pages.texts.get_many(visited) if ordered.banned in url]


def test_a_publication_goes_to_the_owners_of_its_pages_alone(ordered: Ordered) -> None:
    with readers(ordered.path) as parts:
        for number, part in enumerate(parts):
            known = {url for url in ordered.published if part.shard.pages.table.find_one(fingerprint(url)) is not None}
            assert known == {url for url in ordered.published if partition_of(url, PARTITIONS) == number}


def test_each_command_is_carried_out_once_and_logged_once(ordered: Ordered) -> None:
    assert not CommandInbox(ordered.path).waiting()
    log = {row["id"]: row for row in read_orders(ordered.path)}
    assert {row["id"] for row in log.values() if not row["detail"].startswith("ban")} == {
        ordered.refused,
        *(one.id for one in ordered.given),
    }
    with readers(ordered.path) as parts:
        for one in ordered.given:
            concerned = parts_of_command(one, PARTITIONS)
            for number, part in enumerate(parts):
                assert (one.id in part.shard.requests.recent) == (number in concerned)
        assert not any(ordered.refused in part.shard.requests.recent for part in parts)
    assert "stop the crawl" in log[ordered.refused]["trouble"]


def test_subscribers_are_notified_by_all_partitions_with_ids_of_their_own(ordered: Ordered) -> None:
    batches = [msgspec.json.decode(line) for line in ordered.notices.read_bytes().splitlines()]
    notices = [change for batch in batches for change in batch["changes"]]
    assert len({one["id"] for one in notices}) == len(notices) > 0
    for one in notices:
        assert int(one["id"].partition(".")[0]) == partition_of(one["url"], PARTITIONS)
    (row,) = subscription_table(ordered.path, folders_of(ordered.path))
    assert (row["name"], row["state"], row["trouble"]) == ("all", "active", None)


def test_commands_of_the_program_take_the_folder_of_the_whole_crawl(ordered: Ordered, tmp_path: Path) -> None:
    def said(*words: str) -> Any:
        result = CliRunner().invoke(app, [words[0], str(ordered.path), *words[1:], "--json"])
        assert result.exit_code == 0, result.output
        return msgspec.json.decode(result.output)

    try:
        assert said("set", "rate=12/s")["by"] == "the next run: no crawl is running here"
        assert said("publish", ordered.published[0])["pages"] == 1
        assert said("subscribe", "/news/", "--to", f"file:{tmp_path}/n.jsonl", "--name", "news")["name"] == "news"
        rows = said("subscribe", "--list")["subscriptions"]
        assert {row["name"]: row["state"] for row in rows} == {"all": "active", "news": "requested"}
        assert said("subscribe", "--remove", "all")["removed"] == "all"
        assert len(CommandInbox(ordered.path).waiting()) == 4
    finally:
        CommandInbox(ordered.path).done(CommandInbox(ordered.path).waiting())
    assert said("prune", "--dry-run")["would_remove"] == {"pages": 0, "versions": 0, "bytes": 0}
    assert said("upgrade")["steps"] == []
    repaired = said("repair")
    assert (repaired["damaged"], repaired["right"]) == (False, True)


def test_a_command_is_given_again_until_every_partition_has_carried_it_out(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, About(partitions=3, created=0.0, totals={"rate": 6.0}))
    command = setting("rate=12/s", "beta=2")
    hand_over(tmp_path, [command])
    posts = [CommandPost(folder, CrawlSettings(rate=6.0), Budgets({"rate": 6.0}, 3)) for _ in range(2)]
    assert [partition for partition, _ in posts[0].take(1.0)] == [0, 1, 2]
    assert posts[0].take(2.0) == []
    for partition in (0, 2, 2):
        posts[0].carried(partition, command.id, "", 3.0)
    assert [len(posts[0].waiting_for(partition)) for partition in range(3)] == [0, 1, 0]
    assert folder.about.totals == {"rate": 6.0}, "not before all have the rest"
    assert len(posts[1].take(4.0)) == 3, "of a coordinator that comes after one that died"
    for partition in range(3):
        posts[1].carried(partition, command.id, "", 5.0)
    assert folder.about.totals == {"rate": 12.0}
    assert not CommandInbox(tmp_path).waiting()
    assert [row["state"] for row in read_orders(tmp_path)] == ["applied"]


def test_a_command_that_one_partition_refuses_is_refused(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, About(partitions=2, created=0.0))
    command = setting("rate=12/s", "beta=2")
    hand_over(tmp_path, [command])
    post = CommandPost(folder, CrawlSettings(), Budgets({}, 2))
    post.take(1.0)
    post.carried(0, command.id, "", 2.0)
    post.carried(1, command.id, "not here", 2.0)
    assert folder.about.totals == {}
    (row,) = read_orders(tmp_path)
    assert (row["state"], row["trouble"]) == ("refused", "not here")


@given(URLS, st.integers(2, 20), st.data())
def test_every_url_of_a_publication_goes_to_one_partition_with_its_claims(
    urls: list[str], partitions: int, data: st.DataObject
) -> None:
    modified = data.draw(st.lists(st.floats(0, 1e9), min_size=len(urls), max_size=len(urls)))
    (command,) = publications(urls, time=1.0, modified=modified)
    found: list[tuple[str, float]] = []
    for partition, part in parts_of_command(command, partitions).items():
        assert isinstance(part, PublishCommand)
        assert (part.id, part.publisher) == (command.id, host_of(urls[0]))
        assert {partition_of(url, partitions) for url in part.lines()} == {partition}
        found += zip(part.lines(), column_of(part.modified, len(part.lines())).tolist(), strict=True)
    assert sorted(found) == sorted(zip(urls, modified, strict=True))


def standing(budget: dict[str, float | None], known: int, *, idle: bool, refreshes: bool) -> Standing:
    counts: dict[str, Any] = dict.fromkeys(
        ("number", "time", "visits", "under_way", "pages", "closed", "applied", "frame", "to_name", "proxies"), 0
    )
    nothing_left = "nothing" if idle else ""
    return Standing(
        **counts, budget=budget, nothing_left=nothing_left, settling=False, refreshes=refreshes, known=known
    )


STEPS = st.lists(
    st.tuples(
        st.none() | st.floats(0.5, 1e4),  # a new total
        st.lists(st.tuples(st.booleans(), st.integers(0, 10**6), st.booleans()), min_size=4, max_size=4),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(STEPS)
def test_shares_of_a_budget_add_up_whoever_is_idle_or_late(
    steps: list[tuple[float | None, list[tuple[bool, int, bool]], bool]],
) -> None:
    total = 100.0
    budgets = Budgets({"rate": total}, PARTITIONS)
    has: list[dict[str, float | None]] = [dict.fromkeys(BUDGETS) | budgets.shares(one) for one in range(PARTITIONS)]
    for now, (changed, states, refreshes) in enumerate(steps, 1):
        if changed is not None:
            budgets.change({"rate": changed})
        lowered = changed is not None and changed < total
        total = changed or total
        for _ in range(1 if not lowered else 3):
            for one, (late, _, _) in enumerate(states):
                if not late or lowered:
                    has[one] |= budgets.orders(one, has[one])
                budgets.confirm(one, has[one])
            standings = [
                standing(mine, known, idle=idle, refreshes=refreshes)
                for mine, (_, known, idle) in zip(has, states, strict=True)
            ]
            budgets.divide(standings, 10.0 * now)
        assert sum(one["rate"] or 0.0 for one in has) <= total * (1 + 1e-9)
    for _ in range(3):
        for one, mine in enumerate(has):
            mine |= budgets.orders(one, mine)
            budgets.confirm(one, mine)
        budgets.divide(standings, 1e6)
    assert sum(one["rate"] or 0.0 for one in has) == pytest.approx(total)


def test_a_limit_that_is_lifted_or_new_is_ordered_until_it_is_confirmed() -> None:
    budgets = Budgets({"rate": 8.0}, PARTITIONS)
    has: dict[str, float | None] = dict.fromkeys(BUDGETS) | {"rate": 2.0}
    assert budgets.orders(0, has) == {}
    budgets.change({"rate": None, "bandwidth": 400.0})
    assert budgets.orders(0, has) == {"rate": None, "bandwidth": 100.0}
    assert budgets.orders(0, None) == {"rate": None, "bandwidth": 100.0, "fill-rate": None}
