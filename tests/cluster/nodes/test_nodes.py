"""Nodes with a disk of their own each, as on several machines: a crawl moves between them and outlives their loss."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from bench.cluster.machines import TOKEN, Machine, machines, nodes_of, write_token
from bench.cluster.real_nodes import supervised
from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.nodes import line, remote
from centime.cluster.nodes.gathering import gather_all
from centime.cluster.nodes.line import ask_node
from centime.cluster.nodes.node import Node
from centime.cluster.nodes.recovering import recover
from centime.cluster.nodes.remote import RemoteNodes
from centime.cluster.nodes.said import CrawlCopy, Crawls, Drop, Follow, Known, Leave, List, Work
from centime.cluster.nodes.token import NotAdmitted, split_address
from centime.cluster.ranking.crewing import NodeCrew
from centime.cluster.ranking.divided import rank_divided
from centime.cluster.report.checking import check_any
from centime.cluster.report.parts import parts_of
from centime.crawl.engine.loop import Limits
from centime.lab.synthetic.weblike import weblike
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served
from centime.model.errors import BadInput, InUse
from centime.processes.clock import RunClock
from centime.rank.pagerank import pagerank
from centime.store.versions.stored import every_newest

BOX = WebBox(
    hosts=6, pages=150, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 1}
View = Callable[[Coordinator, float], None]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_in_process(BOX) as web:
        yield web


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    return write_token(tmp_path / "token")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIST_SECONDS", "PING_SECONDS"):
        monkeypatch.setattr(remote, name, 0.2)


def run(
    served: Served, folder: Path, head: Machine, view: View, rate: str = "60/s", keep: str = "none", **options: Any
) -> str:
    given = GIVEN | {"rate": rate, "keep": keep}
    token = folder.with_name("token")
    with cluster_run(
        folder, [served.seed_url], given, Limits(), cluster=head.address, token_file=token, **options
    ) as crawl:
        return crawl.run(view)


def must_be_whole(folder: Path) -> None:
    """Every page was read, and all laws hold, in what reports bring from the nodes."""
    assert check_any(folder).problems == []
    parts = parts_of(folder)
    assert parts.certificate is not None
    assert parts.certificate.shown < 1e-5
    assert sum(len(reader.shard.placement.frontier) for reader in parts.readers) == 0
    assert parts.known > 100
    parts.close()


def stored(folder: Path) -> int:
    """How many pages of a gathered crawl have a version."""
    return sum(len(list(every_newest(part / "versions"))) for part in (folder / "partitions").iterdir())


@pytest.mark.long
def test_partitions_move_to_a_node_that_joins_and_away_from_one_that_leaves(
    served: Served, tmp_path: Path, token_file: Path
) -> None:
    with machines(tmp_path, 2) as nodes:
        late = Machine(tmp_path / "late", head="127.0.0.1:1")
        nodes.append(late)
        steps: list[str] = []

        def look(crawl: Coordinator, now: float) -> None:
            homes = read_about(tmp_path / "c").homes
            if not steps and crawl.run_facts.visits > 5:
                ask_node(late.address, TOKEN, Follow(nodes[0].address))
                steps.append("joins")
            elif len(steps) == 1 and late.address in homes:
                ask_node(nodes[0].address, TOKEN, Leave(nodes[1].address))
                steps.append("leaves")
            elif len(steps) == 2 and nodes[1].address not in homes:
                steps.append("has left")

        # slow enough that there is something left to read when the node has left, also on a busy machine
        ending = run(served, tmp_path / "c", nodes[0], look, rate="10/s", partitions=3)
        assert ending.startswith("everything known was read")
        assert steps == ["joins", "leaves", "has left"]
        assert not list(nodes[1].disk.glob("*/partitions/*"))
        must_be_whole(tmp_path / "c")


@pytest.mark.long
def test_what_a_node_that_is_killed_with_its_disk_had_goes_on_from_replicas(
    served: Served, tmp_path: Path, token_file: Path
) -> None:
    with machines(tmp_path, 3) as nodes:
        lost: list[float] = []

        def lose(crawl: Coordinator, now: float) -> None:
            copies = read_about(tmp_path / "c").copies
            if not lost and crawl.run_facts.visits > 15 and all(copies):
                nodes[1].kill()
                shutil.rmtree(nodes[1].disk)
                lost.append(now)

        ending = run(served, tmp_path / "c", nodes[0], lose, keep="versions", partitions=3, replicas=1)
        assert ending.startswith("everything known was read")
        assert lost
        about = read_about(tmp_path / "c")
        assert nodes[1].address not in (*about.homes, *about.copies)
        assert all(about.copies), "every partition has a copy again"
        must_be_whole(tmp_path / "c")
        assert stored(tmp_path / "c") == 0, "versions come if they are asked for"
        gather_all(tmp_path / "c", TOKEN, lambda share, what: None, bodies=True)
        assert check_any(tmp_path / "c").notes == [], "no page lacks its version"
        assert stored(tmp_path / "c") > 100


@pytest.mark.long
def test_a_node_that_is_lost_while_debts_are_paid_keeps_nobody_from_paying_them(
    served: Served, tmp_path: Path, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "VIEW_SECONDS", 0.01)
    with machines(tmp_path, 3) as nodes:

        def lose(crawl: Coordinator, now: float) -> None:
            if nodes[1].pid and crawl.run_facts.ending:
                nodes[1].kill()

        ending = run(served, tmp_path / "c", nodes[0], lose, partitions=3, replicas=1)
        assert ending.startswith("everything known was read")
        assert not nodes[1].pid
        must_be_whole(tmp_path / "c")


@pytest.mark.long
def test_a_node_that_freezes_is_answered_for_and_is_harmless_when_it_wakes(
    served: Served, tmp_path: Path, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LOST_SECONDS", 2.0)
    with machines(tmp_path, 3) as nodes:
        steps: list[float] = []

        def freeze(crawl: Coordinator, now: float) -> None:
            about = read_about(tmp_path / "c")
            if not steps and crawl.run_facts.visits > 15 and all(about.copies):
                os.killpg(nodes[2].pid, signal.SIGSTOP)
                steps.append(now)
            elif len(steps) == 1 and nodes[2].address not in about.homes:
                os.killpg(nodes[2].pid, signal.SIGCONT)
                steps.append(now)

        ending = run(served, tmp_path / "c", nodes[0], freeze, partitions=3, replicas=1)
        assert ending.startswith("everything known was read")
        assert len(steps) == 2
        must_be_whole(tmp_path / "c")


@pytest.mark.long
def test_a_partition_whose_folder_is_gone_waits_until_the_node_with_its_copy_is_back(
    served: Served, tmp_path: Path, token_file: Path
) -> None:
    with supervised(tmp_path) as disks:
        steps: list[float] = []

        def lose(crawl: Coordinator, now: float) -> None:
            if not steps and crawl.run_facts.visits > 15 and all(read_about(tmp_path / "c").copies):
                disks.hold(2, signal.SIGSTOP)
                disks.signal(2, signal.SIGKILL)
                disks.lose(1)
                steps.append(now)
            elif len(steps) == 1 and now - steps[0] > 4.0:  # node 1 is back for a while, with an empty disk
                disks.hold(2, signal.SIGCONT)
                steps.append(now)

        token = tmp_path / "token"
        with cluster_run(
            tmp_path / "c",
            [served.seed_url],
            GIVEN | {"rate": "60/s"},
            Limits(),
            cluster=disks.addresses[0],
            token_file=token,
            partitions=6,
            replicas=1,
        ) as crawl:
            assert crawl.run(lose).startswith("everything known was read")
        assert len(steps) == 2
        must_be_whole(tmp_path / "c")


@pytest.mark.long
def test_a_run_goes_on_where_it_was_when_the_machine_of_the_coordinator_was_lost(
    served: Served, tmp_path: Path, token_file: Path
) -> None:
    def die(crawl: Coordinator, now: float) -> None:
        if crawl.run_facts.visits > 15:
            os.kill(os.getpid(), signal.SIGKILL)

    with machines(tmp_path, 2) as nodes:
        child = os.fork()
        if not child:
            try:
                run(served, tmp_path / "c", nodes[0], die, partitions=3)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        before = read_about(tmp_path / "c")
        shutil.rmtree(tmp_path / "c")
        with pytest.raises(BadInput, match="no copy of another"):
            recover(tmp_path / "c", nodes[0].address, TOKEN, "another")
        about = recover(tmp_path / "c", nodes[0].address, TOKEN)
        assert (about.id, about.homes, about.copies) == (before.id, before.homes, before.copies)
        assert min(about.incarnations) > max(before.incarnations)
        with pytest.raises(BadInput, match="not empty"):
            recover(tmp_path / "c", nodes[0].address, TOKEN)
        assert run(served, tmp_path / "c", nodes[0], nothing).startswith("everything known was read")
        must_be_whole(tmp_path / "c")


def test_a_stranger_and_a_wrong_token_get_nothing(tmp_path: Path) -> None:
    with machines(tmp_path, 1) as nodes:
        with pytest.raises(NotAdmitted, match="token"):
            ask_node(nodes[0].address, b"another token of enough length", List())
        host, port = split_address(nodes[0].address)
        for said in (b"GET / HTTP/1.1\r\n\r\n" * 8, bytes(64), b""):
            with socket.create_connection((host, port), timeout=10) as stranger:
                assert len(stranger.recv(64)) == 32
                with suppress(OSError):  # it may have hung up before all of that was sent
                    stranger.sendall(said)
                    stranger.shutdown(socket.SHUT_WR)
                    assert stranger.recv(64) == b""
        assert len(nodes_of(nodes[0])) == 1


def test_a_run_waits_for_no_node_that_is_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SILENT_SECONDS", 0.2)
    with machines(tmp_path, 2) as nodes:
        clock = RunClock()
        run = RemoteNodes(nodes[0].address, TOKEN, "crawl", clock)
        os.killpg(nodes[1].pid, signal.SIGSTOP)
        run.turn(clock())
        sleep(0.3)
        waited, lost = [], list[str]()
        for partition in range(3):
            began = monotonic()
            assert not run.has_crawl(nodes[1].address, partition)
            with pytest.raises(OSError, match="no answer"):
                run.start_keeper(nodes[1].address, [])
            lost += run.turn(clock())
            waited.append(monotonic() - began)
        run.close()
        assert sum(waited) < line.CALL_SECONDS, "each call would take as long"
        assert lost == [nodes[1].address]
        again = RemoteNodes(nodes[0].address, TOKEN, "crawl", clock)
        assert list(again.there()) == [nodes[0].address]
        began = monotonic()
        again.turn(clock() + 60)  # it is called again
        assert monotonic() - began < line.CALL_SECONDS / 2
        again.close()


@pytest.mark.long
def test_a_crawl_has_one_run_and_the_newest_of_its_folders(
    served: Served, tmp_path: Path, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "END_SECONDS", 0.3)
    with machines(tmp_path, 1) as nodes:
        copy, refused = tmp_path / "copy", list[str]()

        def look(crawl: Coordinator, now: float) -> None:
            if not refused and crawl.run_facts.visits > 5:
                shutil.copytree(tmp_path / "c", copy)
                with pytest.raises(InUse) as trouble:
                    run(served, copy, nodes[0], nothing)
                refused.append(str(trouble.value))
                crawl.stop()

        assert run(served, tmp_path / "c", nodes[0], look, partitions=2) == "stopped"
        assert "copy: this crawl runs already, from a copy of this folder" in refused[0]
        recover(tmp_path / "new", nodes[0].address, TOKEN)
        for old in (tmp_path / "c", copy):
            with pytest.raises(BadInput, match=r"is older than what the nodes know .* centime cluster recover NEW"):
                run(served, old, nodes[0], nothing)


def test_a_node_outlives_what_it_cannot_do_and_keeps_its_folder_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "END_SECONDS", 0.1)
    with machines(tmp_path, 1) as nodes:
        for order in (Drop("../.."), Work("a run", "../../c")):
            with pytest.raises(BadInput, match="no node answers"):
                ask_node(nodes[0].address, TOKEN, order)
        (nodes[0].disk / "crawl").mkdir()
        (nodes[0].disk / "crawl" / "cluster.json").write_bytes(b"{")
        assert ask_node(nodes[0].address, TOKEN, Crawls()) == Known({"crawl": CrawlCopy(b"{", runs=False)})
        run = RemoteNodes(nodes[0].address, TOKEN, "crawl", RunClock())
        assert run.newest == 0, "the copy is damaged"
        with pytest.raises(InUse):
            RemoteNodes(nodes[0].address, TOKEN, "crawl", RunClock())
        run.close()
        second = Node("127.0.0.1:0", TOKEN, nodes[0].disk)
        with pytest.raises(InUse, match=rf"m0: another node keeps partitions here, as process {nodes[0].pid}"):
            second.run()
        second.close()


def test_a_node_tells_whether_its_head_is_reached_and_never_joins_itself(tmp_path: Path) -> None:
    with machines(tmp_path, 1) as nodes:
        told: list[str] = []
        stranger = Node(
            "127.0.0.1:0", b"another token of enough length", tmp_path / "a", head=nodes[0].address, report=told.append
        )
        stranger.turn(0.0)
        stranger.close()
        friend = Node("127.0.0.1:0", TOKEN, tmp_path / "b", head=nodes[0].address, report=told.append)
        friend.turn(0.0)
        friend.close()
        assert "is the token the same" in told[0]
        assert told[1].endswith("is reached")
        ask_node(nodes[0].address, TOKEN, Follow(nodes[0].address))
        assert len(nodes_of(nodes[0])) == 1
        with pytest.raises(BadInput, match="cannot join itself"):
            Node("127.0.0.1:7399", TOKEN, tmp_path / "d", head="127.0.0.1:7399")


def test_a_ranking_goes_on_when_a_node_is_lost(tmp_path: Path) -> None:
    graph = weblike(2_000, 1)
    with machines(tmp_path, 2) as nodes:

        class Losing(NodeCrew):
            turns = 0

            def turn(self) -> None:
                self.turns += 1
                if self.turns == 5:
                    nodes[1].kill()
                super().turn()

        crew = Losing(nodes[0].address, TOKEN)
        assert crew.count == 2
        found, exchanged = rank_divided(graph, "bsp", crew, error=1e-9)
        assert not nodes[1].pid
    assert exchanged.values > 0
    assert found.certified_error <= 1e-9
    assert np.abs(found.scores - pagerank(graph, error=1e-12).scores).sum() / graph.pages <= 1.1e-9


def nothing(crawl: Coordinator, now: float) -> None:
    """Does not look."""
