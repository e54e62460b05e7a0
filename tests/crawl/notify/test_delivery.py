"""Deliveries: at least once and under one id, whichever process is killed; a subscriber that hangs delays nobody."""

import fcntl
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.notify import delivery as module
from centime.crawl.notify.delivering import append_line
from centime.crawl.notify.delivery import TROUBLES, Delivery, Trouble, read_troubles, write_troubles
from centime.fetch.settings import FetchSettings
from centime.model.ids import PageId
from centime.shard.people.notices import Batch, Change, Notice
from centime.shard.people.subscriptions import Subscription, Subscriptions

PATIENCE = 60.0


@pytest.fixture
def delivery() -> Iterator[Delivery]:
    made = Delivery(FetchSettings(), command_seconds=2.0)
    yield made
    made.close()


def batch(to: str, name: str = "s", number: int = 1) -> Batch:
    return Batch(name, to, (Notice(number, PageId(5), "http://a.example/ä", 10.0, 1.5, Change.CHANGED),))


def answers(delivery: Delivery, now: float, count: int = 1) -> list[tuple[str, int]]:
    """What arrives until `count` attempts have ended."""
    arrived: list[tuple[str, int]] = []
    until, left = time.monotonic() + PATIENCE, delivery.in_hand - count
    while delivery.in_hand > left and time.monotonic() < until:
        arrived += delivery.receive(now, timeout=1.0)
    return arrived


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def python(code: str) -> str:
    return "command:" + shlex.join([sys.executable, "-c", code])


def test_a_file_gets_a_line_of_json_for_each_batch(delivery: Delivery, tmp_path: Path) -> None:
    delivery.deliver([batch(f"file:{tmp_path}/a")], 1.0)
    assert answers(delivery, 1.0) == [("s", 1)]
    (line,) = lines(tmp_path / "a")
    assert line["id"] == "1-1@s"
    assert line["changes"] == [
        {
            "id": "1@s",
            "url": "http://a.example/ä",
            "change": "changed",
            "seen": 10.0,
            "first_seen": 10.0,
            "changes": 1,
            "status": None,
            "moved_to": None,
            "importance": 1.5,
            "old": None,
            "new": "",
        }
    ]


def test_a_batch_that_arrived_is_not_delivered_again_before_the_journal_has_it(
    delivery: Delivery, tmp_path: Path
) -> None:
    due = [batch(f"command:touch {tmp_path}/a")]
    delivery.deliver(due, 1.0)
    assert delivery.in_hand == 1
    delivery.deliver(due, 1.0)
    assert answers(delivery, 1.0) == [("s", 1)]
    delivery.deliver(due, 1.0)
    assert delivery.in_hand == 0
    delivery.deliver([batch(f"command:touch {tmp_path}/b", number=2)], 1.0)
    assert answers(delivery, 1.0) == [("s", 2)]


def test_a_command_gets_the_batch_on_its_standard_input(delivery: Delivery, tmp_path: Path) -> None:
    code = f"import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, open({str(tmp_path / 'a')!r}, 'wb'))"
    slow = Delivery(FetchSettings())
    slow.deliver([batch(python(code))], 1.0)
    assert answers(slow, 1.0) == [("s", 1)]
    slow.close()
    assert lines(tmp_path / "a")[0]["subscription"] == "s"
    assert (tmp_path / "a").read_bytes().endswith(b"}\n"), "so that a program can read it as a line"


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("command:false", "false ended with code 1"),
        (
            "command:cat >> x",
            "x: No such file or directory; it was started without a shell, so >> was an argument of it",
        ),
        ("command:/no/such/program", "cannot be run"),
        ("command:sleep 20", "sleep took longer than 2 s"),
        ("file:/no/such/folder/file", "No such file or directory"),
        ("file:/dev/null", "is not a file"),
        ("http://127.0.0.1:9/", "127.0.0.1 is not a public address"),
        ("http://[::1]:9/", "::1 is not a public address"),
        ("http://localhost:9/", "is not a public address"),
        ("http://:x/", ""),
    ],
)
def test_a_batch_that_cannot_be_delivered_is_retried_after_growing_pauses(
    delivery: Delivery, to: str, reason: str
) -> None:
    due, now = [batch(to)], 1000.0
    delivery.deliver(due, now)
    assert answers(delivery, now) == []
    trouble = delivery.troubles["s"]
    assert reason in trouble.reason
    assert (trouble.failures, trouble.next_time) == (1, now + 60.0)
    delivery.deliver(due, now + 59.0)
    assert delivery.in_hand == 0
    delivery.deliver(due, now + 60.0)
    assert delivery.in_hand == 1
    answers(delivery, now + 60.0)
    assert delivery.troubles["s"].next_time == now + 180.0


