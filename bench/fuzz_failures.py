"""A plugin of pytest that names failed tests in a file at once: a run may be interrupted before its end."""

import os
from pathlib import Path

import pytest

FAILURES = "CENTIME_FUZZ_FAILURES"  # the environment variable with the name of the file


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[FAILURES]).open("a") as file:
            file.write(f"{report.nodeid}\n{report.longreprtext}\n")
