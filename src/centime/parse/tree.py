"""The tree of a page, for what a person names in it: XPaths of subscriptions, CSS selectors.

Safe on what strangers write: entities are not expanded, nothing is loaded from elsewhere, and MOST_BYTES are parsed. In
HTML, names are in lower case and have no namespaces.
"""

from typing import Any

from lxml import etree

from centime.model.outcome import PageKind

MOST_BYTES = 10 << 20


def tree_of(body: bytes, kind: PageKind, encoding: str) -> Any:
    """The root element of an HTML or XML page, or None."""
    safe: dict[str, Any] = {"no_network": True, "recover": True, "remove_comments": True, "huge_tree": False}
    try:
        if kind is PageKind.HTML:
            return etree.fromstring(body[:MOST_BYTES], etree.HTMLParser(encoding=encoding or None, **safe))
        return etree.fromstring(
            body[:MOST_BYTES], etree.XMLParser(resolve_entities=False, load_dtd=False, dtd_validation=False, **safe)
        )
    except (etree.LxmlError, ValueError, LookupError):
        return None
