"""Streams records out of an XML document: the entries of a sitemap or a feed, each with its fields.

Memory is bounded: no tree is built, a field keeps LONGEST_FIELD characters, a record keeps MOST_FIELDS fields, and the
reader stops after the number of records that the caller asked for. The document type is hidden from the parser, so no
entity is ever expanded. A broken document yields the complete records before the damage.

A document with errors is parsed a second time with its ampersands as character references (`model/ampersands.py`). The
errors of the first pass are reported in any case.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

from centime.model.ampersands import by_number

CHUNK = 65_536
LONGEST_FIELD = 4_096
MOST_FIELDS = 64

_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*+(?:\[(?:[^\]\"']++|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>")


@dataclass(slots=True)
class Record:
    """One entry: the name of its element, and its fields in order as (name, text, attributes), without namespaces."""

    name: str
    fields: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def text(self, name: str) -> str:
        """The text of the first field with this name; empty if there is none."""
        return next((text for found, text, _ in self.fields if found == name), "")


@dataclass(slots=True)
class Records:
    """The parsed document: the name of its root, the fields outside records, the records, and what is wrong with it."""

    root: str = ""
    outside: Record = field(default_factory=lambda: Record(""))
    records: list[Record] = field(default_factory=list)
    trouble: str = ""


def read_records(text: bytes, names: Iterable[str], *, most: int) -> Records:
    """The elements with these names, at most `most` of them."""
    wanted = frozenset(names)
    text = _DOCTYPE.sub(b"", text, count=1).replace(b"<!DOCTYPE", b"<!doctype")
    found, stumbled = _read(text, wanted, most)
    if not stumbled or b"\x00" in text[:8]:  # UTF-16 is left as it is
        return found
    escaped = by_number(text)
    if escaped == text:
        return found
    trouble = found.trouble
    found, _ = _read(escaped, wanted, most)
    found.trouble = trouble or found.trouble
    return found


def _read(text: bytes, names: frozenset[str], most: int) -> tuple[Records, bool]:
    """The result of one pass over the text, and whether the parser met an error."""
    reader = _Reader(names)
    found = reader.found
    parser = etree.XMLParser(target=reader, recover=True, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        for at in range(0, len(text), CHUNK):
            parser.feed(text[at : at + CHUNK])
            if len(found.records) >= most:
                if len(found.records) > most or at + CHUNK < len(text):
                    found.trouble = f"Only the first {most} entries were read."
                del found.records[most:]
                break
            if len(parser.feed_error_log) > 1_000:
                break
        else:
            parser.close()
    except (etree.LxmlError, ValueError, AssertionError) as error:
        found.trouble = f"The XML is broken: {error}."
        return found, True
    errors = [error for error in parser.feed_error_log if error.type_name != "ERR_UNDECLARED_ENTITY"]
    if errors and not found.trouble:
        found.trouble = f"The XML is broken in line {errors[0].line}: {errors[0].message}."
    return found, bool(parser.feed_error_log)


class _Reader:
    """Builds records from the parser's events."""

    def __init__(self, names: frozenset[str]) -> None:
        self.found = Records()
        self._names = names
        self._open: Record | None = None
        self._depth = 0  # inside the open record
        self._text: list[str] = []
        self._length = 0
        self._attributes: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        name = tag.rpartition("}")[2]
        if not self.found.root:
            self.found.root = name
        if self._open is not None:
            self._depth += 1
        elif name in self._names:
            self._open, self._depth = Record(name), 0
        self._text, self._length = [], 0
        self._attributes = {name: value.replace("&#38;", "&") for name, value in attributes.items()}

    def data(self, data: str) -> None:
        """More text of an element."""
        if self._length < LONGEST_FIELD:
            self._text.append(data[: LONGEST_FIELD - self._length])
            self._length += len(data)

    def end(self, tag: str) -> None:
        """An element ends."""
        record = self._open
        if record is not None and self._depth == 0:
            self.found.records.append(record)
            self._open = None
        else:
            into = record if record is not None else self.found.outside
            if len(into.fields) < MOST_FIELDS:
                into.fields.append((tag.rpartition("}")[2], "".join(self._text).strip(), self._attributes))
            if record is not None:
                self._depth -= 1
        self._text, self._length, self._attributes = [], 0, {}

    def close(self) -> None:
        """The document ends."""
