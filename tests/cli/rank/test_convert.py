import json
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.graphs import convert as conversion


def convert(*arguments: object) -> int:
    return run(app, ["convert", *map(str, arguments)])


def test_programs_get_one_object_and_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("a,b,2\nb,c,3\n")
    assert convert(tmp_path / "a.csv", tmp_path / "b.npz", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report.pop("time_seconds") >= 0
    files = [str(tmp_path / "b.npz"), str(tmp_path / "b.npz.names")]
    assert report == {
        "pages": 3,
        "links": 2,
        "merged_links": 0,
        "weighted": True,
        "named": True,
        "numbered_from": 0,
        "files": files,
    }
    assert all(Path(file).exists() for file in files)


def test_people_get_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dump").write_text("0 1\n1 0\n")
    assert convert(tmp_path / "dump", tmp_path / "graph", "--from", "edges", "--to", "mtx") == 0
    said = capsys.readouterr()
    assert "links          2" in said.out
    assert said.err == ""
    assert (tmp_path / "graph").read_text().startswith("%%MatrixMarket")


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("missing.txt", "b.npz", "missing.txt: there is no such file"),
        ("bad.txt", "b.npz", "bad.txt, line 2: expected two page numbers and nothing else"),
        ("bad.txt", "b.png", "b.png: not the name of a graph file"),
        ("false.gz.txt.gz", "b.npz", "the file is not gzip, or damaged"),
        ("lone.graph", "b.npz", "lone.properties: there is no such file"),
        ("picture.npz", "b.txt", "picture.npz, byte 0: this is not an archive of a sparse matrix"),
        (".", "b.txt", "this is a directory"),
        ("folder.txt", "b.txt", "folder.txt: this is a directory"),
        ("empty.mtx", "b.txt", "empty.mtx: the file is empty"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str, sentence: str
) -> None:
    (tmp_path / "bad.txt").write_text("0 1\none\n")
    (tmp_path / "false.gz.txt.gz").write_text("0 1\n")
    (tmp_path / "lone.graph").write_bytes(b"x")
    (tmp_path / "picture.npz").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "empty.mtx").touch()
    (tmp_path / "folder.txt").mkdir()
    before = sorted(tmp_path.iterdir())
    assert convert(tmp_path / source, tmp_path / target) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_stopped_by_ctrl_c_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(survey: object, path: Path, suffixes: object) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "write_archive", stopped)
    (tmp_path / "a.txt").write_text("0 1\n")
    assert convert(tmp_path / "a.txt", tmp_path / "b.npz") == 130
    assert capsys.readouterr().err == "centime: stopped\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
