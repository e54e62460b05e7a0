import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st


def drawn() -> list[int]:
    found: list[int] = []

    @given(st.integers())
    def draw(number: int) -> None:
        found.append(number)

    draw()
    return found


def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    (tmp_path / "of_constants.py").write_text("".join(f"C{each} = {each * 7919}\n" for each in range(1000)))
    monkeypatch.syspath_prepend(tmp_path)
    import_module("of_constants")
    assert len(set(before)) > 20
    assert drawn() == before
    del sys.modules["of_constants"]
