"""`centime cluster`: its nodes are started, listed, added, removed and stopped."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cluster.machines import TOKEN, Machine, machines, nodes_of, wait_for, write_token
from centime.cli.crawl import cluster
from centime.cli.ending import run
from centime.cli.main import app
from centime.cluster.folder import About, encode_about
from centime.cluster.nodes.line import NodeLine, ask_node
from centime.cluster.nodes.said import Busy, Forget
from centime.model.errors import BadInput
from centime.processes.clock import RunClock


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Machine]]:
    write_token(tmp_path / "token")
    with machines(tmp_path, 2) as started:
        yield started


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.05)


def test_nodes_are_listed_removed_added_and_stopped(
    nodes: list[Machine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, other = (machine.address for machine in nodes)
    common = ["--cluster", head, "--token-file", str(tmp_path / "token")]

    def listed() -> dict[str, str]:
        assert run(app, ["cluster", "status", "--csv", *common]) == 0
        assert capsys.readouterr().out.startswith("node,state,partitions,replicas,processes,cores,folder\n")
        assert run(app, ["cluster", "add", "127.0.0.1:1", "--csv", *common]) == 2
        assert "cluster status" in capsys.readouterr().err
        assert run(app, ["cluster", "status", "--json", *common]) == 0
        return {row["node"]: row["state"] for row in json.loads(capsys.readouterr().out)["nodes"]}

    assert listed() == {head: "head", other: "there"}
    assert run(app, ["cluster", "remove", other, *common]) == 0
    wait_for(lambda: len(nodes_of(nodes[0])) == 1)
    assert run(app, ["cluster", "add", other, *common]) == 0
    wait_for(lambda: listed() == {head: "head", other: "there"})
    assert run(app, ["cluster", "remove", head, *common]) == 0
    assert "stays the head" in capsys.readouterr().err
    assert listed() == {head: "head, leaves", other: "there"}
    assert run(app, ["cluster", "add", head, *common]) == 0
    assert listed() == {head: "head", other: "there"}
    assert run(app, ["cluster", "stop", *common]) == 0
    for machine in nodes:
        machine.wait()
    assert run(app, ["cluster", "status", *common]) == 2
    assert "no node answers there" in capsys.readouterr().err


def test_a_crawl_is_deleted_from_all_nodes_unless_it_runs(
    nodes: list[Machine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = encode_about(About(id="0123", partitions=2, created=1.0))
    kept = [machine.disk / "0123" for machine in nodes]
    for folder in (*kept, tmp_path / "web", nodes[0].disk / "other"):
        folder.mkdir()
        (folder / "cluster.json").write_bytes(about)
    common = ["--cluster", nodes[0].address, "--token-file", str(tmp_path / "token")]
    assert run(app, ["cluster", "delete", *common]) == 2
    assert run(app, ["cluster", "delete", "--crawl", "none", *common]) == 2
    line = NodeLine(nodes[1].address, TOKEN, "a run", "0123", RunClock())
    assert run(app, ["cluster", "delete", str(tmp_path / "web"), *common]) == 2
    assert "crawl 0123 is running" in capsys.readouterr().err
    assert isinstance(ask_node(nodes[1].address, TOKEN, Forget("0123")), Busy)
    line.hang_up()
    assert all(folder.is_dir() for folder in kept)
    assert run(app, ["cluster", "delete", str(tmp_path / "web"), *common]) == 0
    assert not any(folder.exists() for folder in kept)
    assert (nodes[0].disk / "other").is_dir()
    for name in ("..", ".", "../m1"):
        with pytest.raises(BadInput):
            ask_node(nodes[0].address, TOKEN, Forget(name))
    assert nodes[1].disk.is_dir()


def test_a_node_with_partitions_is_not_let_go_while_no_crawl_runs(
    nodes: list[Machine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = nodes[1].disk / "0123" / "partitions" / "00"
    kept.mkdir(parents=True)
    (kept / "centime.json").write_text("{}")
    common = ["--cluster", nodes[0].address, "--token-file", str(tmp_path / "token")]
    wait_for(lambda: nodes_of(nodes[0])[1].partitions + nodes_of(nodes[0])[0].partitions == 1)
    assert run(app, ["cluster", "remove", nodes[1].address, *common]) == 1
    assert "move only while their crawl runs" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["begin"], "is none of start, status"),
        (["start", "--head", "--join", "127.0.0.1:1"], "exclude each other"),
        (["start", "--listen", "0.0.0.0:0"], "not on all of them"),
        (["start", "--listen", "nowhere"], "is not the address of a node"),
        (["add"], "give NODE"),
        (["gather"], "give DIR"),
    ],
)
def test_wrong_usage_is_one_sentence(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = write_token(tmp_path / "token")
    assert run(app, ["cluster", *words, "--token-file", str(token), "--folder", str(tmp_path / "n")]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_token_must_be_there_long_and_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    for content, mode, said in (
        (None, 0, "there is no token"),
        (b"short", 0o600, "at least"),
        (b"x" * 32, 0o644, "chmod"),
    ):
        if content is not None:
            token.write_bytes(content)
            token.chmod(mode)
        assert run(app, ["cluster", "status", "--token-file", str(token)]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
