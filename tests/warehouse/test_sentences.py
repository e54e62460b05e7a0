import pytest

from centime.warehouse.contents import Contents
from centime.warehouse.sentences import paragraphs_of, sentences, sentences_of
from centime.warehouse.tree import html_tree, xml_tree


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
