"""Which of the nodes that an XPath finds are new, changed or gone between two versions of a page.

The two versions are matched (`warehouse/matching.py`), so a node is followed from one to the other, even if it was
moved:

    new         it was inserted, and the XPath finds it
    matches     it was there before, and the XPath finds it only now: a condition has become true
    changed     the XPath finds it in both versions, with another value
    unmatched   it is still there, and the XPath no longer finds it: a condition has become false
    gone        the XPath found it, and it is not there any more

If an entry of a list is inserted and another one deleted, these two would match, because nothing else is left for them.
So two nodes are the same only if, in the innermost element around them that has several values (texts, and attributes
of XML), at least half of these values are the same.

An XPath that gives a number, a text or true counts as one node without a path; false, "" and not a number as none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from lxml import etree

from centime.crawl.worker.canonical import canonical_forms, normalised
from centime.crawl.worker.conditions import WatchedPage
from centime.crawl.worker.xpath import texts_of
from centime.model.outcome import PageKind
from centime.shard.people.notices import MOST_TEXT, When
from centime.warehouse.contents import Contents
from centime.warehouse.element_tree import ElementTree
from centime.warehouse.matching import match_trees

MOST_NODES = 1_000  # that an XPath finds in a page
MOST_VALUES = 1_000  # of an element
SEVERAL = 2
NEW, MATCHES, CHANGED, UNMATCHED, GONE = "new", "matches", "changed", "unmatched", "gone"
OF_INTEREST = {
    When.ALWAYS: (NEW, MATCHES, CHANGED, UNMATCHED, GONE),
    When.APPEARS: (NEW, MATCHES),
    When.VANISHES: (UNMATCHED, GONE),
}
_NOWHERE = -1  # the number of a node that the other version does not have
_ALONE = (-2, "")  # the place of a result that is not a node

Place = tuple[int, str]  # the number of a node, and the name of an attribute


class _Node(NamedTuple):
    """A node that an XPath finds."""

    value: str
    path: str | None
    form: str = ""  # its canonical form; "" if it is not an element, or in another one that is found

    def is_as(self, other: "_Node") -> bool:
        """Whether both say the same."""
        if self.form and other.form:
            return self.form == other.form
        return normalised(self.value) == normalised(other.value)


class _Side:
    """One version: its tree, and what the XPath finds in it."""

    def __init__(self, page: WatchedPage | None, xpath: str, contents: Contents) -> None:
        self._root: Any = None if page is None else page.root
        self._is_xml = page is not None and page.kind is PageKind.XML
        self.made = ElementTree(self._root, contents) if self._root is not None else None
        self._by_number: dict[int, Any] = {}
        self._above: dict[int, Any] = {}  # the elements in which texts are
        self.found: dict[Place, _Node] = {}
        if self.made is not None:
            self._by_number |= {number: node for node, number in self.made.elements.items()}
            self._by_number |= {number: node.text for node, number in self.made.texts.items()}
            self._by_number |= {number: node.tail for node, number in self.made.tails.items()}
            self._above |= {number: node for node, number in self.made.texts.items()}
            self._above |= {number: node.getparent() for node, number in self.made.tails.items()}
            self.found |= self._nodes(self.made, xpath)

    def _nodes(self, made: ElementTree, xpath: str) -> Iterator[tuple[Place, _Node]]:
        result = _compiled(xpath)(self._root)
        if not isinstance(result, list):
            if result == result and result not in (False, ""):
                yield _ALONE, _Node(str(result)[:MOST_TEXT], None)
            return
        found = result[:MOST_NODES]
        elements = [one for one in found if not isinstance(one, str) and one in made.elements]  # no namespaces
        kind = PageKind.XML if self._is_xml else PageKind.HTML
        forms, _ = canonical_forms(elements, kind)
        for one in found:
            if isinstance(one, str):
                yield _place(made, one), _Node(one[:MOST_TEXT], self._path(one))
            elif one in made.elements:
                yield (made.elements[one], ""), _Node(self._value(one), self._path(one), forms.get(one, ""))

    def value_at(self, place: Place) -> str | None:
        """The value of a node, whether or not the XPath finds it; None if there is none."""
        number, name = place
        node = self._by_number.get(number)
        if node is None or isinstance(node, str):
            return node and node[:MOST_TEXT]
        value = node.get(name) if name else self._value(node)
        return value and value[:MOST_TEXT]

    def record_at(self, number: int) -> tuple[int, Counter[str]]:
        """The innermost element with several values that a node is, or is in: its number, and its values."""
        node, values = self._by_number.get(number), Counter[str]()
        if isinstance(node, str):
            node = self._above[number]
        while node is not None and values.total() < SEVERAL:
            number, values = self._number(node), Counter(islice(self._values(node), MOST_VALUES))
            node = node.getparent()
        return number, values

    def values_at(self, number: int) -> Counter[str]:
        """The values of an element."""
        return Counter(islice(self._values(self._by_number[number]), MOST_VALUES))

    def _number(self, node: Any) -> int:
        return _NOWHERE if self.made is None else self.made.elements[node]

    def _values(self, node: Any) -> Iterator[str]:
        for text in texts_of(node):
            if text.strip():
                yield text.strip()
        if self._is_xml:
            for one in node.iter(etree.Element):
                yield from one.values()

    def _path(self, one: Any) -> str:
        tree = self._root.getroottree()
        if not isinstance(one, str):
            return str(tree.getpath(one))
        result: Any = one
        above = result.getparent()
        if result.is_attribute:
            return f"{tree.getpath(above)}/@{result.attrname}"
        return f"{tree.getpath(above.getparent() if result.is_tail else above)}/text()"

    def _value(self, node: Any) -> str:
        """An element of XML as XML, with its attributes; of HTML its text."""
        if self._is_xml:
            return str(etree.tostring(node, encoding="unicode", with_tail=False))[:MOST_TEXT]
        return " ".join("".join(texts_of(node)).split())[:MOST_TEXT]


def _place(made: ElementTree, one: Any) -> Place:
    """The place of an attribute or a text."""
    if one.is_attribute:
        return made.elements[one.getparent()], str(one.attrname)
    return (made.tails if one.is_tail else made.texts)[one.getparent()], ""


def node_changes(
    old: WatchedPage | None, new: WatchedPage | None, xpath: str, when: When = When.ALWAYS
) -> list[dict[str, str | None]]:
    """The changes of the nodes that an XPath finds, each with its old and new value; None is a missing version."""
    contents = Contents()
    before, after = (_Side(page, xpath, contents) for page in (old, new))
    to_old: dict[int, int] = {}
    if before.made is not None and after.made is not None:
        matched = match_trees(before.made.tree, after.made.tree).to_old.tolist()
        to_old = {new: old for new, old in enumerate(matched) if old >= 0}
    to_new = {old: new for new, old in to_old.items()}
    concerned = {number for number, _ in after.found} | {to_new.get(number, _NOWHERE) for number, _ in before.found}
    others = {number for number in concerned & to_old.keys() if not _is_one(before, after, number, to_old)}
    for number in others:
        del to_new[to_old.pop(number)]
    rows = _rows(before, after, to_old, to_new)
    return [row for row in rows if row["change"] in OF_INTEREST[when]]


def _is_one(before: _Side, after: _Side, number: int, to_old: dict[int, int]) -> bool:
    """Whether a node that is matched is the same one."""
    around, values = after.record_at(number)
    if around not in to_old:
        return True
    old = before.values_at(to_old[around])
    most = max(values.total(), old.total())
    return most < SEVERAL or 2 * (values & old).total() >= most


def _rows(
    before: _Side, after: _Side, to_old: dict[int, int], to_new: dict[int, int]
) -> Iterable[dict[str, str | None]]:
    for place, node in after.found.items():
        known = place if place == _ALONE else (to_old.get(place[0], _NOWHERE), place[1])
        if known in before.found:
            earlier = before.found[known]
            if not earlier.is_as(node):
                yield _row(CHANGED, node.path, earlier.value, node.value)
            continue
        old = before.value_at(known)
        was_there = old is not None or (place == _ALONE and before.made is not None)
        yield _row(MATCHES if was_there else NEW, node.path, old, node.value)
    for place, node in before.found.items():
        later = place if place == _ALONE else (to_new.get(place[0], _NOWHERE), place[1])
        if later in after.found:
            continue
        new = after.value_at(later)
        is_there = new is not None or (place == _ALONE and after.made is not None)
        yield _row(UNMATCHED if is_there else GONE, node.path, node.value, new)


def _row(change: str, path: str | None, old: str | None, new: str | None) -> dict[str, str | None]:
    return {"change": change, "path": path, "old": old, "new": new}


@lru_cache(maxsize=1_024)
def _compiled(xpath: str) -> etree.XPath:
    return etree.XPath(xpath, regexp=False)
