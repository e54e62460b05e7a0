"""The tree of the pass beside lxml's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from centime.warehouse.contents import Contents
from centime.warehouse.nodes import COMMENT, ELEMENT, INSTRUCTION, TEXT, TYPE
from centime.warehouse.tree import NotWellFormed, Tree, html_tree, xml_tree
from tests.warehouse.documents import documents

Node = tuple[object, ...]


def shown(tree: Tree) -> list[Node]:
    """The nodes of a tree as (depth, kind, what they hold)."""
    depths: list[int] = []
    nodes: list[Node] = []
    for number in range(len(tree)):
        depths.append(depths[tree.parent[number]] + 1 if number else 0)
        kind, content = int(tree.kind[number]), int(tree.content[number])
        held: object = tree.contents.text(content)
        if kind == ELEMENT:
            parts = tree.contents.parts(content)
            held = (tree.contents.name(content), dict(zip(parts[::2], parts[1::2], strict=True)))
        elif kind == INSTRUCTION:
            held = (tree.contents.name(content), *tree.contents.parts(content))
        if number and kind != TYPE:
            nodes.append((depths[-1], kind, held))
    return nodes


def shown_by_lxml(document: bytes) -> list[Node]:
    root = etree.fromstring(document, etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True))
    nodes: list[Node] = []
    names = {uri: prefix for prefix, uri in root.nsmap.items()}

    def plain(name: str) -> str:
        if not name.startswith("{"):
            return name
        uri, local = name[1:].split("}")
        return f"{names[uri]}:{local}" if names[uri] else local

    def add(depth: int, kind: int, held: object) -> None:
        if kind == TEXT and nodes and nodes[-1][:2] == (depth, TEXT):  # around a reference to an entity
            held = f"{nodes.pop()[2]}{held}"
        nodes.append((depth, kind, held))

    def walk(node: etree._Element, depth: int) -> None:
        if node.tag is etree.Comment:
            add(depth, COMMENT, node.text)
        elif node.tag is etree.PI:
            add(depth, INSTRUCTION, (node.target, node.text or ""))
        elif node.tag is etree.Entity:
            add(depth, TEXT, node.text)
        else:
            held = {plain(name): value for name, value in node.items()}
            own = node.nsmap if node.getparent() is None else {}
            held |= {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in own.items()}
            add(depth, ELEMENT, (plain(node.tag), held))
            if node.text:
                add(depth + 1, TEXT, node.text)
            for child in node:
                walk(child, depth + 1)
        if node.tail and depth > 1:
            add(depth, TEXT, node.tail)

    before = list(root.itersiblings(preceding=True))[::-1]
    for node in (*before, root, *root.itersiblings()):
        walk(node, 1)
    return nodes


@given(documents())
def test_the_tree_is_that_of_lxml(document: str) -> None:
    data = document.encode()

    assert shown(xml_tree(data, Contents())) == shown_by_lxml(data)


@given(documents(), documents())
def test_equal_nodes_have_equal_numbers_and_only_they(one: str, other: str) -> None:
    contents = Contents()
    trees = [xml_tree(each.encode(), contents) for each in (one, other)]
    numbers: dict[bytes, int] = {}
    for tree in trees:
        for number in (*tree.content.tolist(), *tree.label.tolist()):
            assert numbers.setdefault(contents[number], number) == number
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<a b='1' c='2'/>", '<a  c="2" b="1" ></a>'),
        ("<a>x &amp; y</a>", "<a><![CDATA[x & y]]></a>"),
        ("<a>1\n2</a>", "<a>1\r\n2</a>"),
        ("<a>é</a>", "<a>&#233;</a>"),
        ("<a b='1 2'/>", "<a b='1\n2'/>"),
    ],
)
def test_what_is_the_same_by_the_information_set_is_the_same(one: str, other: str) -> None:
    contents = Contents()

    assert shown(xml_tree(one.encode(), contents)) == shown(xml_tree(other.encode(), contents))


def test_a_reference_to_an_entity_is_not_what_looks_like_one() -> None:
    tree = xml_tree(b"<a><b>&e;</b><b>&amp;e;</b></a>", Contents())

    first, second = (int(tree.content[number]) for number in (3, 5))
    assert first != second
    assert tree.contents.text(first) == tree.contents.text(second) == "&e;"


def test_xml_has_only_the_entities_of_xml() -> None:
    text = xml_tree(b"<a>&nbsp;&lt;&#160;</a>", Contents())

    assert text.contents.text(int(text.content[2])) == "&nbsp;<\xa0"


def test_all_encodings_have_one_tree() -> None:
    contents = Contents()
    trees = [
        xml_tree(f'<?xml version="1.0" encoding="{name}"?><a>Größe</a>'.encode(name), contents)
        for name in ("utf-8", "iso-8859-1", "utf-16")
    ]

    assert all((tree.content == trees[0].content).all() for tree in trees)


@pytest.mark.parametrize(
    "document",
    [
        "", "text", "<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a/><b/>", "<a/>text", "<a b></a>", "<a b=c></a>",
        "<a b='c></a>", "<a", "<!--", "<a><!-- </a>", "<a><![CDATA[ </a>", "<a><?p </a>", "<!DOCTYPE a [", "< a></a>",
        "<1/>", "<a></a", "<a></ab>", "<ab></a>", "<", "<a>&", "<!---->",
    ],
)  # fmt: skip
def test_what_is_not_well_formed_says_where(document: str) -> None:
    with pytest.raises(NotWellFormed, match=r"line 1, byte \d+"):
        xml_tree(document.encode(), Contents())


@given(st.binary(max_size=60) | st.text(st.sampled_from("<>/!?-[]CDAT a='\"&;#x1"), max_size=60).map(str.encode))
def test_any_bytes_give_a_tree_or_are_not_well_formed(document: bytes) -> None:
    try:
        tree = xml_tree(document, Contents())
    except NotWellFormed:
        return
    assert (tree.parent[1:] < range(1, len(tree))).all()
    assert (tree.parent[1:] >= 0).all()


@given(st.text(st.sampled_from("<>/!?-[]CDAT a='\"&;#x1scriptbrp"), max_size=80) | st.binary(max_size=60).map(repr))
def test_any_page_has_a_tree(text: str) -> None:
    tree = html_tree(text.encode(), Contents())

    assert (tree.parent[1:] < range(1, len(tree))).all()
    assert (tree.parent[1:] >= 0).all()


def test_a_page_has_its_elements_texts_comments_and_scripts() -> None:
    page = (
        "<!DOCTYPE html><title>T &amp; t</title><P CLASS=a id='b'>one<br>two&nbsp;<img alt='<' src=x src=y>"
        "<ul><li>a<li>b</ul><!-- c --><script>if (a </b) { '&amp;' }</script><svg><g/><![CDATA[<q>]]></svg>"
    )

    assert shown(html_tree(page.encode(), Contents())) == [
        (1, ELEMENT, ("title", {})),
        (2, TEXT, "T &amp; t"),
        (1, ELEMENT, ("p", {"class": "a", "id": "b"})),
        (2, TEXT, "one"),
        (2, ELEMENT, ("br", {})),
        (2, TEXT, "two\xa0"),
        (2, ELEMENT, ("img", {"alt": "<", "src": "x"})),
        (1, ELEMENT, ("ul", {})),
        (2, ELEMENT, ("li", {})),
        (3, TEXT, "a"),
        (2, ELEMENT, ("li", {})),
        (3, TEXT, "b"),
        (1, COMMENT, "<!-- c -->"),
        (1, ELEMENT, ("script", {})),
        (2, TEXT, "if (a </b) { '&amp;' }"),
        (1, ELEMENT, ("svg", {})),
        (2, ELEMENT, ("g", {})),
        (2, TEXT, "<q>"),
    ]
