"""The window beside a crawl: a process that ends is started again, one that never began is not."""

from pathlib import Path
from typing import ClassVar

import pytest

from centime.processes import window
from centime.processes.window import FIRST_PAUSE, LONGEST_PAUSE, WindowProcess


class Told:
    """A process that does as it is told."""

    started: ClassVar[list["Told"]] = []
    address = "http://127.0.0.1:8400/"

    def __init__(self, module: str, folder: str, listen: str, *more: str) -> None:
        self.listen = listen
        self.is_running = bool(self.address)
        self.started.append(self)

    def first_line(self) -> str:
        return self.address

    def reason(self) -> str:
        return "exit code -9"

    def end(self, patience_seconds: float) -> None:
        self.is_running = False

    def close(self) -> None:
        assert not self.is_running


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> type[Told]:
    monkeypatch.setattr(Told, "started", [])
    monkeypatch.setattr(window, "Companion", Told)
    return Told


def test_a_window_that_ends_is_started_again_at_its_address_after_a_pause_that_grows(
    told: type[Told], caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    process = WindowProcess(Path("museum"), "0", clock=lambda: now[0])
    pauses = []
    for number in range(12):
        told.started[-1].is_running = False
        died = now[0]
        while len(told.started) == number + 1:
            assert process.trouble() == ""
            now[0] += 0.5
        pauses.append(now[0] - 0.5 - died)
    assert pauses[:4] == [FIRST_PAUSE, 2.0, 4.0, 8.0]
    assert pauses[-1] == LONGEST_PAUSE
    assert {one.listen for one in told.started[1:]} == {"127.0.0.1:8400"}
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 12
    now[0] += 2 * LONGEST_PAUSE
    told.started[-1].is_running = False
    process.trouble()
    now[0] += FIRST_PAUSE
    process.trouble()
    assert len(told.started) == 14
    process.close()


def test_a_window_that_never_began_says_why_and_is_not_started_again(
    told: type[Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Told, "address", "")
    now = [0.0]
    process = WindowProcess(Path("museum"), "8400", clock=lambda: now[0])
    for now[0] in (0.0, 1000.0, 2000.0):
        assert process.trouble() == "the window is not served: exit code -9"
    assert len(told.started) == 1
