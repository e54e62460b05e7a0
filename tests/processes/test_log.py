"""The log file: lines that programs read, and a program that goes on whatever becomes of the file."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from centime.model.errors import BadSetting
from centime.processes.log import LogSettings, logging_to

LOG = logging.getLogger("centime.test")
HOSTILE = 'https://a.example/\n2026-01-01T00:00:00.000Z error crawl: "lost"\x1b[2J\u202e'


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "log"
    with logging_to(LogSettings(path=str(path))):
        yield path


def say(event: str, **facts: object) -> None:
    LOG.warning(event, extra={"facts": facts})


def test_an_event_is_one_line_with_its_facts_in_text_and_in_json(tmp_path: Path) -> None:
    for form in ("text", "json"):
        with logging_to(LogSettings(path=str(tmp_path / form), form=form)):
            say("visit", url="https://a.example/", seconds=0.25, detail="two words")
    text = (tmp_path / "text").read_text()
    assert text[10:] == f'{text[10:24]} warning test: visit url=https://a.example/ seconds=0.25 detail="two words"\n'
    facts = json.loads((tmp_path / "json").read_text())
    assert facts.pop("time")[10] == "T"
    assert facts == {
        "level": "warning",
        "from": "test",
        "event": "visit",
        "url": "https://a.example/",
        "seconds": 0.25,
        "detail": "two words",
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_server_sent_begins_no_line_and_controls_no_terminal(tmp_path: Path, form: str) -> None:
    with logging_to(LogSettings(path=str(tmp_path / "log"), form=form)):
        say("visit", url=HOSTILE)
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            LOG.exception("failed")
    text = (tmp_path / "log").read_text()
    assert text.count("\n") == 2
    assert not set("\x1b\u202e\r") & set(text)
    if form == "json":
        assert json.loads(text.splitlines()[0])["url"] == HOSTILE
        assert "ValueError" in json.loads(text.splitlines()[1])["traceback"]


def test_only_events_of_the_level_and_above_are_written(tmp_path: Path) -> None:
    before = logging.getLogger("centime").level
    for level in ("debug", "info", "warning", "error"):
        with logging_to(LogSettings(path=str(tmp_path / level), level=level)):
            for method in (LOG.debug, LOG.info, LOG.warning, LOG.error):
                method("event")
    counts = {path.name: path.read_text().count("\n") for path in tmp_path.iterdir()}
    assert counts == {"debug": 4, "info": 3, "warning": 2, "error": 1}
    assert logging.getLogger("centime").level == before


def test_a_file_that_was_moved_or_deleted_is_made_again(file: Path) -> None:
    say("first")
    file.rename(file.with_name("log.1"))
    say("second")
    file.unlink()
    say("third")
    assert file.with_name("log.1").read_text().endswith("first\n")
    assert file.read_text().endswith("third\n")
    assert file.read_text().count("\n") == 1


def test_events_without_room_are_dropped_and_counted_in_the_first_line_after(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/full")
    say("lost")
    say("lost too")
    file.unlink()
    say("written")
    lines = file.read_text().splitlines()
    assert lines[0].endswith("events that could not be written were dropped count=2")
    assert lines[1].endswith("written")


def test_a_folder_that_is_gone_drops_events_until_it_is_back(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with logging_to(LogSettings(path=str(folder / "log"))) as handler:
        assert handler is not None
        (folder / "log").unlink()
        folder.rmdir()
        say("lost")
        assert handler.dropped == 1
        folder.mkdir()
        say("written")
        assert handler.dropped == 0
    assert (folder / "log").read_text().count("\n") == 2


def test_a_line_that_was_written_in_part_does_not_spoil_the_next(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda number, data: write(number, data[:10]))
    say("torn")
    monkeypatch.undo()
    say("whole")
    lines = file.read_text().splitlines()
    assert len(lines[0]) == 10
    assert lines[1].endswith("count=1")
    assert lines[2].endswith("whole")


def test_a_log_that_can_never_be_written_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "unread")
    for path in (tmp_path / "nowhere/log", tmp_path, tmp_path / "unread"):
        with pytest.raises(BadSetting, match="the log cannot be written"), logging_to(LogSettings(path=str(path))):
            pass
    for wrong in (LogSettings(path="x", level="loud"), LogSettings(path="x", form="xml")):
        with pytest.raises(BadSetting, match="of the log is"), logging_to(wrong):
            pass
