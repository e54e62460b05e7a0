from html.entities import html5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from centime.parse.references import without_references


def test_every_name_means_what_the_standard_says() -> None:
    for name, meant in html5.items():
        assert without_references(f"&{name} ".encode(), attribute=False) == f"{meant} "
        assert without_references(f"&{name}".encode(), attribute=True) == meant


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        ("&copy=1", "©=1", "&copy=1"),
        ("&copy;=1", "©=1", "©=1"),
        ("&notit;", "¬it;", "&notit;"),
        ("&notin;", "∉", "∉"),
        ("&amp;lt;", "&lt;", "&lt;"),
        ("&AMP &Amp;", "& &Amp;", "& &Amp;"),
        ("&#x41&#65;&#X41;", "AAA", "AAA"),
        ("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\ufffd" * 4, "\ufffd" * 4),
        ("&#128;&#x9F;&#x81;", "€Ÿ\x81", "€Ÿ\x81"),
        ("&#;&#x;&;&", "&#;&#x;&;&", "&#;&#x;&;&"),
        ("a\r\nb\rc\0", "a\nb\nc\ufffd", "a\nb\nc\ufffd"),
        ("&nGt;&acE;", "≫⃒∾̳", "≫⃒∾̳"),
        ("&#128512;", "😀", "😀"),
    ],
)
def test_references_in_text_and_in_attributes(written: str, text: str, value: str) -> None:
    assert without_references(written.encode(), attribute=False) == text
    assert without_references(written.encode(), attribute=True) == value


PIECES = st.sampled_from(
    ["&", "#", "x", ";", "=", "4", "1", "D8", "amp", "not", "in", "copy", "gt", "é", " ", "AElig", "ngE", "0"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_references_are_those_of_the_tree(written: str) -> None:
    node = LexborHTMLParser(f"<div title='{written}'><textarea>\n{written}</textarea></div>".encode()).css_first("div")
    assert node is not None
    assert without_references(written.encode(), attribute=True) == node.attributes["title"]
    assert without_references(written.encode(), attribute=False) == node.text()
