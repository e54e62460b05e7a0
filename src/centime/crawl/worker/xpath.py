"""Evaluates the XPaths of subscriptions in a page: gives a hash of what they find, and its text for people.

The work is bounded and safe (`parse/tree.py`), and the first MOST_FOUND results count. A running evaluation cannot be
stopped. So, before a subscription is accepted, `check_pace` tries its XPath on generated pages of growing size, and
refuses it if it takes too long. A page in which an XPath cannot be evaluated gives no result for it.

In HTML, names are in lower case and have no namespaces. In XML, names have namespaces: `//*[local-name()='price']`
finds elements in any namespace.
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
from centime.parse.tree import tree_of
from centime.shard.people.notices import MOST_TEXT
from centime.shard.people.subscriptions import Subscription, Watched

MOST_FOUND = 1_000
LONGEST_XPATH = 1_000
MOST_SECONDS = 0.25
MOST_DEPTH = 12  # of a generated page
MOST_ELEMENTS = 16_384  # of a generated page
MOST_NESTED = 4  # conditions in each other: each can visit the whole page again, which takes n^5 steps

_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NO_BRACKET = re.compile(r"""'[^']*'|"[^"]*"|[^][]""")  # everything but the brackets of conditions


def check_xpath(text: str, root: Any = None) -> None:
    """Refuses an XPath that cannot be evaluated."""
    if len(text) > LONGEST_XPATH:
        raise BadSetting(f"an XPath has at most {LONGEST_XPATH} characters, not {len(text)}")
    try:
        _compiled(text)(etree.Element("html") if root is None else root)
    except (etree.XPathError, ValueError, TypeError) as error:
        raise BadSetting(f"{text!r} is not an XPath (1.0, without prefixes and variables): {error}") from error


def check_pace(text: str) -> None:
    """Refuses an XPath that takes too long on a large page. The generated pages use the names in the XPath."""
    if (depth := _nested(text)) > MOST_NESTED:
        raise BadSetting(f"conditions of an XPath are nested at most {MOST_NESTED} deep, not {depth}: {text!r}")
    names = list(dict.fromkeys(_NAMES.findall(text))) or ["a"]
    size = 1
    while size < MOST_ELEMENTS:
        # growing by half, n^5 steps become 8 times as many: the check itself never takes long
        size = min(size + (size + 1) // 2, MOST_ELEMENTS)
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
    """The depth to which conditions are nested."""
    depth = deepest = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket == "[" else -1
        deepest = max(deepest, depth)
    return deepest


def watched(body: bytes, kind: PageKind, encoding: str, subscriptions: Sequence[Subscription]) -> list[Watched]:
    """For each subscription with an XPath: its name, the hash of what the XPath finds in the body, and its text.

    The caller passes the subscriptions that match the page's URL. If an XPath finds nothing, that has a hash too, so
    the disappearance of something is a change.
    """
    with_xpath = [one for one in subscriptions if one.xpath]
    if not with_xpath or kind not in (PageKind.HTML, PageKind.XML):
        return []
    root = tree_of(body, kind, encoding)
    if root is None:
        return []
    found = []
    for one in with_xpath:
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


def _pieces(result: Any) -> list[str]:
    """The results of an XPath as texts with normalised white space: all text of an element, the value of others."""
    if not isinstance(result, list):
        return [_normalised(str(result))]
    return [_normalised(piece if isinstance(piece, str) else _text_of(piece)) for piece in result[:MOST_FOUND]]


def _text_of(node: Any) -> str:
    if isinstance(node, tuple):  # a namespace
        return str(node)
    return "".join(node.itertext())


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))
