import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

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
    assert "damaged" in shown
    assert "False" in shown


def test_a_crawl_says_what_it_had_to_do_without(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repair_crawl(damaged)
    about = damaged / "centime.json"
    about.write_bytes(about.read_bytes()[:-20])
    monkeypatch.setattr("centime.crawl.engine.loop.Engine.run", lambda engine, view: "stopped")  # fetches nothing
    said = CliRunner().invoke(app, ["crawl", str(damaged)]).output
    assert "damaged, and not needed" in said
    assert "centime.json" in said