def test_the_pause_never_exceeds_an_hour_and_ends_with_success(delivery: Delivery, tmp_path: Path) -> None:
    now = 0.0
    for _ in range(9):
        delivery.deliver([batch(f"file:{tmp_path}/folder/a")], now)
        answers(delivery, now)
        now = delivery.troubles["s"].next_time
    assert delivery.troubles["s"].failures == 9
    delivery.deliver([batch(f"file:{tmp_path}/folder/a")], now)
    answers(delivery, now)
    assert delivery.troubles["s"].next_time == now + 3600.0
    (tmp_path / "folder").mkdir()
    delivery.deliver([batch(f"file:{tmp_path}/folder/a")], now + 3600.0)
    assert answers(delivery, now + 3600.0) == [("s", 1)]
    assert delivery.troubles == {}


def test_a_subscriber_that_hangs_does_not_delay_the_others(tmp_path: Path) -> None:
    delivery = Delivery(FetchSettings(), command_seconds=600.0)
    due = [batch("command:sleep 30", f"hang{number}") for number in range(module.MOST_IN_HAND - 1)]
    delivery.deliver([*due, batch(f"file:{tmp_path}/a", "quick")], 1.0)
    assert answers(delivery, 1.0) == [("quick", 1)]
    assert delivery.in_hand == module.MOST_IN_HAND - 1
    delivery.close()


def test_the_batches_in_hand_are_bounded_and_the_others_follow(delivery: Delivery, tmp_path: Path) -> None:
    due = [batch(f"file:{tmp_path}/a", f"s{number}") for number in range(module.MOST_IN_HAND + 8)]
    arrived: set[str] = set()
    while len(arrived) < len(due):
        delivery.deliver([one for one in due if one.name not in arrived], 1.0)
        assert delivery.in_hand <= module.MOST_IN_HAND
        names = {name for name, _ in answers(delivery, 1.0)}
        assert names
        arrived |= names
    assert sorted(str(line["subscription"]) for line in lines(tmp_path / "a")) == sorted(arrived)


def test_the_batches_of_a_killed_process_are_delivered_by_another(delivery: Delivery, tmp_path: Path) -> None:
    due = [batch("command:sleep 30", "slow"), batch(f"file:{tmp_path}/a", "quick")]
    delivery.deliver(due, 1.0)
    answers(delivery, 1.0)
    os.kill(delivery.process_id, signal.SIGKILL)
    answers(delivery, 1.0)
    assert (delivery.restarts, delivery.in_hand, delivery.process_id) == (1, 0, 0)
    delivery.deliver([batch(f"file:{tmp_path}/b", "slow")], 1.5)
    assert delivery.in_hand == 0, "it is not started again at once"
    delivery.deliver([batch(f"file:{tmp_path}/b", "slow")], 2.0)
    assert answers(delivery, 2.0) == [("slow", 1)]


def test_a_process_that_is_silent_for_too_long_is_replaced(tmp_path: Path) -> None:
    delivery = Delivery(FetchSettings(), command_seconds=1e6)
    delivery.deliver([batch("command:sleep 30")], 0.0)
    delivery.receive(module.SILENCE_SECONDS)
    assert delivery.restarts == 0
    delivery.receive(module.SILENCE_SECONDS + 1.0)
    assert delivery.restarts == 1
    delivery.close()


