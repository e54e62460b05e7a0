"""The places that differ between two versions are named by selectors that find them."""

from cssselect import HTMLTranslator
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from centime.warehouse.changed_places import ChangedPlace, changed_places
from centime.warehouse.comparison import Document

PAGE = """<html><body><h1>A lamp</h1><div class="box"><p class="price now">{} euro</p><p>It is red.</p></div>
<div id=cart><p>{} in the cart</p></div><ul><li>a<li>{}</ul><script>var n = {};</script></body></html>"""


def places(old: str, new: str) -> list[ChangedPlace]:
    return changed_places(*(Document(text.encode(), "text/html") for text in (old, new)))


def test_each_place_has_the_shortest_selector_that_finds_it_and_what_it_said() -> None:
    assert places(PAGE.format(7, 1, "b", 1), PAGE.format(8, 2, "c", 2)) == [
        ("css:p.price.now", "7 euro", "8 euro"),
        ("css:#cart > p", "1 in the cart", "2 in the cart"),
        ("css:li", "b", "c"),
    ]


def test_a_place_that_came_or_went_says_nothing_on_the_other_side() -> None:
    assert places("<p>a</p>", "<p>a</p><b>new</b>") == [("css:b", "", "new")]
    assert places("<p>a</p><b>old</b>", "<p>a</p>") == [("css:b", "old", "")]


def test_documents_without_elements_have_no_places() -> None:
    assert changed_places(Document(b"a", "text/plain"), Document(b"b", "text/plain")) == []


NAMES = st.sampled_from(["a", "b-c", "1x", "ä", "x:y", ""])
ELEMENTS = st.lists(st.tuples(st.sampled_from(["p", "div", "b"]), NAMES, NAMES), min_size=1, max_size=4)


@given(ELEMENTS)
def test_the_selector_finds_the_place(elements: list[tuple[str, str, str]]) -> None:
    opening = "".join(f'<{tag} class="{name}" id="{identity}">' for tag, name, identity in elements)
    page = f"<html><body><h1>x</h1>{opening}{{}}"
    (place,) = places(page.format("then"), page.format("now"))
    xpath = HTMLTranslator().css_to_xpath(place.select.removeprefix("css:"))
    assert "now" in {(one.text or "").strip() for one in html.fromstring(page.format("now")).xpath(xpath)}
