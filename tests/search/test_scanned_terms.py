"""The terms that a pass over the bytes of XML, or of HTML as libxml2 writes it, finds are those of the tree in which
XPaths are evaluated.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from centime.model.outcome import PageKind
from centime.parse.tree import whole_tree_of
from centime.search import scanned_terms
from centime.search.path_terms import terms_of
from centime.search.scanned_terms import MOST_DEPTH, TermScanner

names = st.sampled_from(["a", "b", "item", "p:a", "p:c", "é", "_x"])
numbers = ["7", "-7.50", "1e3", ".5", "12345678901234567", "1\n"]
values = st.sampled_from(["", " ", "x", "tea & cake", "a<b", "é" * 40, "x" * 64, "x" * 65, *numbers])
written = st.sampled_from(
    ["&amp;", "&#49;0", "&#x31;", "<![CDATA[1<2]]>", "<!-- c -->", "<?p i?>", "\r\n", "\t", " 7 ", "ü"]
)
attributes = st.dictionaries(
    st.sampled_from(["id", "p:id", "xml:lang", "n", "xmlns", "xmlns:p", "xmlnsx"]),
    st.sampled_from(["", "7", "a b", "a\tb\nc", "&lt;&#10;", "urn:q", "0.5"]),
    max_size=3,
)


def element(name: str, given: dict[str, str], inside: list[str]) -> str:
    head = "".join(f" {attribute}='{value}'" for attribute, value in given.items())
    return f"<{name}{head}>{''.join(inside)}</{name}>" if inside else f"<{name}{head}/>"


escaped = values.map(lambda value: value.replace("&", "&amp;").replace("<", "&lt;"))
elements = st.recursive(
    st.builds(element, names, attributes, st.lists(escaped | written, max_size=2)),
    lambda inner: st.builds(element, names, attributes, st.lists(inner | escaped | written, max_size=4)),
    max_leaves=8,
)
SCANNER = TermScanner()


@settings(max_examples=300)
@given(elements, st.sampled_from(["", "<?xml version='1.0'?>\n", "<!-- first --><?p i?>"]), st.booleans())
@example("<p:a/>", "", True)
def test_the_terms_are_those_of_the_tree(inside: str, head: str, declared: bool) -> None:
    root_tag = "<r xmlns:p='urn:p'>" if declared else "<r>"
    body = f"{head}{root_tag}{inside}</r>".encode()
    found = SCANNER.terms(body)
    root, trouble = whole_tree_of(body, PageKind.XML, "utf-8")
    if found is not None:
        assert not trouble
        assert np.array_equal(found, terms_of(root)), body


@settings(max_examples=300)
@given(st.from_regex(r"[ \t\n]?[-+]?[0-9]{0,9}(\.[0-9]{0,9})?([eE][-+]?[0-9]{0,2})?[ \n]?", fullmatch=True))
@example("-0.00")
@example("000123.4500")
@example("." + "0" * 14)
@example("9" * 64)
def test_the_terms_of_numbers_are_those_of_the_tree(number: str) -> None:
    body = f"<a><b>{number}</b><c n='{number.strip()}'/></a>".encode()
    root, _ = whole_tree_of(body, PageKind.XML, "utf-8")
    found = SCANNER.terms(body)
    assert found is not None
    assert np.array_equal(found, terms_of(root))


def test_most_documents_are_read_so() -> None:
    body = "<rss xmlns:p='urn:p'><item p:id='7' xml:lang='de'><price>12.50</price><n/>é&#38;</item></rss>"
    assert SCANNER.terms(body.encode()) is not None
    assert SCANNER.terms(f"<?xml version='1.0' encoding='utf-16'?>{body}".encode("utf-16")) is not None


OTHERS = [
    "<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>",
    "<r>&nbsp;</r>",
    "<r><a></r>",
    "<p:r/>",
    "<r a='1' a='2'/>",
    "<r>\x01</r>",
    "<?xml version='1.1'?><r/>",
    "<r/><r/>",
    "<r",
    "",
    "<a>" * (MOST_DEPTH + 1) + "</a>" * (MOST_DEPTH + 1),
]


@pytest.mark.parametrize("body", OTHERS, ids=range(len(OTHERS)))
def test_other_documents_are_left_to_the_process_that_examines_them(body: str) -> None:
    assert SCANNER.terms(body.encode()) is None


PIECES = [
    *["<div>", "</div>", "<p class=a>", "<br/>", "<a href='x?a=1&b=2#c'>", "</a>", '<IMG ALT="1 < 2">', "<table><td>"],
    *[
        "<script>if (a < b && c) {}</script>",
        "<style>a > b {}</style>",
        "<textarea>\n<b>",
        "<svg xlink:href=#a>",
        "<x:y>",
    ],
    *[
        "<!-- a -- b -->",
        "<!doctype html>",
        "<?php a ?>",
        "<![CDATA[x]]>",
        "&nbsp;",
        "&lt;",
        "&#0;",
        "&#128;",
        "&amp;lt;",
    ],
    *[
        "<p a\"b='c'>",
        "<p a<b=1>",
        "<p =a>",
        "<p a:b=1 xmlns=u>",
        "<p data-n=' 7.5\n'>",
        '<p a="x\'y">',
        "<p a='x\"y'>",
    ],
    *[
        "text",
        "7",
        " -1.50 ",
        "\n",
        "\r\n",
        "\x0b",
        "é" * 64,
        "x" * 65,
        "]]>",
        "<a href=\"<!--#include virtual='a'-->\">",
    ],
]
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12), st.sampled_from(["", DOCTYPE]))
@example(["<a name=1 lang=de>"], DOCTYPE)
@example(["<a href=\"<!--#include virtual='a'-->\">"], "")
def test_the_terms_of_html_are_those_of_its_tree(pieces: list[str], head: str) -> None:
    body = (head + "".join(pieces)).encode("utf-8", "replace")
    root, trouble = whole_tree_of(body, PageKind.HTML, "utf-8")
    expected = terms_of(root, is_whole=not trouble)
    assert np.array_equal(SCANNER.terms_of_html(root, is_whole=not trouble), expected), body


def test_most_pages_are_read_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned_terms, "terms_of", None)
    body = "<p class=a>b <a href='x?a=1&amp;b=2'>c</a><br><script>if (a < b) {}</script><svg viewBox='0 0 1 1'/>é&nbsp;"
    root, _ = whole_tree_of((DOCTYPE + body).encode(), PageKind.HTML, "utf-8")
    assert len(SCANNER.terms_of_html(root, is_whole=True)) > 20
