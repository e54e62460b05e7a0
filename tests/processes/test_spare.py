import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from centime.processes.handle import ChildProcess
from centime.processes.spare import fork_spares


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have left a thread in this process; it does no harm to the children of these tests."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def echo(number: int) -> None:
    with socket.socket(fileno=number) as connection:
        while received := connection.recv(1000):
            connection.sendall(received)
    os._exit(0)


def fail(_: int) -> None:
    raise ValueError("a child that fails")


def test_a_spare_works_as_a_child_process_does() -> None:
    with fork_spares(1, echo) as spares:
        child = ChildProcess("not.started", b"settings", spares.pop())
        received: list[bytes] = []
        while not received:
            received = child.exchange(5.0)
        assert received == [b"settings"]
        child.end()
        assert child.returncode == 0
        assert spares == []


def test_a_spare_ends_when_its_socket_is_closed_though_others_were_forked_after_it() -> None:
    with fork_spares(3, echo) as spares:
        first = spares.pop(0)
        first.connection.close()
        first.wait(10.0)
        assert first.returncode == 0


def test_spares_that_nobody_takes_are_ended() -> None:
    with fork_spares(2, echo) as spares:
        kept = list(spares)
        assert all(spare.returncode is None for spare in kept)
    assert all(spare.returncode in (0, -signal.SIGKILL) for spare in kept)  # some end before they are killed


def test_waiting_for_a_spare_that_goes_on_takes_no_longer_than_allowed() -> None:
    with fork_spares(1, echo) as (spare,), pytest.raises(subprocess.TimeoutExpired):
        spare.wait(0.01)


def test_a_spare_is_waited_for_in_a_process_with_very_many_open_files() -> None:
    program = """
import os, resource
from centime.processes.spare import fork_spares
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1500)]
with fork_spares(1, lambda number: os._exit(7)) as (spare,):
    spare.wait(10.0)
    print(spare.returncode)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"


def test_a_spare_that_fails_says_why_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    with fork_spares(1, fail) as (spare,):
        spare.wait(10.0)
        assert spare.returncode == 1
        assert "a child that fails" in capfd.readouterr().err


def test_a_process_with_threads_forks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    with fork_spares(2, echo) as spares:
        assert spares == []
    release.set()
    thread.join()


def test_a_spare_reads_nothing_from_the_terminal() -> None:
    program = """
import os, sys
from centime.processes.spare import fork_spares
def look(number):
    print(repr(os.read(0, 10)), flush=True)
    os._exit(0)
with fork_spares(1, look) as (spare,):
    spare.wait(10.0)
"""
    done = subprocess.run([sys.executable, "-c", program], input="typed", capture_output=True, text=True, check=True)
    assert done.stdout == "b''\n"
