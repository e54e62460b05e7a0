"""Facts and tables as lines that fit the terminal. The value that identifies a row is never shortened.

A table that is too wide is narrowed in this order: empty columns are always left out; words of headings go below each
other; what identifies a row (its URL, host or name) gets a line of its own above the other columns; long texts are
wrapped in their columns; the row becomes lines of names and values. A URL that is longer than the terminal is wide is
one line all the same, so that it can be selected: the terminal folds it.

A text that is longer than MOST_PADDED moves what follows it in its own line and in no other: in a pipe, one URL of
3 000 characters would put as many blanks into every line.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from centime.cli.figure import UNITS, label, shown

Rows = Sequence[Mapping[str, object]]
Line = tuple[str, str]  # text and style

IDENTITIES = ("url", "page", "host", "link", "name", "setting", "budget")
BETWEEN = "  "
LEAST_TEXT = 12  # characters of a column in which texts are wrapped
MOST_PADDED = 160  # characters to which the texts of a column are padded
NOTHING = ("", "-")  # how a value that is not there is shown
AMOUNT = re.compile(rf"(\S*\d) ({'|'.join(UNITS)})(?![^\s,;.)])")
HEADING, IDENTITY = "bold", "cyan"


def fact_lines(facts: Mapping[str, object], width: int) -> Iterator[str]:
    """A line for each fact that is not empty; long values continue under themselves."""
    facts = {name: value for name, value in facts.items() if value is None or not _is_empty(value)}
    names = {name: label(name, [value], facts) for name, value in facts.items()}
    room = max(map(_width, names.values()), default=0)
    for name, value in facts.items():
        first, *rest = _wrapped(shown(name, value), max(LEAST_TEXT, width - room - len(BETWEEN)))
        yield f"{_padded(names[name], room)}{BETWEEN}{first}".rstrip()
        yield from (f"{' ' * room}{BETWEEN}{line}" for line in rest)


def table_lines(name: str, rows: Rows, width: int) -> Iterator[Line]:
    """A table under its name."""
    yield label(name), "italic"
    names = list(dict.fromkeys(column for row in rows for column in row))
    kept = [column for column in names if not all(_is_empty(row.get(column)) for row in rows)] or names
    columns = [_Column(column, [row.get(column) for row in rows], names) for column in kept]
    if _wide(columns) <= width:
        yield from _grid(columns)
        return
    for column in columns:
        column.break_heading()
    if _wide(columns) <= width:
        yield from _grid(columns)
        return
    identity = next((one for wanted in IDENTITIES for one in columns if one.name == wanted), columns[0])
    others = [column for column in columns if column is not identity]
    _narrow(others, width - len(BETWEEN))
    if _wide(others) + len(BETWEEN) <= width:
        yield from _grid(others, identity)
    else:
        yield from _records(others, identity, width)


class _Column:
    def __init__(self, name: str, values: list[object], others: Sequence[str]) -> None:
        self.name = name
        self.label = label(name, values, others)
        self.heading = [self.label]
        self.cells = [[shown(name, value)] for value in values]
        self.is_text = any(not isinstance(value, int | float | None) for value in values)
        self.measure()

    def measure(self) -> None:
        """Finds the width of the widest line, and the width to which all lines are padded."""
        widths = [_width(line) for lines in (self.heading, *self.cells) for line in lines]
        self.width = max(widths)
        self.padded = max((width for width in widths if width <= MOST_PADDED), default=0)

    def break_heading(self) -> None:
        """Puts the words of the heading below each other, as far as the cells are not wider."""
        cells = max((_width(line) for lines in self.cells for line in lines), default=0)
        self.heading = textwrap.wrap(self.label, max(cells, 1), break_long_words=False) or [""]
        self.measure()

    def wrap(self, width: int) -> None:
        """Wraps texts."""
        self.cells = [_wrapped(line, width) for (line,) in self.cells]
        self.measure()

    def placed(self, lines: Sequence[str], number: int) -> str:
        """One line of a cell, as wide as the column unless it is too long."""
        text = lines[number] if 0 <= number < len(lines) else ""
        return _padded(text, self.padded, left=self.is_text)


def _narrow(columns: Sequence[_Column], width: int) -> None:
    """Wraps the texts of the widest columns until the table fits, or none can be narrower."""
    while (excess := _wide(columns) - width) > 0:
        texts = [column for column in columns if column.is_text and column.width > LEAST_TEXT]
        if not texts:
            return
        widest = max(texts, key=lambda column: column.width)
        before, widest.cells = widest.width, [[" ".join(lines)] for lines in widest.cells]
        widest.wrap(max(LEAST_TEXT, before - excess))
        if widest.width >= before:
            return  # words that cannot be parted


def _wide(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(BETWEEN) * max(0, len(columns) - 1)


def _grid(columns: Sequence[_Column], identity: _Column | None = None) -> Iterator[Line]:
    indent = "" if identity is None else BETWEEN
    for line in _band(columns, [column.heading for column in columns], bottom=True):
        yield f"{indent}{line}".rstrip(), HEADING
    for number, cells in enumerate(zip_longest(*(column.cells for column in columns))):
        if identity is not None:
            yield identity.cells[number][0], IDENTITY
        for line in _band(columns, list(cells)):
            yield f"{indent}{line}".rstrip(), ""


def _band(columns: Sequence[_Column], cells: Sequence[Sequence[str]], *, bottom: bool = False) -> Iterator[str]:
    """The lines of cells side by side; headings are at the `bottom`."""
    height = max(map(len, cells), default=0)
    for number in range(height):
        pairs = zip(columns, cells, strict=True)
        yield BETWEEN.join(
            column.placed(cell, number - (height - len(cell) if bottom else 0)) for column, cell in pairs
        )


def _records(columns: Sequence[_Column], identity: _Column, width: int) -> Iterator[Line]:
    for number, (line,) in enumerate(identity.cells):
        yield line, IDENTITY
        cells = ((column.label, " ".join(column.cells[number])) for column in columns)
        facts = (f"{name} {cell}" for name, cell in cells if cell not in NOTHING)
        for one in _wrapped(", ".join(facts), width - len(BETWEEN)):
            yield f"{BETWEEN}{one}", ""


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width`, except where one word is longer: words are never split, and a number stays with its
    unit."""
    if _width(text) <= width:
        return [text]
    joined = AMOUNT.sub(_joined_within(width), text)
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False) or [""]
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _joined_within(width: int) -> Callable[[re.Match[str]], str]:
    """Joins a number and its unit, unless they are wider than this together."""
    return lambda found: "\N{NO-BREAK SPACE}".join(found.groups()) if len(found[0]) <= width else found[0]


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int, *, left: bool = True) -> str:
    blanks = " " * (width - _width(text))
    return text + blanks if left else blanks + text
