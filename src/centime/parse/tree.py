"""The tree of a page, for XPaths of queries and subscriptions and for CSS selectors.

It is that of XPath's data model: comments and instructions are nodes, entities that the document itself declares are
expanded, and it has the attributes whose defaults the document itself declares. Safe for hostile input: nothing
external is loaded, so the content of external DTDs and entities is missing; the entities of a document that is broken,
or that grow beyond libxml2's limit, are not expanded at all; and MOST_BYTES are parsed. In HTML, names are in lower
case and have no namespaces. A process that bounds its own time and memory parses whole pages (`whole_tree_of`).
"""

import codecs
from typing import Any

from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8

MOST_BYTES = 10 << 20
MOST_DEPTH = 2_048  # of a whole tree: the bound of libxml2
_MOST_ERRORS = 100  # that libxml2 reports; it omits later ones
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # WHATWG does not know UTF-32
_LIMITS = (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING)
_DEEPEST = etree.XPath(f"boolean({'/*' * MOST_DEPTH})")


class _Nothing(etree.Resolver):  # type: ignore[misc]  # lxml has no types
    """Answers that everything external is empty: libxml2 would read files."""

    def resolve(self, system_url: str | None, public_id: str | None, context: Any) -> Any:
        return self.resolve_string(b"", context)


def tree_of(body: bytes, kind: PageKind, encoding: str) -> Any:
    """The root element of an HTML or XML page, or None."""
    return _parsed(body[:MOST_BYTES], kind, encoding, huge=False)[0]


def whole_tree_of(body: bytes, kind: PageKind, encoding: str) -> tuple[Any, str]:
    """The root element of a whole page, or None; and a sentence about its missing parts, if any."""
    root, errors, expanded = _parsed(body, kind, encoding, huge=True)
    limit = next((one.message.strip() for one in errors if one.type in _LIMITS), "")
    if limit or (root is not None and len(errors) >= _MOST_ERRORS and _DEEPEST(root)):
        return root, f"only a part of it was examined ({limit or f'it is deeper than {MOST_DEPTH} levels'})"
    if kind is PageKind.XML and len(errors) >= _MOST_ERRORS and b"<!ENTITY" in body:
        return (
            root,
            f"only a part of it may have been examined (behind {_MOST_ERRORS} errors, the limit of entities is hidden)",
        )
    return (
        root,
        "" if expanded else "its entities are not expanded, because it is broken or beyond a limit of the parser",
    )


def _parsed(body: bytes, kind: PageKind, encoding: str, *, huge: bool) -> tuple[Any, Any, bool]:
    """The root element, or None, the errors, and whether entities that the page declares are expanded."""
    safe: dict[str, Any] = {"no_network": True, "recover": True, "huge_tree": huge}
    if body.startswith(_WIDE_MARKS):
        body = body.decode("utf-32", "replace").encode("utf-8", "replace")
        safe["encoding"] = "utf-8"
    elif encoding:
        body, _ = as_utf8(body, f"text/plain; charset={encoding}", xml=True)
        safe["encoding"] = "utf-8"  # regardless of the declaration of the page
    if kind is PageKind.HTML:
        return *_read(body, etree.HTMLParser(**safe)), True
    safe["attribute_defaults"] = b"<!ATTLIST" in body
    if b"<!ENTITY" in body:  # only without huge trees is there a limit of growth; behind an error nothing is expanded
        root, errors = _read(body, etree.XMLParser(resolve_entities=True, **(safe | {"huge_tree": False})))
        if not errors.filter_from_fatals():
            return root, errors, True
    root, errors = _read(body, etree.XMLParser(resolve_entities=False, **safe))
    return root, errors, b"<!ENTITY" not in body


def _read(body: bytes, parser: Any) -> tuple[Any, Any]:
    """The root element, or None, and the errors."""
    parser.resolvers.add(_Nothing())
    try:
        root = etree.fromstring(body, parser)
    except (etree.LxmlError, ValueError, LookupError):
        return None, parser.error_log
    if root is not None:
        _forget_identifiers(root.getroottree().docinfo)
    return root, parser.error_log


def _forget_identifiers(about: Any) -> None:
    """Makes libxml2 write a tree unchanged: by the identifiers of XHTML it would add attributes and a `meta`. What
    the document type declares stays, because references to entities lead to it.
    """
    if about.public_id or about.system_url:
        about.public_id = about.system_url = None
