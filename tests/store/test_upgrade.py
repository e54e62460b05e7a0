"""Crawl folders of older formats: upgraded, also after a kill at any step, and continued as if nothing had happened.

Those of the present format: tests/golden/test_golden.py.
"""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.model.errors import DamagedFile, InUse, NewFormat, OldFormat
from centime.model.outcome import Outcome
from centime.shard.people.command import PublishCommand
from centime.store.folder import FORMAT, PARTS, CrawlFolder, read_about
from centime.store.upgrade import STEPS, pending, upgrade
from tests.crawl.changing import ChangingWorld
from tests.crawl.engine.test_transport import Clock, InMemory

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = sorted(path.name.partition(".")[0] for path in GOLDEN.glob("format-?.tar.xz"))
NAMES = {"found": "moved_temporarily"}  # outcomes that were renamed


@pytest.fixture(params=FORMATS)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that an older version wrote, with `crawl.json` beside it: what that version said of it."""
    with tarfile.open(GOLDEN / f"{request.param}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        archive.extractall(tmp_path)
    shutil.copy(GOLDEN / f"{request.param}.json", tmp_path / "crawl.json")
    return tmp_path / "crawl"


def said(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(folder.with_suffix(".json").read_text())
    for name in ("outcomes", "errors"):
        facts[name] = {NAMES.get(key, key): count for key, count in facts[name].items()}
    return facts


def same_as_said(folder: Path) -> None:
    """The crawl says of itself what the version that wrote it said, and holds all laws."""
    facts = said(folder)
    reader = read_crawl(folder)
    now = facts.pop("now")
    digest, waiting = facts.pop("importance_sha256"), facts.pop("waiting_notices")
    del facts["frontier"]  # which pages are due follows the rules of the version that reads
    found = reader.statistics(now)
    assert {name: found[name] for name in facts} == facts
    assert hashlib.sha256(reader.shard.ledger.importance().tobytes()).hexdigest() == digest
    assert reader.shard.requests.subscriptions.waiting == waiting
    reader.close()
    assert check_crawl(folder).problems == []


def test_an_old_folder_is_not_read_but_the_way_is_said(golden: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in golden.rglob("*"))
    with pytest.raises(OldFormat, match=f"centime upgrade {golden} converts it to format {FORMAT}"):
        read_crawl(golden)
    assert [problem.part for problem in check_crawl(golden).problems] == ["folder"]
    assert pending(golden)
    assert sorted((path, path.stat().st_mtime_ns) for path in golden.rglob("*")) == before


def test_an_upgraded_folder_says_what_the_old_version_said(golden: Path) -> None:
    assert upgrade(golden) == [step.what for step in STEPS]
    assert read_about(golden).parts == PARTS
    assert upgrade(golden) == []
    assert pending(golden) == []
    same_as_said(golden)
    ((_, command),) = CommandInbox(golden).take()
    assert isinstance(command, PublishCommand)


def test_a_crawl_upgrades_by_itself_and_continues(golden: Path) -> None:
    world, clock = ChangingWorld(40), Clock()
    world.outcomes = {3: Outcome.GONE}
    clock.now = said(golden)["now"] + 10.0
    transport = InMemory(world, clock)
    with open_writer(golden, [], {}) as opened:
        assert opened.upgraded
        visits = sum(opened.shard.outcomes.values())
        engine = Engine(opened, Limits(pages=30), transport=lambda: transport, clock=clock)
        assert engine.run() == "read the 30 pages asked for"
        assert sum(opened.shard.outcomes.values()) == visits + 30
    assert check_crawl(golden).problems == []


class Killed(BaseException):
    """The process ends here."""


def stop_at(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    left = [calls]

    def stopped(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return function(*given, **named)

    return stopped


@pytest.mark.long
def test_an_upgrade_that_is_killed_at_any_step_is_finished_by_the_next(
    golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = golden.with_name("kept")
    shutil.copytree(golden, kept, symlinks=True)
    for call in range(100):
        shutil.rmtree(golden)
        shutil.copytree(kept, golden)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", stop_at(call, Path.rename))
            patch.setattr(shutil, "rmtree", stop_at(call, shutil.rmtree))
            try:
                upgrade(golden)
            except Killed:
                pass
            else:
                break
        upgrade(golden)
        same_as_said(golden)
    assert call > 3


def test_an_upgrade_leaves_a_folder_in_use_alone(golden: Path) -> None:
    about = read_about(golden)
    holder = CrawlFolder(golden, about.created, about.settings, about.identity)
    holder.lock()
    try:
        with pytest.raises(InUse, match=str(os.getpid())):
            upgrade(golden)
    finally:
        holder.close()
    assert read_about(golden) == about


@pytest.mark.parametrize(("number", "what"), [(FORMAT + 1, "newer Centime"), (1, "upgrades formats 2")])
def test_formats_that_are_too_new_or_too_old_are_said(golden: Path, number: int, what: str) -> None:
    about = read_about(golden)
    folder = CrawlFolder(golden, about.created, about.settings, about.identity)
    folder.keep_settings(about.settings, formats=(number, about.parts))
    with pytest.raises((DamagedFile, NewFormat), match=what):
        upgrade(golden)
    with pytest.raises((NewFormat, OldFormat)):
        read_crawl(golden)


def test_a_damaged_snapshot_does_not_stop_an_upgrade(golden: Path) -> None:
    newest = sorted((golden / "snapshots").iterdir())[-1]
    (newest / "hosts.bin").write_bytes(b"x")
    upgrade(golden)
    with open_writer(golden, [], {}) as opened:
        assert opened.damaged
        assert opened.shard.pages.count == said(golden)["known"]
        opened.close()
