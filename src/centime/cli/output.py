"""Writes the report of a command, for people or for programs.

A report is one mapping. As JSON it is one object on standard output and nothing else. For people each value is a line
and each list of mappings is a table under its name. Names are snake_case and end with their unit: `error_percent`,
`time_seconds`. Whatever a value contains, it cannot control the terminal (`visible.py`).

`rich` is imported only when something is shown to people: it would double the time of `centime --help`.
"""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from centime.cli.visible import visible, visible_json
from centime.files.replacement import STANDARD_OUTPUT

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]

Rows = Sequence[Mapping[str, object]]

WIDTH_OF_A_PIPE = 10_000


def is_standard_output(path: Path | None) -> bool:
    """Whether the file that a user names is standard output: `-`, or another name of it such as /dev/stdout."""
    if path is None or path == STANDARD_OUTPUT:
        return path is not None
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(1))
    return False


def show(report: Mapping[str, object], *, as_json: bool) -> None:
    """Writes a report to standard output."""
    if as_json:
        sys.stdout.write(json_text(report) + "\n")
        return
    from rich.console import Console
    from rich.table import Table

    # A pipe has no width: a table cut to 80 columns would lose data that the next program needs.
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_PIPE)
    facts = Table.grid(padding=(0, 2))
    tables = []
    for name, value in plain(report).items():
        if _is_rows(value):
            tables.append(_table(name, value))
        else:
            facts.add_row(_text(_spoken(name)), _text(value))
    if facts.row_count:
        console.print(facts)
    for table in tables:
        console.print()
        console.print(table)


def show_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Writes lines, each with its colour on a terminal."""
    show_pieces([line] for line in lines)


def show_pieces(lines: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Writes lines of several pieces, each with its colour on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text.assemble(*((visible(piece), colour) for piece, colour in line)))


def show_beside(headings: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Writes texts beside each other in columns of equal width, each text with its colour on a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, expand=True)
    for row in rows:
        table.add_row(*(Text(visible(text), style=colour) for text, colour in row))
    Console().print(table)


def json_text(report: Mapping[str, object]) -> str:
    """The report as one line of JSON."""
    return visible_json(json.dumps(plain(report), allow_nan=False, ensure_ascii=False))


def plain(report: Mapping[str, object]) -> dict[str, object]:
    """The report in the types of JSON; a number that is not finite becomes null."""
    return {str(name): _plain(value) for name, value in report.items()}


def _plain(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Mapping():
            return plain(value)
        case list() | tuple():
            return [_plain(part) for part in value]
        case _ if hasattr(value, "tolist"):  # numpy's numbers and arrays, without importing numpy
            return _plain(value.tolist())
        case _:
            return str(value)


def _is_rows(value: object) -> TypeGuard[Rows]:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, dict) for row in value)


def _table(name: str, rows: Rows) -> "Table":
    from rich.table import Table

    table = Table(title=_text(_spoken(name)), title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in rows[0]:
        numeric = all(isinstance(row[column], int | float | None) for row in rows)
        table.add_column(_text(_spoken(column)), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*map(_text, row.values()))
    return table


def _spoken(name: str) -> str:
    return visible(name.replace("_", " "))


def _text(value: object) -> "Text":
    from rich.text import Text

    return Text(_cell(value))  # not a string, in which rich would look for markup


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.6g}"
        case dict():
            return ", ".join(f"{_spoken(name)} {_cell(part)}" for name, part in value.items())
        case list():
            return ", ".join(map(_cell, value))
        case _:
            return visible(str(value))
