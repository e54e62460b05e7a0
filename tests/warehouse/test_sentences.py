import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.names import BREAKS, ROLES, code_of, element_of
from centime.warehouse.contents import Contents
from centime.warehouse.nodes import ELEMENT, TEXT
from centime.warehouse.sentences import HIDDEN, paragraphs_of, sentences, sentences_of
from centime.warehouse.tree import Tree, html_tree, xml_tree
from tests.warehouse.documents import documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Version 3.11.4 is out. It is 2.5 MB.", ["Version 3.11.4 is out.", "It is 2.5 MB."]),
        ("It is e.g. this one.", ["It is e.g. this one."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("  a \n b  ", ["a b"]),
        ("Ça va. Élan.", ["Ça va.", "Élan."]),
        ("一です。二です。", ["一です。", "二です。"]),
        ("", []),
    ],
)
def test_a_paragraph_is_split_where_a_sentence_ends(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_page_has_the_sentences_that_a_browser_shows() -> None:
    page = (
        b"<title>Tea</title><nav><a>Home</a> <a>Shop</a></nav><h1>Tea <i>pots</i></h1><p>One <b>pot.</b> Two\n pots."
        b"<ul><li>a<li>b</ul><script>no()</script><svg><text>no</text></svg><td>x<br>y"
    )

    assert sentences_of(html_tree(page, Contents()), html=True) == [
        "Tea", "Home Shop", "Tea pots", "One pot.", "Two pots.", "a", "b", "x", "y",
    ]  # fmt: skip


def test_in_xml_every_element_is_a_block() -> None:
    tree = xml_tree(b"<a><b>one</b><b>two</b>three <script>four</script></a>", Contents())

    assert sentences_of(tree, html=False) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("tag", ["<br/>", "<br />", '<svg><path d="M0"/></svg>', '<img src="a.png"/>'])
@pytest.mark.parametrize("end", ["", "\n", " text", "</p>"])
def test_text_behind_a_tag_that_closes_itself_is_read_however_the_page_ends(tag: str, end: str) -> None:
    page = f"<p>one</p>{tag}<p>two</p>{end}".encode()
    assert sentences_of(html_tree(page, Contents()), html=True)[:2] == ["one", "two"]


def test_elements_can_be_left_out_of_the_text() -> None:
    tree = html_tree(b"<nav>Home<p>Shop</nav><h1>Tea</h1><footer>Legal</footer>", Contents())
    assert paragraphs_of(tree, html=True) == ["Home", "Shop", "Tea", "Legal"]
    assert paragraphs_of(tree, html=True, left_out={"nav", "footer"}) == ["Tea"]


def by_hand(tree: Tree, *, html: bool, left_out: set[str]) -> list[str]:
    """The paragraphs of a tree, node by node."""
    blocks: list[list[str]] = [[]]

    def walk(node: int) -> None:
        name = tree.contents.name(int(tree.label[node])) if tree.kind[node] == ELEMENT else ""
        if html and name in HIDDEN | left_out:
            breaks = bool(ROLES[element_of(code_of(name))] & BREAKS)
            blocks.extend([[], []] if breaks else [])
            return
        breaks = bool(name) and (not html or bool(ROLES[element_of(code_of(name))] & BREAKS))
        if breaks:
            blocks.append([])
        if tree.kind[node] == TEXT:
            blocks[-1].append(tree.contents.text(int(tree.content[node])))
        for child in range(node + 1, len(tree)):
            if tree.parent[child] == node:
                walk(child)
        if breaks:
            blocks.append([])

    walk(0)
    return [line for block in blocks if (line := " ".join("".join(block).split()))]


TAGS = [
    f"<{slash}{name}>" for slash in ("", "/") for name in ("p", "b", "div", "nav", "svg", "li", "script", "td", "br")
]


@given(st.lists(st.sampled_from([*TAGS, "word", "ö\u00a0\u3000", " ", "&amp;", "<!-- c -->", "&lost;"]), max_size=30))
def test_the_text_of_any_page_is_what_its_nodes_say(parts: list[str]) -> None:
    tree = html_tree("".join(parts).encode(), Contents(), "text/html; charset=utf-8")
    for left_out in (set(), {"nav", "td"}):
        assert paragraphs_of(tree, html=True, left_out=left_out) == by_hand(tree, html=True, left_out=left_out)


@given(documents())
def test_the_text_of_any_xml_is_what_its_nodes_say(document: str) -> None:
    tree = xml_tree(document.encode(), Contents())
    assert paragraphs_of(tree, html=False) == by_hand(tree, html=False, left_out=set())
