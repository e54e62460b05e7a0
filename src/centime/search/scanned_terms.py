"""The terms of documents (`path_terms.py`) without a walk over a parser's tree: one compiled pass (`term_scan.py`).

XML that expat finds well formed, prefixes included, and that has no document type has one tree by XML's information
set. So the pass over its bytes agrees with the parser in whose tree XPaths are evaluated; a test compares the terms of
both. Any other document is left to the process that examines documents. There the tree of HTML is written as XML by
libxml2, which takes a fifth of the time that parsing took, and the same pass reads that.

All passes are linear and expand nothing, so they need no limits.

Traps: of a document type of XHTML, libxml2 writes other elements and attributes than the tree has; it is removed first.
In attributes of HTML it writes what servers include as it was, with quotation marks; for such pages the tree is walked.
"""

import re
from typing import Any
from xml.parsers import expat

import numpy as np
import numpy.typing as npt
from lxml import etree

from centime.parse.encoding import as_utf8
from centime.search.path_terms import EVERYTHING, MOST_TERMS, Terms, hashed, terms_of
from centime.search.term_hashes import TERMS, unique
from centime.search.term_scan import ROOM, SCRATCH_SIZE, STACK_ROWS, scan_terms

MOST_DEPTH = 1_000  # of a document that is read so; the parser has a limit too
_EVERYTHING: Terms = np.array([hashed(EVERYTHING)], dtype=np.uint64)
_RECENT = 1 << 12  # terms that are not added again while they are remembered
_ENTITY = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
_LATER = re.compile(rb"<\?xml\s+version\s*=\s*[\"'](?!1\.0)")


class TermScanner:
    """Makes the terms of one document after the other."""

    def __init__(self) -> None:
        self._stack = np.zeros((STACK_ROWS, MOST_DEPTH + 1), dtype=np.int64)
        self._recent = np.zeros(_RECENT, dtype=np.int64)

    def terms(self, body: bytes, content_type: str = "") -> Terms | None:
        """The hashes of the terms of an XML document, sorted; None if this pass cannot read it."""
        text, _ = as_utf8(body, content_type, xml=True)
        if _is_other(text) or not _is_well_formed(text):
            return None
        found = self._scanned(text, is_html=False)
        return None if found is None else unique(found)

    def terms_of_html(self, root: Any, *, is_whole: bool) -> Terms:
        """The hashes of the terms of a parsed page, sorted; None is one without elements."""
        if root is None:
            return terms_of(None, is_whole=is_whole)
        root.getroottree().docinfo.clear()
        found = self._scanned(etree.tostring(root, encoding="utf-8", with_tail=False), is_html=True)
        if found is None:
            return terms_of(root, is_whole=is_whole)
        terms = unique(found)
        if terms is None or is_whole:
            return _EVERYTHING if terms is None else terms
        return np.union1d(terms, _EVERYTHING) if len(terms) < MOST_TERMS else _EVERYTHING

    def _scanned(self, text: bytes, *, is_html: bool) -> npt.NDArray[np.int64] | None:
        """The terms that the pass finds; None if the document has something that the pass does not know."""
        data = np.empty(len(text) + ROOM, dtype=np.uint8)
        data[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        data[len(text) :] = 0
        found = np.empty(7 * text.count(b"<") + 5 * text.count(b"=") + 1, dtype=np.int64)
        scratch = np.zeros(SCRATCH_SIZE, dtype=np.int64)
        self._recent.fill(-1)
        is_known = scan_terms(data, len(text), is_html, self._stack, self._recent, found, scratch)
        return found[: scratch[TERMS]] if is_known else None


def _is_other(text: bytes) -> bool:
    """Whether a document has a document type, names an entity, or is of a later version of XML."""
    if b"<!DOCTYPE" in text or _LATER.match(text) is not None:
        return True
    return b"&" in text and _ENTITY.search(text) is not None


def _is_well_formed(text: bytes) -> bool:
    """Whether a document in UTF-8 is well formed, and every prefix in it is declared."""
    parser = expat.ParserCreate("utf-8", " ")
    try:
        parser.Parse(text, True)
    except expat.ExpatError:
        return False
    return True
