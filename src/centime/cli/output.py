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
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeGuard

import typer

from centime.cli.layout import Rows, fact_lines, table_lines
from centime.cli.visible import visible, visible_json, visible_lines
from centime.files.replacement import STANDARD_OUTPUT
from centime.model.errors import BadSetting
from centime.model.spreadsheet import csv_lines

Json = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write the rows as CSV to standard output.")]

WIDTH_OF_A_PIPE = 10_000


def is_standard_output(path: Path | None) -> bool:
    """Whether the file that a user names is standard output: `-`, or another name of it such as /dev/stdout."""
    if path is None or path == STANDARD_OUTPUT:
        return path is not None
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(1))
    return False


def show(
    report: Mapping[str, object], *, as_json: bool, as_csv: bool = False, table: str = "", columns: Sequence[str] = ()
) -> None:
    """Writes a report to standard output; as CSV the rows of one `table` of it, or a row for each of its facts. A table
    without rows has a heading of these columns.
    """
    if as_csv:
        rows = report[table] if table else [{"name": name, "value": value} for name, value in report.items()]
        check_one_form(as_json=as_json, as_csv=as_csv)
        show_csv(plain({table: rows})[table], columns)
        return
    if as_json:
        sys.stdout.write(json_text(report) + "\n")
        return
    from rich.console import Console

    # A pipe has no width: a table that was broken into several lines would be of no use to the next program.
    width = Console().width if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    simple = plain(report)
    tables = {name: value for name, value in simple.items() if _is_rows(value)}
    lines: list[tuple[str, str]] = []
    lines += (
        (line, "") for line in fact_lines({name: value for name, value in simple.items() if name not in tables}, width)
    )
    for name, rows in tables.items():
        lines += [("", ""), *table_lines(name, rows, width)]
    show_lines(lines)


def check_one_form(*, as_json: bool, as_csv: bool) -> None:
    """Raises BadSetting if two forms of output were asked for."""
    if as_json and as_csv:
        raise BadSetting("--json and --csv exclude each other: give one of them")


def show_csv(rows: object, columns: Sequence[str] = ()) -> None:
    """Writes rows as CSV, one by one. If there are none, it writes the heading of these columns, if they are given;
    nothing at all for a string instead of rows.
    """
    if isinstance(rows, str):
        return
    assert isinstance(rows, Iterable)
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None and columns:
        sys.stdout.writelines(csv_lines(tuple(columns), (), line_end="\n"))
    if first is not None:
        is_seen = sys.stdout.isatty()
        for line in csv_lines(tuple(first), chain([first], remaining), line_end="\n"):
            sys.stdout.write(f"{visible_lines(line[:-1])}\n" if is_seen else line)


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
    """Writes texts side by side in columns of equal width, each text with its colour on a terminal."""
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
