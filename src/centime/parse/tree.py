"""The tree of a page, for what a person names in it: XPaths of subscriptions, CSS selectors.

Safe on what strangers write: entities are not expanded, nothing is loaded from elsewhere, and MOST_BYTES are parsed. In
HTML, names are in lower case and have no namespaces. A process that bounds its own time and memory parses whole
pages (`whole_tree_of`).
"""

import codecs
from typing import Any

from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8

MOST_BYTES = 10 << 20
MOST_DEPTH = 2_048  # of a whole tree: what libxml2 bounds it to
_MOST_ERRORS = 100  # that libxml2 tells; it keeps silent about later ones
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # only the parser knows UTF-32
_LIMITS = (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING)
_DEEPEST = etree.XPath(f"boolean({'/*' * MOST_DEPTH})")


def tree_of(body: bytes, kind: PageKind, encoding: str) -> Any:
    """The root element of an HTML or XML page, or None."""
    return _parsed(body[:MOST_BYTES], kind, encoding, huge=False)[0]


def whole_tree_of(body: bytes, kind: PageKind, encoding: str) -> tuple[Any, str]:
    """The root element of a whole page, or None; and what of the page is missing in it, if something is."""
    root, errors = _parsed(body, kind, encoding, huge=True)
    limit = next((one.message.strip() for one in errors if one.type in _LIMITS), "")
    if limit or (root is not None and len(errors) >= _MOST_ERRORS and _DEEPEST(root)):
        return root, f"only a part of it was examined ({limit or f'it is deeper than {MOST_DEPTH} levels'})"
    if kind is PageKind.XML and len(errors) >= _MOST_ERRORS and b"<!ENTITY" in body:
        return (
            root,
            f"only a part of it may have been examined (behind {_MOST_ERRORS} errors, the limit of entities is hidden)",
        )
    return root, ""


def _parsed(body: bytes, kind: PageKind, encoding: str, *, huge: bool) -> tuple[Any, Any]:
    """The root element, or None, and the errors."""
    safe: dict[str, Any] = {"no_network": True, "recover": True, "remove_comments": True, "huge_tree": huge}
    if encoding and not body.startswith(_WIDE_MARKS):
        body, _ = as_utf8(body, f"text/plain; charset={encoding}", xml=True)
        safe["encoding"] = "utf-8"  # whatever the page declares
    if kind is PageKind.HTML:
        parser = etree.HTMLParser(**safe)
    else:
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, dtd_validation=False, **safe)
    try:
        return etree.fromstring(body, parser), parser.error_log
    except (etree.LxmlError, ValueError, LookupError):
        return None, parser.error_log
