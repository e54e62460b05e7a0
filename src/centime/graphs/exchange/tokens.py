"""The words of a text file that is not made of lines: GML and DOT.

A pattern with named groups finds a token at a place: `text` (in double quotes, over several lines at most), `word`,
`sign`, and `skip` for blanks and comments that end in their line. `/*` begins a comment that ends with `*/`, if the
pattern has the group `comment`.

Guaranteed: text that no group matches, and a text or comment that is not closed, is BadGraph with its line. Memory: one
line, or a text of at most MOST_LINES lines.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from centime.graphs.exchange.named_links import text_lines
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

MOST_LINES = 256


class Token(NamedTuple):
    """A token and the line on which it ends."""

    line: int
    kind: str
    word: str

    @property
    def is_name(self) -> bool:
        """Whether it is a word or a text in quotes, not a sign."""
        return self.kind != "sign"


def refuse(text: TextFile, line: int, reason: str) -> NoReturn:
    """Raises BadGraph with the line."""
    raise BadGraph(f"{text.path}, line {line}: {reason}")


def read_tokens(text: TextFile, pattern: re.Pattern[str]) -> Iterator[Token]:
    """The tokens of a file in their order."""
    held, since, in_comment, number = "", 0, False, 0
    for number, line in text_lines(text):
        rest = held + line
        if held and number - since > MOST_LINES:
            refuse(text, since, f"a text in quotes has more than {MOST_LINES} lines")
        first = since if held else number
        held, place = "", 0
        while place < len(rest):
            if in_comment:
                end = rest.find("*/", place)
                if end < 0:
                    break
                in_comment, place = False, end + 2
                continue
            found = pattern.match(rest, place)
            if found is None:
                if rest[place] != '"':
                    refuse(text, number, f"unexpected {rest[place]!r}")
                held, since = rest[place:], number if place else first
                break
            place = found.end()
            kind = found.lastgroup or ""
            if kind == "comment":
                in_comment, since = True, number
            elif kind != "skip":
                yield Token(number, kind, found[kind])
    if held or in_comment:
        refuse(text, since, "a text in quotes is not closed" if held else "a comment is not closed")
