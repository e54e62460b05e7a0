import io
import time

import pytest
from rich.console import Console

from centime.cli import progress as module
from centime.cli.progress import progress


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal is sent, with no patience before the bar appears."""
    sent = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")  # a dumb one shows no bar
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("rich.console.Console", lambda stderr: Console(file=sent, force_terminal=True, width=80))
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    return sent


def wait_for(words: str, screen: io.StringIO) -> None:
    deadline = time.monotonic() + 30
    while words not in screen.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert words in screen.getvalue()


def test_a_bar_shows_what_is_done_and_how_much_and_vanishes(screen: io.StringIO) -> None:
    with progress(10, "visiting") as step:
        step(3)
        step(2)
        wait_for("50%", screen)
    assert "visiting" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_work_shorter_than_a_second_shows_no_bar(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 1000.0)
    with progress(10, "visiting") as step:
        step(10)
    assert "visiting" not in screen.getvalue()


def test_quiet_work_shows_no_bar(screen: io.StringIO) -> None:
    with progress(10, "visiting", quiet=True) as step:
        step(10)
    assert screen.getvalue() == ""


def test_nothing_is_shown_where_standard_error_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    with progress(10, "visiting") as step:
        step(10)
    assert capfd.readouterr() == ("", "")


def test_the_bar_is_gone_after_a_failure(screen: io.StringIO) -> None:
    def fail() -> None:
        with progress(10, "visiting"):
            wait_for("visiting", screen)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert screen.getvalue().endswith("\x1b[2K")


def test_what_is_being_done_can_change(screen: io.StringIO) -> None:
    with progress(10, "reading") as step:
        step(3)
        step(0, "solving, error 1e-3")
        wait_for("solving, error 1e-3", screen)
    with progress(10, "reading", quiet=True) as step:
        step(3, "solving")
