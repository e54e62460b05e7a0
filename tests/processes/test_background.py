"""A child that writes in the background: its result, its failure, and one that is stuck in a lock."""

import os
import resource
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from centime.processes import background as module
from centime.processes.background import in_background


def test_a_child_that_works_is_waited_for_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STUCK_SECONDS", 0.2)

    def work() -> None:
        until = time.process_time() + 1.0
        while time.process_time() < until:
            pass

    background = in_background(work)
    assert background.done(wait=True)
    assert not background.stuck


def test_a_child_that_is_stuck_in_a_lock_is_killed_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STUCK_SECONDS", 0.3)
    lock = threading.Lock()
    lock.acquire()
    background = in_background(lock.acquire)
    assert background.done() is None
    assert background.done(wait=True) is False
    assert background.stuck
    assert background.done() is False


def test_a_child_is_waited_for_in_a_process_with_very_many_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as open_files:
        open_files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            open_files.enter_context(Path(os.devnull).open())
        background = in_background(lambda: time.sleep(0.2))
        assert background._pipe > 1023
        assert background.done(wait=True)


def test_what_a_child_raises_is_reported() -> None:
    def fail() -> None:
        raise ValueError("no")

    background = in_background(fail)
    assert background.done(wait=True) is False
    assert (background.trouble, background.stuck) == ("ValueError: no", False)
