"""A compiled kernel is used exactly as long as all that was compiled into it is the same."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from centime.model.kernel import Compiled
from centime.model.kernel_code import digest_of

PARTS = '''"""Parts."""
import numpy as np
from centime.model.kernel import inlined

STEP = 1
TABLE = np.arange(4)


@inlined
def deeper(x):
    """What it does."""
    return x + TABLE[2]


@inlined
def part(x):
    return deeper(x) + STEP
'''
KERNEL = """from centime.model.kernel import kernel
from {parts} import part


@kernel
def run(x):
    return part(x)
"""


def digest(folder: Path, name: str, parts: str) -> str:
    (folder / f"{name}_parts.py").write_text(parts)
    (folder / f"{name}_kernel.py").write_text(KERNEL.format(parts=f"{name}_parts"))
    importlib.invalidate_caches()
    for module in (f"{name}_parts", f"{name}_kernel"):
        sys.modules.pop(module, None)
    run = importlib.import_module(f"{name}_kernel").run
    function = run.function if isinstance(run, Compiled) else run
    return digest_of(function)


@pytest.mark.compiled
def test_what_is_compiled_into_a_kernel_counts_and_what_is_said_about_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = digest(tmp_path, "one", PARTS)
    for change in (
        ("x + TABLE[2]", "x - TABLE[2]"),
        ("STEP = 1", "STEP = 2"),
        ("STEP = 1", "STEP = 1.0"),
        ("np.arange(4)", "np.arange(1, 5)"),
        ("deeper(x) + STEP", "deeper(x + 0) + STEP"),
        ("x + TABLE[2]", "x + 2"),
    ):
        assert digest(tmp_path, "one", PARTS.replace(*change)) != first, change
    for change in (("What it does.", "What it says."), ("STEP = 1", "# A comment.\n\nSTEP = 1")):
        assert digest(tmp_path, "one", PARTS.replace(*change)) == first, change
    assert digest(tmp_path, "moved", PARTS) != first, "compiled code finds its parts by the names of their modules"


@pytest.mark.compiled
def test_a_part_that_changed_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "a_kernel.py").write_text(KERNEL.format(parts="a_parts"))
    for parts, answer in ((PARTS, b"13\n"), (PARTS.replace("STEP = 1", "STEP = 7"), b"19\n")):
        (tmp_path / "a_parts.py").write_text(parts)
        said = subprocess.run(
            [sys.executable, "-B", "-c", "from a_kernel import run; print(run(10))"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        assert said.stdout == answer
    assert len(list((tmp_path / "__pycache__").glob("a_kernel.run*.nbi"))) == 1
