"""Tables as CSV, which spreadsheets open: text that they would compute as a formula begins with an
apostrophe. Nothing is empty, lists and mappings are JSON.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # with which a formula begins


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, object]], line_end: str = "\r\n") -> Iterator[str]:
    """The head and the rows, each with its line end."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=line_end)
    writer.writerow(map(_cell, columns))
    for row in rows:
        yield _taken(file)
        writer.writerow([_cell(row.get(name)) for name in columns])
    yield _taken(file)


def _taken(file: io.StringIO) -> str:
    text = file.getvalue()
    file.seek(0)
    file.truncate()
    return text


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case str():
            return f"'{value}" if value.startswith(FORMULAS) else value
        case bool() | Mapping() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return value
