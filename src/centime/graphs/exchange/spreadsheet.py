"""Tables of text with a heading and many columns, as spreadsheets and crawlers for site owners export them.

The heading must name the columns of the links (`heading.py`), as in `Source,Destination,Anchor,Follow`; other columns
are ignored. Commas, semicolons or tabs separate columns; a value in double quotes may contain them, and line ends. A
line `sep=;` before the heading, as spreadsheets write it, is skipped. Where semicolons separate, a weight may have a
decimal comma.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from centime.graphs.dialect import NUMBER, SOURCES, TARGETS, heading_word
from centime.graphs.exchange.named_links import Edge, text_lines, weight_of
from centime.graphs.heading import choose_columns
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

SEPARATORS = ",;\t"
SEPARATOR_LINE = re.compile(rf"(?i)sep=[{SEPARATORS}]")


def has_named_columns(path: Path) -> bool:
    """Whether the first line is a heading that names source and target, which an edge list could not have.

    An edge list has source and target first, and a number after them, if anything.
    """
    lines = (line.decode("utf-8", "replace").strip("\r\n") for line in TextFile(path).lines())
    first, second = next(lines, ""), next(lines, "")
    if SEPARATOR_LINE.fullmatch(first):
        first, second = second, next(lines, "")
    separator = _separator(first)
    words = [heading_word(word.encode()) for word in first.split(separator)]
    if not (SOURCES.intersection(words) and TARGETS.intersection(words)):
        return False
    ordered = separator != ";" and words[0] in SOURCES and words[1] in TARGETS
    ordered = ordered and not any(" " in word.strip() for word in first.split(separator)[:2])
    last = second.rpartition(separator)[2]
    return not ordered or len(words) > 3 or (len(words) == 3 and NUMBER.fullmatch(last.strip().encode()) is None)


def read_spreadsheet(text: TextFile) -> Iterator[Edge]:
    """The links of a table with a heading."""
    lines = text_lines(text)
    start, first = next(lines, (1, ""))
    if SEPARATOR_LINE.fullmatch(first.rstrip("\r\n")):
        start, first = next(lines, (2, ""))
    first = first.rstrip("\r\n")
    separator = _separator(first)
    names = [name.strip() for name in next(_rows(text, iter([first]), separator, start), (start, [""]))[1]]
    places = [names.index(column) for column in choose_columns(str(text.path), names)]
    for line, row in _rows(text, (line for _, line in lines), separator, start + 1):
        if len(row) <= max(places):
            raise BadGraph(f"{text.path}, line {line}: expected {len(names)} columns as in the heading, not {len(row)}")
        source, target, *weight = (row[place].strip() for place in places)
        if weight and separator == ";":
            weight = [weight[0].replace(",", ".", 1)]
        yield Edge(line, source, target, weight_of(text, line, weight[0]) if weight else 1.0)


def _rows(text: TextFile, lines: Iterator[str], separator: str, start: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, and the lines where they begin; the first line has the number `start`."""
    rows = csv.reader(lines, delimiter=separator, strict=True)
    line = start
    try:
        for row in rows:
            if row:
                yield line, row
            line = rows.line_num + start
    except csv.Error as wrong:
        raise BadGraph(f"{text.path}, line {line}: {str(wrong).partition(' - ')[0]}") from None


def _separator(heading: str) -> str:
    return max(SEPARATORS, key=heading.count)
