"""The window over a crawl in partitions shows what that over the same crawl in one folder does, and its partitions."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from centime.cluster.folder import read_about
from centime.cluster.opening import owner_of
from centime.cluster.report.checking import check_any
from centime.cluster.report.parts import parts_of
from centime.cluster.status import ClusterStatus, PartitionStatus, write_status
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.loop import FINAL_ERROR
from centime.crawl.engine.opening import open_writer
from centime.serve import served_crawl
from centime.serve.events import KINDS
from centime.serve.reports import RESOURCES
from centime.store.lock import lock_file, unlock_file
from tests.cluster.crawled import Crawled
from tests.crawl.report.made import NOW
from tests.serve.asking import Asker

NEEDS = {"page": "url", "diff": "url", "host": "host", "search": "words"}


@pytest.fixture(scope="module")
def both(crawled: Crawled) -> Iterator[Asker]:
    asker = Asker({"plain": crawled.plain, "cluster": crawled.cluster})
    yield asker
    asker.close()


def rows(asker: Asker, crawl: str, resource: str, **query: Any) -> list[dict[str, Any]]:
    """All rows of a list, by its cursor."""
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        words = "&".join(f"{name}={value}" for name, value in {**query, "cursor": cursor}.items() if value)
        part = asker.get(f"/api/v1/crawls/{crawl}/{resource}?{words}").json
        found += part["rows"]
        cursor = part["next"]
    return found


@pytest.mark.parametrize("name", [name for name in RESOURCES if name not in NEEDS])
def test_every_page_is_shown(both: Asker, name: str) -> None:
    answered = both.get(f"/c/cluster/{name}")
    assert answered.status == 200, answered.text[:500]
    assert f'href="/c/cluster/cluster"{" aria-current" if name == "cluster" else ""}' in answered.text
    if RESOURCES[name].columns:
        assert both.get(f"/c/cluster/{name}.csv").status == 200


@pytest.mark.parametrize("by", ["importance", "change", "errors", "recent"])
def test_lists_of_pages_go_on_by_their_cursor_through_all_partitions(both: Asker, by: str) -> None:
    expected, found = (rows(both, crawl, "pages", by=by, most=7) for crawl in ("plain", "cluster"))
    assert len(found) == len(expected)
    assert len({row["url"] for row in found}) == len(found)
    assert {row["url"] for row in found} == {row["url"] for row in expected}
    if by == "importance":
        assert [row["importance"] for row in found] == sorted((row["importance"] for row in found), reverse=True)
        assert [row["importance"] for row in found] == pytest.approx([row["importance"] for row in expected], abs=2e-4)


def test_hosts_are_listed_and_filter_pages_wherever_they_are(both: Asker) -> None:
    expected, found = (rows(both, crawl, "hosts", most=2) for crawl in ("plain", "cluster"))
    assert {(row["host"], row["known"]) for row in found} == {(row["host"], row["known"]) for row in expected}
    for row in found:
        assert len(rows(both, "cluster", "pages", host=row["host"])) == row["known"]
        one = both.get(f"/api/v1/crawls/cluster/host?host={quote(row['host'], safe='')}").json
        assert one["known"] == row["known"]
    assert both.get("/api/v1/crawls/cluster/pages?host=http://nobody.example").status == 400


def test_a_page_and_its_copy_come_from_its_owner(both: Asker, crawled: Crawled) -> None:
    for row in rows(both, "cluster", "pages", most=50)[:12]:
        url = quote(row["url"], safe="")
        one = both.get(f"/api/v1/crawls/cluster/page?url={url}").json
        assert one["importance"] == pytest.approx(row["importance"])
        plain = both.get(f"/api/v1/crawls/plain/page?url={url}").json
        assert (one["links_in"], one["links_out"]) == (plain["links_in"], plain["links_out"])
        copies = [both.get(f"/c/{crawl}/copy?url={url}") for crawl in ("plain", "cluster")]
        assert copies[0].status == copies[1].status
        if row["kind"] == "html":
            assert copies[0].body == copies[1].body
    why = both.get(f"/api/v1/crawls/cluster/next?url={quote(crawled.seed, safe='')}").json["why_not"]
    assert why["known"]


def test_changes_go_on_by_their_cursor_and_are_a_feed(both: Asker) -> None:
    for order in ("time", "importance"):
        expected, found = (rows(both, crawl, "changes", order=order, most=9) for crawl in ("plain", "cluster"))
        assert len(found) == len(expected) > 60
        assert {row["url"] for row in found} == {row["url"] for row in expected}
    newest = rows(both, "cluster", "changes", most=9)
    assert [row["seen_seconds"] for row in newest] == sorted((row["seen_seconds"] for row in newest), reverse=True)
    assert both.get("/c/cluster/changes.atom").text.count("<entry>") > 60
    assert both.get("/api/v1/crawls/cluster/changes?cursor=kQE").status == 400


def test_figures_are_those_of_all_partitions(both: Asker) -> None:
    expected, found = (both.get(f"/api/v1/crawls/{crawl}/overview").json for crawl in ("plain", "cluster"))
    for name in ("known", "read", "visits", "hosts", "links", "outcomes"):
        assert found[name] == expected[name], name
    assert found["certified_error"] <= 1.1e-6
    assert found["fresh_share"] == pytest.approx(expected["fresh_share"], abs=0.02)
    assert [row["importance"] for row in found["top"]] == pytest.approx(
        [row["importance"] for row in expected["top"]], abs=2e-4
    )
    curve = both.get("/api/v1/crawls/cluster/figures?over=years").json["rows"]
    assert curve[-1]["visits"] == expected["visits"]
    sites = [both.get(f"/api/v1/crawls/{crawl}/communities").json["rows"] for crawl in ("plain", "cluster")]
    assert {row["host"]: row["pages"] for row in sites[0]} == {row["host"]: row["pages"] for row in sites[1]}
    energies = [sorted(row["energy"] for row in some) for some in sites]
    assert energies[0] == pytest.approx(energies[1], abs=0.02)


def test_the_cluster_page_shows_partitions_and_what_they_certify(both: Asker, crawled: Crawled) -> None:
    found = both.get("/api/v1/crawls/cluster/cluster").json
    assert [row["partition"] for row in found["rows"]] == [0, 1, 2]
    assert {row["state"] for row in found["rows"]} == {"stopped"}
    assert sum(row["known"] for row in found["rows"]) == both.get("/api/v1/crawls/plain/overview").json["known"]
    assert found["certified_error"] <= 1.1e-6
    assert (found["running"], found["partitions"], len(found["nodes"])) == (False, 3, 2)
    text = both.get("/c/cluster/cluster").text
    assert "3 partitions on 2 nodes" in text
    plain = both.get("/c/plain/cluster").text
    assert "This crawl is one folder" in plain
    assert "/c/plain/cluster" not in re.sub(r"<footer>.*", "", plain, flags=re.DOTALL), "not in its navigation"


def test_the_cluster_page_shows_how_processes_are_while_a_crawl_runs(both: Asker, crawled: Crawled) -> None:
    states = ("running", "frozen", "lost")
    made = [
        PartitionStatus(
            partition=number,
            node=str(number % 2),
            state=state,
            process=23_628,
            incarnation=2,
            taken_over=number,
            replica="1" if number else "",
            lacks_bodies=number == 1,
            taken_over_at=NOW + 20_000.0 - 130.0 * number,
            why="its process died" if number else "",
        )
        for number, state in enumerate(states)
    ]
    write_status(crawled.cluster, ClusterStatus(time=1.0, partitions=made, between_nodes={"batches": 2000}))
    handle = lock_file(crawled.cluster)
    try:
        found = both.get("/api/v1/crawls/cluster/cluster").json
        assert found["running"]
        assert [row["replica"] for row in found["rows"]] == [None, "lacks bodies", "whole"]
        assert [(row["state"], row["taken_over"]) for row in found["rows"]] == list(zip(states, range(3), strict=True))
        wrong = both.get("/api/v1/crawls/cluster/overview", over="years").json["wrong"]  # not remembered yet
        assert "Partition 1 was taken over 2 minutes ago: its process died." in wrong
        assert not any("Partition 0" in one for one in wrong)
        page = both.get("/c/cluster/cluster").text
        assert "batches 2 kB" in page
        assert ">23628<" in page, "the number of a process is a name"
    finally:
        unlock_file(handle)


def test_metrics_have_figures_of_each_partition(both: Asker) -> None:
    metrics = both.get("/metrics").text
    known = re.findall(r'centime_partition_known_pages\{crawl="cluster",partition="\d"\} (\S+)', metrics)
    assert sum(map(float, known)) == both.get("/api/v1/crawls/plain/overview").json["known"]
    assert 'centime_partition_running{crawl="cluster",partition="0"} 0.0' in metrics
    assert 'crawl="plain",partition' not in metrics


def test_orders_of_the_window_go_to_the_inbox_of_the_whole_crawl(both: Asker, crawled: Crawled) -> None:
    inbox = CommandInbox(crawled.cluster)
    try:
        body = msgspec.json.encode({"order": "set", "values": "rate=5/s"})
        kind = {"content-type": "application/json"}
        assert both.ask("POST", "/api/v1/crawls/cluster/orders", headers=kind, body=body).status == 202
        assert len(inbox.waiting()) == 1
        assert both.get("/api/v1/crawls/cluster/orders").json["rows"][0]["detail"] == "rate=5/s"
    finally:
        inbox.done(inbox.waiting())


def test_what_a_partition_does_is_followed_and_told_as_events(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_crawl, "FOLLOW_SECONDS", 0.0)
    monkeypatch.setattr(served_crawl, "LEISURE", 0.0)
    shutil.copytree(crawled.cluster, tmp_path / "c")
    asker = Asker({"c": tmp_path / "c"})
    try:
        before = asker.get("/api/v1/crawls/c/overview").json["known"]
        place = re.search(rb"id: (\S+)", asker.run(_first_events(asker)))
        assert place is not None
        assert place[1].count(b"-") == read_about(tmp_path / "c").partitions - 1
        url = f"{crawled.seed}more"
        with open_writer(owner_of(tmp_path / "c", url), [url], {}) as opened:
            opened.shard.journal.sync()
        assert asker.get("/api/v1/crawls/c/overview").json["known"] == before + 1
        assert asker.get("/api/v1/crawls/c/events", headers={"last-event-id": "1-x"}).status == 400
        shutil.rmtree(owner_of(tmp_path / "c", url))
        assert asker.get("/api/v1/crawls/c/cluster").json["certified_error"] is None, "a partition is missing"
    finally:
        asker.close()


async def _first_events(asker: Asker) -> bytes:
    return await anext(asker.window.feeds["c"].listen("", frozenset(KINDS)))


def test_a_partition_that_is_away_is_named_wherever_figures_are_shown(
    crawled: Crawled, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_crawl, "FOLLOW_SECONDS", 0.0)
    monkeypatch.setattr(served_crawl, "LEISURE", 0.0)
    folder = Path(shutil.copytree(crawled.cluster, tmp_path / "web"))
    away = folder / "partitions/01"
    asker = Asker({"web": folder})
    try:
        whole = asker.get("/api/v1/crawls/web/overview").json
        assert not any("missing" in sentence for sentence in whole["wrong"])
        away.rename(tmp_path / "away")
        seen = asker.get("/api/v1/crawls/web/overview").json
        assert seen["certified_error"] is None
        assert [sentence for sentence in seen["wrong"] if sentence.startswith(f"Partition 1 is missing ({away})")]
        states = [row["state"] for row in asker.get("/api/v1/crawls/web/cluster").json["rows"]]
        assert states == ["stopped", "missing", "stopped"]
        assert [one for one in caplog.messages if "partition 1 is missing" in one]
        problems = check_any(folder).problems
        assert [(one.part, one.file) for one in problems if "missing" in one.what] == [("partitions", str(away))]
        (folder / "cluster.json").rename(tmp_path / "cluster.json")
        gone = asker.get("/api/v1/crawls/web/overview")
        assert (gone.status, "cluster.json is missing" in gone.json["error"]) == (503, True)
        (tmp_path / "cluster.json").rename(folder / "cluster.json")
        (tmp_path / "away").rename(away)
        back = asker.get("/api/v1/crawls/web/overview").json
        assert (back["known"], back["wrong"]) == (whole["known"], whole["wrong"])
    finally:
        asker.close()


def test_shares_and_errors_agree_in_window_statistics_and_curves(both: Asker, crawled: Crawled) -> None:
    shown = both.get("/api/v1/crawls/cluster/overview").json
    with closing(parts_of(crawled.cluster)) as parts:
        told = parts.statistics(NOW + 20_000.0)
    assert 100 * shown["fresh_share"] == pytest.approx(told["fresh_percent_of_importance"])
    last = shown["curves"][-1]
    assert 0.999 * shown["certified_error"] <= last["certified_error"] <= 2 * FINAL_ERROR
