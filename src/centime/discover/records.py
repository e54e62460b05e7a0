"""Streams records out of an XML document: the entries of a sitemap or a feed, each with its fields.

Memory is bounded: no tree is built, a field keeps LONGEST_FIELD characters, a record keeps MOST_FIELDS fields, all of
them keep MOST_FIELDS_IN_ALL, and the reader stops after the number of records that the caller requested; `trouble` says
what was left out. The document type is hidden from the parser, so no entity is ever expanded. A broken document yields
the complete records, and the complete fields of the records whose end is missing.

Trap: libxml2 must get all of a document at once. When it is fed piece by piece, it looks for the end of every tag in
advance, and tags without end take quadratic time.

A document with errors is parsed a second time with its ampersands as character references (`model/ampersands.py`). The
errors of the first pass are reported in any case.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from centime.model.ampersands import by_number
from centime.model.prologue import behind_subset

LONGEST_FIELD = 4_096
MOST_FIELDS = 256
MOST_FIELDS_IN_ALL = 1_000_000

_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*+")


class Field(NamedTuple):
    """One element of an entry, without namespaces; `own` if it is a child of the entry and not deeper."""

    name: str
    text: str
    attributes: dict[str, str]
    own: bool


@dataclass(slots=True)
class Record:
    """One entry: the name of its element, and its fields in order."""

    name: str
    fields: list[Field] = field(default_factory=list)

    def text(self, name: str) -> str:
        """The text of the first field with this name; empty if there is none."""
        return next((one.text for one in self.fields if one.name == name), "")

    def texts(self, name: str) -> list[str]:
        """The texts of all children with this name that are not empty."""
        return [one.text for one in self.fields if one.own and one.name == name and one.text]


@dataclass(slots=True)
class Records:
    """The parsed document: the name of its root, the fields outside records, the records, and what is wrong with it."""

    root: str = ""
    outside: Record = field(default_factory=lambda: Record(""))
    records: list[Record] = field(default_factory=list)
    trouble: str = ""


def _without_doctype(text: bytes) -> bytes:
    """The text without its first document type, if that is closed."""
    kind = _DOCTYPE.search(text)
    if kind is None:
        return text
    end = kind.end() + 1 if text.startswith(b">", kind.end()) else behind_subset(text, kind.end())
    return text[: kind.start()] + text[end:] if end > 0 else text


def read_records(text: bytes, names: Iterable[str], *, most: int) -> Records:
    """The elements with these names, at most `most` of them."""
    wanted = frozenset(names)
    text = _without_doctype(text)
    text = text.replace(b"<!DOCTYPE", b"<!doctype")
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
    reader = _Reader(names, most)
    found = reader.found
    parser = etree.XMLParser(target=reader, recover=True, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        etree.fromstring(text, parser)
    except _Enough:
        found.trouble = f"Only the first {most} entries were read."
    except (etree.LxmlError, ValueError, AssertionError) as error:
        reader.finish()
        found.trouble = f"The XML is broken: {error}."
        return found, True
    reader.finish()
    errors = [error for error in parser.error_log if error.type_name != "ERR_UNDECLARED_ENTITY"]
    if errors and not found.trouble:
        found.trouble = f"The XML is broken in line {errors[0].line}: {errors[0].message.strip()}."
    return found, bool(parser.error_log)


class _Enough(Exception):
    """There are as many records as requested; it ends the parser and never leaves this module."""


class _Reader:
    """Builds records from the parser's events."""

    def __init__(self, names: frozenset[str], most: int) -> None:
        self.found = Records()
        self._names = names
        self._most = most
        self._open: Record | None = None
        self._depth = 0  # inside the open record
        self._kept = 0  # fields
        self._text: list[str] = []
        self._length = 0
        self._attributes: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handles the beginning of an element."""
        name = tag.rpartition("}")[2]
        if not self.found.root:
            self.found.root = name
        if self._open is not None and name == self._open.name:
            self.finish()  # entries are not nested: the end of this one is missing
        if self._open is not None:
            self._depth += 1
        elif name in self._names:
            if len(self.found.records) == self._most:
                raise _Enough
            self._open, self._depth = Record(name), 0
        self._text, self._length = [], 0
        self._attributes = {name: value.replace("&#38;", "&") for name, value in attributes.items()}

    def data(self, data: str) -> None:
        """More text of an element."""
        if self._length < LONGEST_FIELD:
            self._text.append(data[: LONGEST_FIELD - self._length])
            self._length += len(data)

    def end(self, tag: str) -> None:
        """Handles the end of an element."""
        record = self._open
        if record is not None and self._depth == 0:
            self.found.records.append(record)
            self._open = None
        else:
            into = record if record is not None else self.found.outside
            if len(into.fields) < MOST_FIELDS and self._kept < MOST_FIELDS_IN_ALL:
                text = "".join(self._text).strip()
                into.fields.append(Field(tag.rpartition("}")[2], text, self._attributes, self._depth == 1))
                self._kept += 1
            elif record is not None:
                self.found.trouble = f"Only the first {MOST_FIELDS} fields of an entry were read."
            if record is not None:
                self._depth -= 1
        self._text, self._length, self._attributes = [], 0, {}

    def close(self) -> None:
        """Handles the end of the document."""

    def finish(self) -> None:
        """Keeps the complete fields of an entry that has no end."""
        if self._open is not None and self._open.fields and len(self.found.records) < self._most:
            self.found.records.append(self._open)
        self._open = None
