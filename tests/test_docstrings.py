"""The examples in docstrings run. Pytest's own collector of them would import all modules, and look through all tests,
in every process: a third of the time until the first test."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
SHOWN = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]
NAMES = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SHOWN]


def test_there_are_examples() -> None:
    assert len(NAMES) > 5


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
