import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from centime.cli.ending import run
from centime.cli.main import app
from centime.crawl.repair.repair import repair_crawl
from tests.crawl.world import World, advance, crawl


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A crawl whose newest segment is gone."""
    with crawl(tmp_path / "c") as opened:
        now = advance(opened, World(), 10)
        opened.close()
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 10, start=now)
        opened.shard.journal.sync()
        shutil.copytree(tmp_path / "c", tmp_path / "killed")
    max((tmp_path / "killed" / "journal").iterdir()).unlink()
    return tmp_path / "killed"


def test_a_repair_says_what_was_restored_and_lost(damaged: Path) -> None:
    runner = CliRunner()
    planned = json.loads(runner.invoke(app, ["repair", str(damaged), "--dry-run", "--json"]).stdout)
    assert planned["damaged"]
    assert planned["frames_lost"] > 0
    assert runner.invoke(app, ["check", str(damaged)]).exit_code == 1
    done = json.loads(runner.invoke(app, ["repair", str(damaged), "--json"]).stdout)
    assert done["right"]
    assert done["frames_lost"] == planned["frames_lost"]
    assert runner.invoke(app, ["check", str(damaged)]).exit_code == 0
    shown = runner.invoke(app, ["repair", str(damaged)]).stdout
    assert re.search(r"^damaged +no$", shown, re.MULTILINE)


def test_every_command_says_what_it_had_to_do_without(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repair_crawl(damaged)
    about = damaged / "centime.json"
    about.write_bytes(about.read_bytes()[:-20])
    monkeypatch.setattr("centime.crawl.engine.loop.Engine.run", lambda engine, view: "stopped")  # fetches nothing
    for command in ("top", "stats", "crawl"):  # which mends it
        assert run(app, [command, str(damaged)]) in (0, 130)
        said = capsys.readouterr().err
        assert said.startswith("centime: damaged, and not needed: ")
        assert "centime.json" in said


@pytest.mark.parametrize("command", ["top", "crawl"])
def test_damage_that_closes_a_crawl_names_the_command_that_repairs_it(
    damaged: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run(app, [command, str(damaged)]) == 1
    assert f"; centime repair {damaged} restores what can be proven" in capsys.readouterr().err
