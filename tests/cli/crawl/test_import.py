"""`centime import` tells what it has taken, what it has left out, and what was wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from centime import Crawl
from centime.cli.ending import PROBLEM, WRONG_USAGE, run
from centime.cli.main import app
from tests.crawl.imports.written import SEED, page, weekly


def test_an_import_begins_a_crawl_and_reports_in_json(tmp_path: Path) -> None:
    archive = weekly(tmp_path / "a.warc.gz", weeks=[0], pages=3)
    arguments = ["import", str(tmp_path / "c"), str(archive), "--seed", SEED, "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert (facts["visits"], facts["records"], facts["left_out"], facts["stopped"]) == (3, 3, {}, False)
    again = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert (again["visits"], again["records"]) == (0, 0)


def test_what_is_damaged_is_told_and_the_exit_code_says_so(tmp_path: Path) -> None:
    archive = weekly(tmp_path / "a.warc.gz", weeks=[0], pages=3)
    archive.write_bytes(archive.read_bytes()[:-50])
    result = CliRunner().invoke(app, ["import", str(tmp_path / "c"), str(archive), "--seed", SEED])
    assert result.exit_code == PROBLEM
    assert "the file ends within it" in result.stderr
    assert "visits         2" in result.stdout


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "there is no crawl to continue"),
        (["--seed", SEED, "--keep", "some"], "keep"),
        (["--seed", SEED, "--from", "tape"], "--from is one of warc"),
    ],
)
def test_wrong_usage_is_said_in_a_sentence(
    more: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    assert run(app, ["import", str(tmp_path / "c"), str(tmp_path / "a.jsonl"), *more]) == WRONG_USAGE
    assert says in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_file_that_cannot_be_imported_begins_no_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise.warc").write_text("noise")
    (tmp_path / "empty.warc.gz").touch()
    for name, says in (("noise.warc", "not recognised"), ("empty.warc.gz", "empty"), ("none.wat", "No such file")):
        assert run(app, ["import", str(tmp_path / "c"), str(tmp_path / name), "--seed", SEED]) in (1, WRONG_USAGE)
        assert says in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_program_imports_files_between_its_runs(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(json.dumps({"url": page(0), "time": 1.76e9, "links": [page(1)]}))
    with Crawl(tmp_path / "c", SEED) as crawl:
        report = crawl.import_files([tmp_path / "items.jsonl"])
        assert report["visits"] == 1
        assert {one["url"] for one in crawl.top(9)} == {SEED, page(0), page(1)}
