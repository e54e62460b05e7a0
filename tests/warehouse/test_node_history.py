"""Histories of nodes: complete, and the same by identifier and by path."""

import pytest
from hypothesis import given, settings

from centime.model.errors import UnknownPage
from centime.warehouse.comparison import Document, numbered_trees
from centime.warehouse.node_history import _content, node_history
from centime.warehouse.tree import NotWellFormed
from centime.warehouse.written_delta import Paths
from tests.warehouse.documents import edited

SHOP = [
    "<shop><item><name>cup</name><price>10</price></item></shop>",
    "<shop><item><name>cup</name><price>12</price></item><item><name>pot</name><price>30</price></item></shop>",
    "<shop><broken>",
    "<shop><item><name>pot</name><price>30</price></item><item><name>cup</name><price>12</price></item></shop>",
    "<shop><item><name>pot</name><price>30</price></item></shop>",
]


def xml(versions: list[str]) -> list[Document]:
    return [Document(version.encode(), "text/xml") for version in versions]


def happened(versions: list[str], node: str) -> list[tuple[int, str]]:
    return [(one.version, one.what) for one in node_history(xml(versions), node)]


def test_a_node_comes_changes_moves_and_goes() -> None:
    cup = node_history(xml(SHOP), "2")
    assert [(one.version, one.what) for one in cup[:2]] == [(0, "inserted"), (1, "changed inside")]
    assert cup[-1][:2] == (4, "deleted")
    assert [one.content for one in cup[:2]] == [
        f"<item><name>cup</name><price>{price}</price></item>" for price in (10, 12)
    ]
    assert cup[0].path == "/shop/item"
    price = next(one for one in node_history(xml(SHOP[:2]), "/shop/item[1]/price/text()") if one.version == 1)
    assert (price.what, price.content) == ("updated", "12")


def test_whoever_changes_places_has_moved() -> None:
    swapped = ["<a><b>one</b><c>two and more words</c></a>", "<a><c>two and more words</c><b>one</b></a>"]
    assert (1, "moved") in happened(swapped, "/a/b") + happened(swapped, "/a/c")


def test_a_path_names_the_newest_node_that_has_it() -> None:
    assert happened(["<a><b>1</b></a>", "<a><c>other words</c></a>"], "/a/b")[0] == (0, "inserted")
    pot = node_history(xml(SHOP), "/shop/item")
    assert pot[0].version == 1
    assert "pot" in pot[0].content


@settings(max_examples=40)
@given(edited())
def test_between_two_moments_a_node_is_as_it_was(versions: list[str]) -> None:
    made = xml(versions)
    states = [
        (number, tree, xids) for number, tree, xids, _ in numbered_trees(made) if not isinstance(tree, NotWellFormed)
    ]
    for xid in sorted({int(one) for _, _, xids in states for one in xids[1:9]}):
        moments = node_history(made, str(xid))
        for number, tree, xids in states:
            before = [one for one in moments if one.version <= number]
            places = [place for place in range(1, len(tree)) if xids[place] == xid]
            assert bool(places) == bool(before and before[-1].what != "deleted")
            if places:
                assert before[-1].content == _content(tree, xids, places[0])
                assert Paths(tree, xids).xid_at(Paths(tree, xids).path(xid)) == xid


@pytest.mark.parametrize(
    "node", ["", "/", "0", "99", "/nowhere", "//", "/shop/item[0]", "/shop/item[9]", "item[", "²", "-1"]
)
def test_a_node_that_never_was_is_said_so(node: str) -> None:
    with pytest.raises(UnknownPage, match="no version has a node"):
        node_history(xml(SHOP), node)
