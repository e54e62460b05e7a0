"""A compiled kernel is used exactly as long as all that was compiled into it is the same."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.model.kernel import Part
from centime.model.kernel_code import digest_of

PARTS = """
STEP = 1
TABLE = np.arange(4)


@part
def deeper(x):
    \"\"\"What it does.\"\"\"
    return x + TABLE[2] + (deeper(x - 1) if x > LIMITS[0] else 0)


@part
def outer(x):
    return deeper(x) + STEP + max(y for y in (x, STEP))


def run(x):
    return outer(x)
"""


def digest(source: str, module: str = "some") -> str:
    names: dict[str, Any] = {"__name__": module, "np": np, "LIMITS": (3, "a"), "part": as_part}
    exec(source, names)
    return digest_of(names["run"])


def as_part(function: Any) -> Part:
    return Part(function, {}, cache=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + TABLE[2]", "x - TABLE[2]"),
        ("STEP = 1", "STEP = 2"),
        ("STEP = 1", "STEP = 1.0"),
        ("np.arange(4)", "np.arange(1, 5)"),
        ("np.arange(4)", "np.arange(4, dtype=np.int32)"),
        ("deeper(x) + STEP", "deeper(x + 0) + STEP"),
        ("x + TABLE[2]", "x + 2"),
        ("in (x, STEP)", "in (x, -STEP)"),
        ("def outer(x):\n", "def outer(x, y=0):\n"),
        ("max(", "min("),
    ],
)
def test_what_is_compiled_into_a_kernel_counts(before: str, after: str) -> None:
    assert before in PARTS
    assert digest(PARTS) != digest(PARTS.replace(before, after))


def test_what_is_said_about_a_kernel_does_not_count() -> None:
    for before, after in (("What it does.", "What it says."), ("STEP = 1", "# A comment.\n\nSTEP = 1")):
        assert digest(PARTS) == digest(PARTS.replace(before, after))


def test_a_part_that_was_moved_counts() -> None:
    """Compiled code finds its parts by the names of their modules when it is loaded."""
    assert digest(PARTS) != digest(PARTS, "moved")


IN_A_FILE = """import numpy as np
from centime.model.kernel import inlined

STEP = 1


@inlined
def part(x):
    return x + STEP
"""
KERNEL = """from centime.model.kernel import kernel
from a_parts import part


@kernel
def run(x):
    return part(x)
"""


@pytest.mark.slow
@pytest.mark.compiled
def test_a_part_that_changed_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "a_kernel.py").write_text(KERNEL)
    for parts, answer in ((IN_A_FILE, b"11\n"), (IN_A_FILE.replace("STEP = 1", "STEP = 7"), b"17\n")):
        (tmp_path / "a_parts.py").write_text(parts)
        said = subprocess.run(
            [sys.executable, "-B", "-c", "from a_kernel import run; print(run(10))"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        assert said.stdout == answer
    assert len(list((tmp_path / "__pycache__").glob("a_kernel.run*.nbi"))) == 1
