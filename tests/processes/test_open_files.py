"""Limits on open files: raised where the system allows it, named where it does not."""

import resource
import subprocess
import sys
from pathlib import Path

from centime.processes.open_files import NEEDED, RESERVED, WANTED

PROGRAM = """
import resource
from centime.processes.open_files import fitting_connections, raise_limit
raise_limit(2)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], fitting_connections(512))
"""


def limited(soft: int, hard: int, *command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command with these limits on open files."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=60)


def test_a_low_limit_is_raised_as_far_as_needed_and_allowed() -> None:
    ran = limited(30, WANTED + 5, sys.executable, "-c", PROGRAM)
    assert ran.stdout.split() == [str(WANTED), "512"]


def test_connections_are_no_more_than_fit() -> None:
    limit, connections = map(int, limited(30, 100, sys.executable, "-c", PROGRAM).stdout.split())
    assert limit == 100
    assert 1 <= connections <= (100 - RESERVED - 3) // 2


def test_a_crawl_that_may_open_too_few_files_is_refused_with_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    command = ["-m", "centime", "crawl", str(tmp_path / "c"), "http://127.0.0.1:9/", "--workers", "2"]
    ran = limited(24, 24, sys.executable, *command)
    assert ran.returncode == 2
    assert f"needs {NEEDED + 2} open files, and this process may have 24: `ulimit -n" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()
