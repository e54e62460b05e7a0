"""The dialect of an edge list, told from its first two lines that are neither empty nor comments.

1. The first line starts with two numbers: pages are numbers.
2. The first line has no number among its first two fields and the second line starts with two: the first is a heading, pages are numbers.
3. Otherwise pages are names, and the first line is a heading only if it says so, as in `source target`, `from,to` or `Src Dst weight`.

Names are separated by tabs if there is one in the line; else by commas, if the file is named `.csv`, if there are no blanks,
or if blanks stand only after commas; else by blanks. A third field is a weight.
Trap: a list of named pages whose second link is between two numbers loses its first link to rule 2.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from centime.model.errors import BadGraph
from centime.rank.fields import COMMA, SPACE, TAB
from centime.rank.packed import line_blocks

NUMBER = re.compile(rb"[-+]?\.?[0-9][-+.0-9eE]*")
SOURCES = {b"source", b"src", b"from", b"start", b"fromnode", b"fromnodeid", b"from_node", b"source_id", b"sourceid"}
TARGETS = {b"target", b"tgt", b"dst", b"destination", b"to", b"end", b"tonode", b"tonodeid", b"to_node", b"target_id", b"targetid"}
PAGES = re.compile(rb"# centime: pages ([0-9]{1,10})\s*")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the lines of an edge list are to be read, and the byte where links start."""

    named: bool
    weighted: bool
    separator: int
    start: int
    pages: int | None


def pages_comment(pages: int) -> bytes:
    """The comment that tells a reader how many pages there are, so that those without links are not lost."""
    return b"# centime: pages %d\n" % pages


def dialect_of(path: Path) -> Dialect:
    """The dialect of a file."""
    csv = path.name.lower().endswith((".csv", ".csv.gz", ".csv.zst"))
    pages: int | None = None
    found: list[tuple[int, int, bytes]] = []
    at = 0
    for number, line in enumerate(_lines(path), 1):
        content = line.strip(b" \t\r\n")
        if content[:1] in (b"#", b"%"):
            told = PAGES.fullmatch(content) if not found else None
            pages = int(told[1]) if told else pages
        elif content:
            found.append((number, at, content))
            if len(found) == 2:
                break
        at += len(line)
    if not found:
        if pages is not None:
            return Dialect(False, False, SPACE, at, pages)
        raise BadGraph(f"{path}: there is no link in the file")
    return _told_by(found, csv, pages, at, path)


def _told_by(found: list[tuple[int, int, bytes]], csv: bool, pages: int | None, end: int, path: Path) -> Dialect:
    heading = False
    named = not _numeric(found[0][2])
    if named:
        words = _fields(found[0][2], _separator(found[0][2], csv))[:2]
        if len(found) == 2 and _numeric(found[1][2]) and not any(NUMBER.match(word) for word in words):
            heading, named = True, False
        else:
            heading = len(words) == 2 and words[0].strip(b'"').lower() in SOURCES and words[1].strip(b'"').lower() in TARGETS
    links = found[1:] if heading else found
    if not links:
        if pages is not None:
            return Dialect(False, False, SPACE, end, pages)
        raise BadGraph(f"{path}: there is no link in the file")
    number, start, line = links[0]
    separator = _separator(line, csv) if named else SPACE
    fields = _fields(line, separator) if named else re.split(rb"[ \t]*[ \t,][ \t]*", line)
    if len(fields) not in (2, 3):
        raise BadGraph(f"{path}, line {number}: expected a link: two pages, and a weight or nothing after them")
    return Dialect(named, len(fields) == 3, separator, start, pages)


def _numeric(line: bytes) -> bool:
    fields = re.split(rb"[ \t,]+", line)
    return len(fields) >= 2 and all(NUMBER.fullmatch(field) for field in fields[:2])


def _separator(line: bytes, csv: bool) -> int:
    if b"\t" in line:
        return TAB
    if csv or b" " not in line or (b", " in line and b" " not in line.replace(b", ", b",")):
        return COMMA
    return SPACE


def _fields(line: bytes, separator: int) -> list[bytes]:
    if separator == SPACE:
        return line.split()
    if separator == TAB:
        return [field.strip() for field in line.split(b"\t")]
    return re.findall(rb'(?:^|,)[ ]*("(?:[^"]|"")*"|[^,]*)', line)


def _lines(path: Path) -> Iterator[bytes]:
    for block in line_blocks(path):
        yield from BytesIO(block.tobytes())