def test_every_change_reaches_a_file_once_though_the_process_and_the_crawl_are_killed_often(
    tmp_path: Path,
) -> None:
    known = Subscriptions()
    known.add(Subscription("s", "", 1.0, f"file:{tmp_path}/a"))
    delivery, now = Delivery(FetchSettings()), 10.0
    for page in range(30):
        known.noticed(PageId(page), f"http://a.example/{page}", now, 1.0, Change.NEW)
        delivery.deliver(known.due(now), now)
        if page % 3 == 0 and delivery.process_id:
            os.kill(delivery.process_id, signal.SIGKILL)
        elif page % 5 == 0:  # the crawl is killed: its journal does not have what arrived
            delivery.receive(now, timeout=0.05)
            delivery.close()
            known, delivery = Subscriptions.from_state(known.state()), Delivery(FetchSettings())
        for name, up_to in delivery.receive(now, timeout=0.3):
            known.delivered(name, up_to, now)
        now += 2.0
    while known.waiting:
        delivery.deliver(known.due(now), now)
        for name, up_to in delivery.receive(now, timeout=1.0):
            known.delivered(name, up_to, now)
        now += 2.0
    delivery.close()
    delivered = lines(tmp_path / "a")
    assert len({line["id"] for line in delivered}) == len(delivered)
    seen = [change["url"] for line in delivered for change in line["changes"]]
    assert sorted(set(seen)) == sorted(f"http://a.example/{page}" for page in range(30))
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b'{"id":"2-3@s","n":1}\n'),
        (b'{"id":"1-1@s"}\n', b'{"id":"1-1@s"}\n{"id":"2-3@s","n":1}\n'),
        (b'{"id":"2-3@s","n":1}\n{"id":"9-9@t"}\n', b'{"id":"2-3@s","n":1}\n{"id":"9-9@t"}\n'),
        (b'{"id":"1-1@s"}\n{"id":"2-3@s","n', b'{"id":"1-1@s"}\n{"id":"2-3@s","n":1}\n'),
        (b'{"id":"1-1@s"}\n{"i', b'{"id":"1-1@s"}\n{"id":"2-3@s","n":1}\n'),
        (b"my own words", b'my own words\n{"id":"2-3@s","n":1}\n'),
    ],
    ids=["empty", "another", "there already", "cut", "cut early", "somebody's"],
)
def test_a_line_is_appended_once_and_a_truncated_line_of_ours_is_removed(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    path = tmp_path / "a"
    path.write_bytes(before)
    assert append_line(str(path), b'{"id":"2-3@s","n":1}', "2-3@s") == ""
    assert path.read_bytes() == after


def test_nothing_is_written_into_the_folder_of_the_crawl_wherever_links_lead(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (tmp_path / "link").symlink_to(crawl)
    (tmp_path / "dangling").symlink_to(crawl / "news")
    delivery = Delivery(FetchSettings(), crawl=tmp_path / "link")
    for number, place in enumerate(
        (crawl / "news", tmp_path / "link" / "news", tmp_path / "dangling", crawl / ".." / "crawl" / "news")
    ):
        delivery.deliver([batch(f"file:{place}")], 1e6 * number)
        assert answers(delivery, 1e6 * number) == []
        assert "is inside the crawl's own folder" in delivery.troubles["s"].reason
    assert list(crawl.iterdir()) == []
    delivery.deliver([batch(f"file:{tmp_path}/crawl.jsonl")], 1e8)
    assert answers(delivery, 1e8) == [("s", 1)]
    delivery.close()


def test_troubles_are_written_into_the_folder_only_when_they_change(tmp_path: Path) -> None:
    troubles = {"s": Trouble(2, 180.0, "false ended with code 1"), "t": Trouble(1, 60.5, "ä")}
    assert not write_troubles(tmp_path, {})
    assert list(tmp_path.iterdir()) == []
    assert write_troubles(tmp_path, troubles)
    assert read_troubles(tmp_path) == troubles
    assert not write_troubles(tmp_path, dict(reversed(troubles.items())))
    assert write_troubles(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("octets", [b"", b"{", b"\xff", b'{"s": 1}', b"[]"])
def test_a_file_of_troubles_that_cannot_be_read_counts_as_none(tmp_path: Path, octets: bytes) -> None:
    (tmp_path / TROUBLES).write_bytes(octets)
    assert read_troubles(tmp_path) == {}


def test_a_file_that_another_partition_writes_to_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notices.jsonl"
    with path.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        threading.Timer(0.05, fcntl.flock, (other, fcntl.LOCK_UN)).start()
        assert append_line(str(path), b'{"id":"1-1@s"}', "1-1@s") == ""
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr("centime.crawl.notify.delivering.LOCKED_SECONDS", 0.0)
        assert "locked by another program" in append_line(str(path), b'{"id":"2-2@s"}', "2-2@s")
    assert path.read_bytes() == b'{"id":"1-1@s"}\n'
