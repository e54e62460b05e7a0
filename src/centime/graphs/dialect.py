"""The dialect of an edge list, detected from its first two lines that are neither empty nor comments.

1. If the first line starts with two numbers, pages are numbers.
2. If the first line has no number among its first two fields and the second line starts with two numbers, the first
   line is a heading and pages are numbers.
3. Otherwise pages are names. The first line is a heading only if it has the usual words, as in `source target`,
   `from,to` or `Src Dst weight`.

Tabs separate names if the line has a tab. Otherwise commas do, if the file name ends in `.csv`, if the line has no
blanks, or if blanks occur only after commas. Otherwise blanks do. A third field is a weight. A comment that Centime
writes before the first link, `# centime: names, 12 pages` or `# centime: numbers, 12 pages`, replaces the rules.

Trap: in a list of named pages whose second link is between two numbers, rule 2 takes the first link for a heading.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from centime.graphs.fields import COMMA, SPACE, TAB
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

NUMBER = re.compile(rb"[-+]?\.?[0-9][-+.0-9eE]*")
SOURCES = {b"source", b"src", b"from", b"start", b"referring"}
TARGETS = {b"target", b"tgt", b"dst", b"destination", b"to", b"end"}
BETWEEN_WORDS = re.compile(rb"[\s_-]+")
WHAT_IT_NAMES = re.compile(rb"^(?:ur[il]|page)(?=.)|(?<=.)(?:node|page|vertex)?(?:id|ur[il])?$")
MARK = re.compile(rb"# centime: (names|numbers)(?: from ([0-9]))?, ([0-9]{1,10}) pages")


@dataclass(frozen=True, slots=True)
class Line:
    """A line, its number and its byte offset."""

    number: int
    start: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to parse the lines of an edge list, and the byte offset of the first link."""

    named: bool
    weighted: bool
    separator: int
    start: int
    pages: int | None
    first: int = 0


def mark(pages: int, *, named: bool, first: int = 0) -> bytes:
    """The comment that states whether pages are names or numbers and how many there are, so a reader need not guess."""
    kind = b"names" if named else b"numbers from %d" % first if first else b"numbers"
    return b"# centime: %s, %d pages\n" % (kind, pages)


def dialect_of(path: Path) -> Dialect:
    """Detects the dialect of a file."""
    marked: re.Match[bytes] | None = None
    found: list[Line] = []
    at = 0
    for number, line in enumerate(TextFile(path).lines(), 1):
        content = line.strip(b" \t\r\n")
        if content[:1] in (b"#", b"%"):
            marked = MARK.fullmatch(content) if not found and marked is None else marked
        elif content:
            found.append(Line(number, at, content))
            if len(found) == 2:
                break
        at += len(line)
    named, heading, pages, numbered = False, False, None, 0
    csv = path.name.lower().endswith((".csv", ".csv.gz", ".csv.zst"))
    if marked:
        named, pages, numbered = marked[1] == b"names", int(marked[3]), int(marked[2] or 0)
        heading = bool(found) and csv and _is_heading(found[0].text)
    elif found:
        named, heading = _guess(found, csv)
    links = found[1:] if heading else found
    if not links:
        if pages is None:
            raise BadGraph(f"{path}: the file has no links")
        return Dialect(named, False, SPACE, at, pages, numbered)
    first = links[0]
    separator = _separator(first.text, csv) if named else SPACE
    fields = _fields(first.text, separator) if named else re.split(rb"[ \t]*[ \t,][ \t]*", first.text)
    if len(fields) not in (2, 3):
        raise BadGraph(f"{path}, line {first.number}: expected a link: two pages and, optionally, a weight")
    return Dialect(named, len(fields) == 3, separator, first.start, pages, numbered)


def _guess(found: list[Line], csv: bool) -> tuple[bool, bool]:
    """Whether pages are names, and whether the first line is a heading."""
    if _numeric(found[0].text):
        return False, False
    words = _fields(found[0].text, _separator(found[0].text, csv))[:2]
    if len(found) == 2 and _numeric(found[1].text) and not any(NUMBER.match(word) for word in words):
        return False, True
    return True, _is_heading(found[0].text)


def heading_word(name: bytes) -> bytes:
    """The word of a heading and nothing else: `source` for "Source URL", `from` for `fromNodeId` and `url_from`."""
    return WHAT_IT_NAMES.sub(b"", BETWEEN_WORDS.sub(b"", name.strip(b' "').lower()))


def _is_heading(line: bytes) -> bool:
    words = [heading_word(word) for word in re.split(rb"[ \t,]+", line)]
    return len(words) in (2, 3) and words[0] in SOURCES and words[1] in TARGETS


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
