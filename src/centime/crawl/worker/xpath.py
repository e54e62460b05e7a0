"""XPaths of subscriptions: a hash of their results in a page, and their text for people.

The work is bounded and safe (`parse/tree.py`), and the first MOST_FOUND results count. A running evaluation cannot be
stopped. So, before a subscription is accepted, `check_pace` tries its XPath on generated pages of growing size, and
refuses it if it takes too long. A page in which an XPath cannot be evaluated gives no result for it.

In HTML, names are in lower case and have no namespaces. In XML, names have namespaces: `//*[local-name()='price']`
finds elements in any namespace.
"""

import re
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import xxhash
from lxml import etree

from centime.crawl.worker.canonical import canonical_forms, normalised
from centime.crawl.worker.timing import quickest
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind

MOST_FOUND = 1_000
LONGEST_XPATH = 1_000
MOST_SECONDS = 1.0  # ordinary XPaths, such as //table//tr/td[2], take up to 0.3 s on a slow machine
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
        # growing by a quarter, n^5 steps become 3 times as many: the check itself never takes long
        size = min(size + (size + 3) // 4, MOST_ELEMENTS)
        root = element = etree.Element("html")
        for number in range(size):
            if number % MOST_DEPTH == 0:
                element = root
            name = names[number % len(names)]
            element = etree.SubElement(element, name, dict.fromkeys(names[:8], "1"))
            element.text = "1"
        if quickest(partial(check_xpath, text, root), MOST_SECONDS) > MOST_SECONDS:
            raise BadSetting(
                f"the XPath {text!r} takes too long: more than {MOST_SECONDS:g} s on a page of {size} elements"
            )


def _nested(text: str) -> int:
    """The depth to which conditions are nested."""
    depth = deepest = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket == "[" else -1
        deepest = max(deepest, depth)
    return deepest


class Found(NamedTuple):
    """The results of an XPath in a page: their texts, and a hash of them."""

    pieces: list[str]
    mark: int


def find(root: Any, xpath: str, kind: PageKind) -> Found | None:
    """The results of an XPath below the root of a page; None if it cannot be evaluated. `root` is None for a page
    without elements. An empty result has a hash too, so the disappearance of something is a change.

    Elements count by their canonical form (`canonical.py`); of their texts, a boundary may be missing.
    """
    if root is None:
        return Found([], _mark([]))
    try:
        result = _compiled(xpath)(root)
        pieces = _pieces(result)
        return Found(pieces, _mark(_counted(result, pieces, kind)))
    except (etree.XPathError, ValueError, TypeError, MemoryError):
        return None


def _mark(pieces: list[str]) -> int:
    text = "\0".join(pieces) if pieces != [""] else "\0\0"  # one empty result is not the same as none
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))


def _counted(result: Any, pieces: list[str], kind: PageKind) -> list[str]:
    """The form of each result that is compared: of elements their canonical form, of others the text."""
    if not isinstance(result, list):
        return pieces
    elements = [one for one in result[:MOST_FOUND] if isinstance(one, etree._Element)]
    forms, inside = canonical_forms(elements, kind)
    forms |= inside
    return [forms.get(one, piece) for one, piece in zip(result, pieces, strict=False)]


@lru_cache(maxsize=1_024)
def _compiled(text: str) -> etree.XPath:
    return etree.XPath(text, regexp=False, smart_strings=False)


def _pieces(result: Any) -> list[str]:
    """The results of an XPath as texts with normalised white space: all text of an element, the value of others."""
    if not isinstance(result, list):
        return [normalised(str(result))]
    return [normalised(piece if isinstance(piece, str) else _text_of(piece)) for piece in result[:MOST_FOUND]]


def _text_of(node: Any) -> str:
    if isinstance(node, tuple):  # a namespace
        return str(node)
    return "".join(texts_of(node))


def texts_of(node: Any) -> Iterable[str]:
    """The texts in an element; that of a processing instruction."""
    return node.itertext() if isinstance(node.tag, str) else [node.text or ""]
