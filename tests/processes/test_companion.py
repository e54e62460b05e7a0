"""Processes beside a crawl: what they say, how they end, and that nobody waits for them for ever."""

import time
from pathlib import Path

import pytest

from centime.processes.companion import Companion

PROGRAM = """
import signal, sys, time
print("ready", flush=True)
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf", flush=True)
    time.sleep(600)
if sys.argv[1] == "fails":
    sys.stderr.write("first\\nthe disk is on fire\\n\\n")
    sys.exit(1)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "companion_program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def started(how: str) -> Companion:
    process = Companion("companion_program", how)
    assert process.first_line() == "ready"
    return process


def test_it_runs_until_it_is_ended_and_ends_well() -> None:
    process = started("listens")
    assert process.is_running
    process.end(60.0)
    assert not process.is_running
    assert not process.failed
    process.close()


def test_the_last_line_that_it_wrote_says_why_it_ended() -> None:
    process = started("fails")
    process.end(60.0)
    assert process.failed
    assert process.reason() == "the disk is on fire"
    process.close()


def test_one_that_does_not_listen_is_killed_and_its_exit_code_told() -> None:
    process = started("deaf")
    assert process.first_line() == "deaf"
    began = time.monotonic()
    process.end(0.1)
    assert time.monotonic() - began < 60.0
    assert process.failed
    assert process.reason() == "exit code -9"
    process.close()
