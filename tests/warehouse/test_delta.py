"""Laws of deltas: they lead to the new version and back, whatever the versions are."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.warehouse.comparison import Document, tree_change
from centime.warehouse.contents import Contents
from centime.warehouse.delta import Delta, NotThisVersion, Version, delta_of, first_xids, next_xids
from centime.warehouse.matching import match_trees
from centime.warehouse.tree import xml_tree
from tests.warehouse.documents import documents, edited


def changes(*versions: bytes) -> tuple[list[Delta], list[Version]]:
    """The deltas between versions one after the other, and these versions by identifiers."""
    contents = Contents()
    tree = xml_tree(versions[0], contents)
    xids, following = first_xids(tree), len(tree)
    deltas, states = [], [Version.of(tree, xids)]
    for version in versions[1:]:
        new = xml_tree(version, contents)
        matching, before = match_trees(tree, new), xids
        xids, following = next_xids(matching, before, following)
        deltas.append(delta_of(matching, before, xids))
        states.append(Version.of(new, xids))
        tree = new
    return deltas, states


def assert_leads(deltas: list[Delta], states: list[Version]) -> None:
    at = copy.deepcopy(states[0])
    for delta, state in zip(deltas, states[1:], strict=True):
        at.apply(delta)
        assert at == state
    for delta, state in zip(reversed(deltas), reversed(states[:-1]), strict=True):
        at.apply(delta.inverse())
        assert at == state


@given(st.lists(documents(), min_size=2, max_size=4))
def test_deltas_of_any_documents_lead_to_the_new_version_and_back(versions: list[str]) -> None:
    assert_leads(*changes(*(version.encode() for version in versions)))


@given(edited())
def test_deltas_of_edited_documents_lead_to_the_new_version_and_back(versions: list[str]) -> None:
    assert_leads(*changes(*(version.encode() for version in versions)))


@given(edited())
def test_a_delta_over_several_versions_leads_there_and_back_with_the_same_identifiers(versions: list[str]) -> None:
    change = tree_change([Document(version.encode(), "text/xml") for version in versions], 0, len(versions) - 1)
    old, new = Version.of(change.old, change.old_xids), Version.of(change.new, change.new_xids)
    at = copy.deepcopy(old)

    at.apply(change.delta)
    assert at == new
    at.apply(change.delta.inverse())
    assert at == old
    assert new == changes(*(version.encode() for version in versions))[1][-1]


@given(documents())
def test_the_same_document_has_no_delta(document: str) -> None:
    (delta,), _ = changes(document.encode(), document.encode())

    assert not delta


@given(documents())
def test_the_inverse_of_the_inverse_is_the_delta(document: str) -> None:
    (delta,), _ = changes(b"<a/>", document.encode())

    assert delta.inverse().inverse() == delta


POT = "<item><name>tea pot of china</name><price>10</price></item>"
CUP = "<item><name>large cup</name><price>3</price></item>"
SHOP = f"<shop>{POT}{CUP}</shop>"


@pytest.mark.parametrize(
    ("new", "counts"),
    [
        (SHOP.replace(">3<", ">4<"), (0, 0, 0, 1)),
        (SHOP.replace(CUP, ""), (1, 0, 0, 0)),
        (SHOP.replace("</shop>", "<item><name>spoon</name></item></shop>"), (0, 1, 0, 0)),
        (f"<shop>{CUP}{POT}</shop>", (0, 0, 1, 0)),
        (SHOP.replace("<name>large", "<name lang='en'>large"), (0, 0, 0, 1)),
        (SHOP.replace("<shop>", "<shop>\n").replace("</item>", "</item>\n"), (0, 3, 0, 0)),
    ],
)
def test_a_delta_says_what_a_person_did(new: str, counts: tuple[int, ...]) -> None:
    (delta,), _ = changes(SHOP.encode(), new.encode())

    assert (len(delta.deleted), len(delta.inserted), len(delta.moved), len(delta.updated)) == counts


def test_a_node_keeps_its_identifier_when_it_moves_and_no_identifier_is_used_again() -> None:
    first = b"<a><b><c>some longer text that stays the same</c></b><d/></a>"
    moved = b"<a><b/><d><c>some longer text that stays the same</c></d></a>"
    gone = b"<a><b/><d/></a>"
    deltas, states = changes(first, moved, gone, first)

    [move] = deltas[0].moved
    assert states[0].contents[move.xid] == states[1].contents[move.xid] == b"ec"
    again = [xid for xid, content in states[3].contents.items() if content == b"ec"]
    assert again != [move.xid]
    assert not set(again) & set(states[0].contents)


def test_a_delta_of_another_version_is_refused_and_changes_nothing() -> None:
    deltas, states = changes(b"<a><b>old</b></a>", b"<a><b>new</b></a>", b"<a><b>newer</b></a>")
    at = copy.deepcopy(states[0])

    with pytest.raises(NotThisVersion):
        at.apply(deltas[1])
    assert at == states[0]
