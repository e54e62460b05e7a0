"""Graphs that commands read from standard input and pipes, and pages that no link mentions."""

import io
import json
import os
import threading
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.graphs.files import read_named


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(app, [*words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ([], b"b a\na b\nc a\n"),
        (["--from", "tsv"], b"b\ta\na\tb\nc\ta\n"),
        (["--from", "dot"], b"digraph { b -> a -> b; c -> a }"),
    ],
    ids=["blanks", "tsv", "dot"],
)
def test_standard_input_is_ranked_and_converted(
    form: list[str],
    data: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given(monkeypatch, data)
    found = answer(capsys, "rank", "-", *form)
    assert (found["pages"], found["links"], "never_mentioned" in found) == (3, 3, False)
    given(monkeypatch, data)
    answer(capsys, "convert", "-", str(tmp_path / "x.parquet"), *form)
    assert sorted(read_named(tmp_path / "x.parquet").names or []) == ["a", "b", "c"]


def test_a_pipe_is_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("2 1\n1 2\n"), daemon=True)
    writer.start()
    assert answer(capsys, "promotion", str(pipe))["pages"] == 2
    writer.join()


def test_a_file_is_read_in_the_format_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dump").write_text("a b\n")
    assert answer(capsys, "rank", str(tmp_path / "dump"), "--from", "edges")["pages"] == 2
    assert run(app, ["rank", str(tmp_path / "dump"), "--from", "xls"]) == 2
    assert "there is no format 'xls'" in capsys.readouterr().err
    assert run(app, ["rank", str(tmp_path / "none"), "--from", "csv"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_pages_that_no_link_mentions_are_told_and_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("1 5\n5 9\n")
    assert run(app, ["rank", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    assert "no link mentions 6 of 9 pages; --only-mentioned leaves them out" in shown.err
    assert json.loads(shown.out)["never_mentioned"] == 6
    found = answer(capsys, "rank", str(path), "--only-mentioned")
    assert (found["pages"], found["never_mentioned"]) == (3, 6)
    top = found["top"]
    assert isinstance(top, list)
    assert [row["page"] for row in top] == [9, 5, 1]
    assert run(app, ["rank", str(path), "--only-mentioned", "--memory", "100MB"]) == 2


def test_names_stay_with_the_pages_that_are_mentioned(tmp_path: Path) -> None:
    (tmp_path / "x.net").write_text('*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Arcs\n3 1 2\n')
    named = read_named(tmp_path / "x.net").mentioned()
    assert list(named.names or []) == ["a", "c"]
    assert named.graph.row(1).tolist() == [0]


def test_what_is_wrong_with_standard_input_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, b"a b c d\n")
    assert run(app, ["rank", "-", "--from", "tsv"]) == 2
    assert capsys.readouterr().err.startswith("centime: standard input, line 1: expected a link")
