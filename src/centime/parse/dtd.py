"""Document types: the external resources that an XML document or a DTD refers to.

Regular expressions find the declarations; nothing interprets them. Entities are not expanded, nothing is fetched, and
the XML parser never sees a document type at all, so entity bombs are harmless. No pattern backtracks, so the time is
linear.
"""

import re
from dataclasses import dataclass

import xxhash

from centime.model.document import EMBEDDED, Document
from centime.model.outcome import PageKind
from centime.model.prologue import behind_misc, behind_subset
from centime.parse.gathering import Gathering

_LITERAL = rb"(?:\"([^\"]*+)\"|'([^']*+)')"
_EXTERNAL = rb"(?:SYSTEM|PUBLIC\s++(?:\"[^\"]*+\"|'[^']*+'))\s++" + _LITERAL
_DOCTYPE = re.compile(
    rb"<!DOCTYPE\s++[^\s>\[]++\s*+(?:" + _EXTERNAL + rb"|PUBLIC\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+", re.IGNORECASE
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_ENTITY = re.compile(rb"<!(?:ENTITY\s++(?:%\s++)?|NOTATION\s++)[^\s>]++\s++" + _EXTERNAL)


@dataclass(frozen=True, slots=True)
class DocumentType:
    """The place of a document type, its system identifier, and the system identifiers of its entities."""

    start: int = 0
    end: int = 0
    system: str = ""
    entities: tuple[str, ...] = ()


def document_type_of(text: bytes) -> DocumentType:
    """The document type at the beginning of an XML document; an empty one if there is none."""
    start = behind_misc(text)
    found = _DOCTYPE.match(text, start)
    if found is None:
        return DocumentType()
    at = found.end()
    system = _literal(found[1], found[2])
    end = behind_subset(text, at)
    if end > 0:
        return DocumentType(start, end, system, external_entities(text[at:end]))
    end = text.find(b">", at) + 1
    return DocumentType(start, end or len(text), system)


def external_entities(declarations: bytes) -> tuple[str, ...]:
    """The system identifiers of the entities that a DTD declares, each once, in document order."""
    plain = _COMMENT.sub(b"", declarations)
    return tuple(dict.fromkeys(_literal(found[1], found[2]) for found in _ENTITY.finditer(plain)))


def read_dtd(
    text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = ""
) -> Document:
    """The document of a DTD: its external entities as links, and a signature that ignores comments and white space."""
    links = Gathering()
    for system in external_entities(text):
        links.add(system, EMBEDDED)
    return Document(
        kind=PageKind.DTD,
        encoding=encoding,
        base=url,
        hrefs=links.hrefs,
        flags=links.flags,
        anchors=links.anchors if anchors else (),
        links_found=links.found,
        signature=xxhash.xxh3_64_intdigest(b" ".join(_COMMENT.sub(b"", text).split())),
        digest=digest,
        trouble=trouble,
    )


def _literal(double: bytes | None, single: bytes | None) -> str:
    """The text between double or single quotes."""
    return (double or single or b"").decode("utf-8", "replace").strip()
