"""The rules of CONTRIBUTING.md that no linter knows: how large a module and a folder may be."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = [path for room in ("src", "tests", "bench") for path in sorted((ROOT / room).rglob("*.py"))]
LINES, MOST_MODULES = 400, 25
LONG = [path for path in MODULES if path.read_text().count("\n") > LINES]


@pytest.mark.parametrize("path", LONG, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_more_than_400_lines_says_why(path: Path) -> None:
    assert "Over 400 lines" in (ast.get_docstring(ast.parse(path.read_text())) or "")


def test_no_room_of_the_program_has_more_modules_than_a_newcomer_can_look_through() -> None:
    rooms = Counter(path.parent for path in MODULES if (ROOT / "src") in path.parents and path.name != "__init__.py")
    assert len(rooms) > 40
    assert {str(room): count for room, count in rooms.items() if count > MOST_MODULES} == {}
