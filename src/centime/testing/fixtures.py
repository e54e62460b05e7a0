"""Fixtures for pytest: add `pytest_plugins = ["centime.testing.fixtures"]` to your conftest.py."""

from collections.abc import Iterator

import pytest

from centime.testing.web import TestWeb
from centime.testing.web import webbox as served


@pytest.fixture(scope="session")
def webbox() -> Iterator[TestWeb]:
    """A web of 100 pages on three hosts, served for the whole session."""
    with served() as web:
        yield web
