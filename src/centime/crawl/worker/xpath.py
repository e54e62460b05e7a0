"""What the XPaths of subscriptions find in a page: a hash of all of it, and the beginning for people.

Bounded and closed: entities are not expanded, nothing is loaded from anywhere, a body is looked at up to MOST_BYTES,
and of what is found the first MOST_FOUND pieces count. Nothing can stop an evaluation once it has begun, so
`check_pace` tries an XPath on made-up pages that grow, before it is ordered, and refuses one whose time grows faster
than they do. A page in which an XPath cannot be evaluated gives nothing for it.

An XPath is searched in HTML as browsers' pages are (names in lower case, no namespaces); in XML names have their
namespaces, so `//*[local-name()='price']` finds what has one.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import xxhash
from lxml import etree

from centime.crawl.worker.timing import quickest
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.shard.notices import MOST_TEXT
from centime.shard.subscriptions import Subscription, Watched

MOST_BYTES = 10 << 20
MOST_FOUND = 1_000
LONGEST_XPATH = 1_000
MOST_SECONDS = 0.25
MOST_DEPTH = 12  # of a made-up page
MOST_ELEMENTS = 16_384  # likewise
MOST_NESTED = 4  # each may look at all of the page again: n^5 steps

_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BESIDES = re.compile(r"""'[^']*'|"[^"]*"|[^][]""")  # all that is not the bracket of a condition


def check_xpath(text: str, root: Any = None) -> None:
    """Refuses an XPath that cannot be evaluated."""
    if len(text) > LONGEST_XPATH:
        raise BadSetting(f"an XPath has {LONGEST_XPATH} characters at most, not {len(text)}")
    try:
        _compiled(text)(etree.Element("html") if root is None else root)
    except (etree.XPathError, ValueError, TypeError) as error:
        raise BadSetting(f"{text!r} is not an XPath (1.0, without prefixes and variables): {error}") from error


def check_pace(text: str) -> None:
    """Refuses an XPath that takes too long on a page of some size; the made-up pages have the names that it has."""
    if (depth := _nested(text)) > MOST_NESTED:
        raise BadSetting(
            f"conditions of an XPath stand at most {MOST_NESTED} deep in each other, not {depth}: {text!r}"
        )
    names = list(dict.fromkeys(_NAMES.findall(text))) or ["a"]
    size = 1
    while size < MOST_ELEMENTS:
        size = min(
            size + (size + 1) // 2, MOST_ELEMENTS
        )  # by half: n^5 steps become 8 times as many, so the check ends soon
        root = element = etree.Element("html")
        for number in range(size):
            if number % MOST_DEPTH == 0:
                element = root
            name = names[number % len(names)]
            element = etree.SubElement(element, name, dict.fromkeys(names[:8], "1"))
            element.text = "1"
        if quickest(partial(check_xpath, text, root), MOST_SECONDS) > MOST_SECONDS:
            raise BadSetting(
                f"the XPath {text!r} takes too long: more than {MOST_SECONDS} s on a page of {size} elements"
            )


def _nested(text: str) -> int:
    """How deep conditions stand in each other."""
    depth = deepest = 0
    for bracket in _BESIDES.sub("", text):
        depth += 1 if bracket == "[" else -1
        deepest = max(deepest, depth)
    return deepest


def watched(body: bytes, kind: PageKind, encoding: str, subscriptions: Sequence[Subscription]) -> list[Watched]:
    """For each subscription with an XPath: its name, the hash of what the XPath finds in the body, and the beginning of
    that.

    The caller gives those that match the page's URL. The hash of nothing found is a hash too: what was there and is no
    longer is a change.
    """
    wanted = [one for one in subscriptions if one.xpath]
    if not wanted or kind not in (PageKind.HTML, PageKind.XML):
        return []
    root = _parsed(body[:MOST_BYTES], kind, encoding)
    if root is None:
        return []
    found = []
    for one in wanted:
        try:
            pieces = _pieces(_compiled(one.xpath)(root))
        except (etree.XPathError, ValueError, TypeError, MemoryError):
            continue
        mark = xxhash.xxh3_64_intdigest("\0".join(pieces).encode("utf-8", "replace"))
        found.append((one.name, mark, " ".join(pieces)[:MOST_TEXT]))
    return found


@lru_cache(maxsize=1_024)
def _compiled(text: str) -> etree.XPath:
    return etree.XPath(text, regexp=False, smart_strings=False)


def _parsed(body: bytes, kind: PageKind, encoding: str) -> Any:
    """The root of a page, None where there is none."""
    safe: dict[str, Any] = {"no_network": True, "recover": True, "remove_comments": True, "huge_tree": False}
    try:
        if kind is PageKind.HTML:
            return etree.fromstring(body, etree.HTMLParser(encoding=encoding or None, **safe))
        return etree.fromstring(
            body, etree.XMLParser(resolve_entities=False, load_dtd=False, dtd_validation=False, **safe)
        )
    except (etree.LxmlError, ValueError, LookupError):
        return None


def _pieces(result: Any) -> list[str]:
    """What an XPath found as texts, white space evened out: elements by all of their text, attributes and others by
    their value.
    """
    if not isinstance(result, list):
        return [_even(str(result))]
    return [_even(piece if isinstance(piece, str) else _text_of(piece)) for piece in result[:MOST_FOUND]]


def _text_of(node: Any) -> str:
    if isinstance(node, tuple):  # a namespace
        return str(node)
    return "".join(node.itertext())


def _even(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))
