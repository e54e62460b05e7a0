import pytest
from hypothesis import given
from lxml import etree

from centime.warehouse.comparison import Document, TreeChange, tree_change
from centime.warehouse.nodes import ELEMENT
from centime.warehouse.written_delta import MOST_STEPS, Paths, as_xml, operations
from tests.warehouse.documents import documents, edited


def change(*versions: str) -> TreeChange:
    return tree_change([Document(version.encode(), "text/xml") for version in versions], 0, len(versions) - 1)


POT = "<item><name>tea pot of china</name><price>10</price></item>"
CUP = "<item><name>large cup of tea</name><price>3</price></item>"


def test_an_update_has_the_path_and_both_values() -> None:
    [one] = operations(change(f"<shop>{POT}{CUP}</shop>", f"<shop>{POT}{CUP.replace('3', '4')}</shop>"))

    assert one == {"operation": "update", "xid": 11, "path": "/shop/item[2]/price/text()", "old": "3", "new": "4"}


def test_an_update_of_attributes_names_those_that_changed() -> None:
    [one] = operations(change('<a b="1" c="2" d="3"/>', '<a b="1" c="4" e="5"/>'))

    assert one["attributes"] == [
        {"name": "c", "old": "2", "new": "4"},
        {"name": "d", "old": "3", "new": None},
        {"name": "e", "old": None, "new": "5"},
    ]


def test_a_subtree_is_written_with_its_identifiers() -> None:
    [one] = operations(change(f"<shop>{POT}</shop>", f"<shop>{POT}{CUP}</shop>"))

    assert one == {
        "operation": "insert", "xid": 7, "parent": 1, "position": 1, "path": "/shop/item[2]", "xids": "7-11",
        "content": CUP,
    }  # fmt: skip


def test_a_move_has_both_paths() -> None:
    [one] = operations(change(f"<shop><a>{POT}</a><b/></shop>", f"<shop><a/><b>{POT}</b></shop>"))

    assert (one["operation"], one["path"], one["to_path"]) == ("move", "/shop/a/item", "/shop/b/item")


def test_a_delta_is_a_document() -> None:
    text = as_xml(operations(change("<a><b>1 &lt; 2</b></a>", "<a><b>1 &lt; 3</b><c d='\"'/></a>")))

    assert text == (
        '<delta>\n  <insert xid="4" parent="1" position="1" path="/a/c" xids="4"><c d=\'"\'></c></insert>\n'
        '  <update xid="3" path="/a/b/text()"><old>1 &lt; 2</old><new>1 &lt; 3</new></update>\n</delta>'
    )


@given(documents(), documents())
def test_any_delta_is_well_formed(old: str, new: str) -> None:
    text = as_xml(operations(change(old, new))).replace("x:y", "x")

    etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))


@given(edited())
def test_the_paths_are_those_of_the_nodes(versions: list[str]) -> None:
    found = change(*versions)
    old, new = (etree.fromstring(version.encode()) for version in (versions[0], versions[-1]))

    for one in operations(found):
        tree = old if one["operation"] in ("delete", "move") else new
        [node] = tree.xpath(one["path"])
        if one["operation"] == "update":
            assert node == one["new"]
        if one["operation"] == "insert" and one["content"].startswith("<"):
            assert node.tag == one["content"][1:].split(">")[0]


@pytest.mark.parametrize("page", ["<p>a\x01b", "<p a&b=1 >x", "<a <b>y", "<!-- a--b -->"])
def test_what_is_no_xml_in_a_page_is_written_as_what_is(page: str) -> None:
    found = tree_change([Document(b"<p>", "text/html"), Document(page.encode(), "text/html")], 0, 1)

    etree.fromstring(as_xml(operations(found)).encode())


def test_paths_of_a_deep_document_are_bounded() -> None:
    deep = "<a b='1'>" * 3_000 + "</a>" * 3_000
    found = operations(change(deep, deep.replace("1", "2")))
    assert len(found) == 3_000
    assert {one["path"] for one in found[-3:]} == {"..." + "/a" * MOST_STEPS}
    assert found[0]["path"] == "/a"
    assert found[MOST_STEPS - 1]["path"] == "/a" * MOST_STEPS


@given(documents())
def test_paths_are_those_that_lxml_gives(text: str) -> None:
    root = etree.fromstring(text)
    document = Document(text.encode(), "text/xml")
    made = tree_change([document, document], 0, 1)
    paths = Paths(made.new, made.new_xids)
    ours = [paths.path(int(xid)) for xid, kind in zip(made.new_xids, made.new.kind, strict=True) if kind == ELEMENT]
    assert ours == [root.getroottree().getpath(one) for one in root.iter(etree.Element)]
