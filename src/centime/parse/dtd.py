"""Document types: what an XML document or a DTD refers to outside itself.

Declarations are read by pattern, never carried out: entities are not expanded, nothing is fetched, and the parser of
XML never sees a document type at all. That is why entity bombs are harmless here. All patterns are possessive: linear
time.
"""

import re
from dataclasses import dataclass

import xxhash

from centime.model.document import EMBEDDED, Document
from centime.model.outcome import PageKind
from centime.parse.gathering import Gathering

_LITERAL = rb"(?:\"([^\"]*+)\"|'([^']*+)')"
_PROLOGUE = rb"(?:\s++|<!--(?:[^-]++|-(?!->))*+-->|<\?(?:[^?]++|\?(?!>))*+\?>)*+"
_EXTERNAL = rb"(?:SYSTEM|PUBLIC\s++(?:\"[^\"]*+\"|'[^']*+'))\s++" + _LITERAL
_DOCTYPE = re.compile(
    _PROLOGUE + rb"(<!DOCTYPE\s++[^\s>\[]++\s*+(?:" + _EXTERNAL + rb"|PUBLIC\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+)",
    re.IGNORECASE,
)
_SUBSET = re.compile(
    rb"\[(?:[^\]\"'<]++|\"[^\"]*+\"|'[^']*+'|<!--(?:[^-]++|-(?!->))*+(?:-->|\Z)|<\?(?:[^?]++|\?(?!>))*+(?:\?>|\Z)|<)*+\]\s*+>"
)
_COMMENT = re.compile(rb"<!--(?:[^-]++|-(?!->))*+(?:-->)?+")
_ENTITY = re.compile(rb"<!(?:ENTITY\s++(?:%\s++)?+|NOTATION\s++)[^\s>]++\s++" + _EXTERNAL)


@dataclass(frozen=True, slots=True)
class DocumentType:
    """Where the document type of a document stands, its system identifier, and those of the entities it declares."""

    start: int = 0
    end: int = 0
    system: str = ""
    entities: tuple[str, ...] = ()


def document_type_of(text: bytes) -> DocumentType:
    """The document type at the beginning of an XML document; an empty one without."""
    found = _DOCTYPE.match(text)
    if found is None:
        return DocumentType()
    start, at = found.start(1), found.end(1)
    system = _literal(found[2], found[3])
    subset = _SUBSET.match(text, at)
    if subset is not None:
        return DocumentType(start, subset.end(), system, external_entities(subset[0]))
    end = text.find(b">", at) + 1
    return DocumentType(start, end or len(text), system)


def external_entities(declarations: bytes) -> tuple[str, ...]:
    """The system identifiers of the entities that a DTD declares, each once, in their order."""
    plain = _COMMENT.sub(b"", declarations)
    return tuple(dict.fromkeys(_literal(found[1], found[2]) for found in _ENTITY.finditer(plain)))


def read_dtd(
    text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = ""
) -> Document:
    """The document of a DTD: the external entities it names, and a signature without comments and white space."""
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
    """What stands between quotes of either kind."""
    return (double or single or b"").decode("utf-8", "replace").strip()
