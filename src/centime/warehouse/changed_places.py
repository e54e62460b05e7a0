"""The elements whose own text differs between two versions of a page, each with a CSS selector that finds it, so that a
person can mark it as important.

The selector is the shortest end of the element's path (`p.price`, `#cart > span`) that no element of another path has.
Only names that CSS takes without escapes are in it.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8
from centime.parse.kind import kind_of
from centime.parse.tree import tree_of
from centime.warehouse.comparison import HTML, XML, Document

MOST_PLACES = 5
MOST_TEXT = 200  # characters
MOST_BYTES = 1 << 20
MOST_DEPTH = 256
MOST_CLASSES = 2  # of an element, in its selector
UNSEEN = frozenset({"script", "style", "template"})
_PLAIN = re.compile("-?[A-Za-z_][A-Za-z0-9_-]{0,99}")

Path = tuple[str, ...]


class ChangedPlace(NamedTuple):
    """An element, or several of the same path: its old text and its new text; empty if it is not there."""

    select: str  # css:SELECTOR
    old: str
    new: str


def changed_places(old: Document, new: Document) -> list[ChangedPlace]:
    """The first elements whose text differs in the new version, in its order, and then those that are gone."""
    if any(len(one.body) > MOST_BYTES or one.form() not in (HTML, XML) for one in (old, new)):
        return []
    before, after = _texts(old), _texts(new)
    paths = dict.fromkeys([*after, *before])
    ends = Counter(path[at:] for path in paths for at in range(len(path)))
    found = []
    for path in paths:
        was, now = before.get(path, []), after.get(path, [])
        if was != now:
            gone, came = Counter(was) - Counter(now), Counter(now) - Counter(was)
            found.append(ChangedPlace(_selector(path, ends), _shown(list(gone) or was), _shown(list(came) or now)))
        if len(found) == MOST_PLACES:
            break
    return found


def _texts(document: Document) -> dict[Path, list[str]]:
    """The own texts of the elements of a page, by their paths."""
    kind = kind_of(document.body, document.content_type)
    _, encoding = as_utf8(document.body, document.content_type, xml=kind is PageKind.XML, url=document.url)
    root = tree_of(document.body, kind, encoding)
    texts: dict[Path, list[str]] = {}
    if root is None:
        return texts
    paths: dict[Any, Path] = {}
    for element in root.iter(etree.Element):
        above = paths.get(element.getparent(), ())
        name = etree.QName(element).localname
        if name in UNSEEN or len(above) >= MOST_DEPTH:
            continue
        path = paths[element] = (*above, _step(name, element))
        text = " ".join(" ".join([element.text or "", *(one.tail or "" for one in element)]).split())
        own = texts.setdefault(path, [])
        if text:
            own.append(text)
    return texts


def _step(name: str, element: Any) -> str:
    identity = element.get("id", "")
    if _PLAIN.fullmatch(identity):
        return f"#{identity}"
    classes = [one for one in element.get("class", "").split() if _PLAIN.fullmatch(one)]
    return ".".join([name if _PLAIN.fullmatch(name) else "*", *classes[:MOST_CLASSES]])


def _selector(path: Path, ends: Counter[Path]) -> str:
    end = next((path[at:] for at in range(len(path) - 1, -1, -1) if ends[path[at:]] == 1), path)
    return "css:" + " > ".join(end)


def _shown(texts: list[str]) -> str:
    return " ".join(texts)[:MOST_TEXT]
