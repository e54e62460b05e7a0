"""The tree in which XPaths are evaluated: XPath's data model of a document by itself, whatever strangers write."""

from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.tree import whole_tree_of


def test_many_errors_of_xml_with_entities_may_hide_a_limit() -> None:
    errors = b"<a b='1' b='2'/>" * 200
    for head, is_said in ((b"", False), (b"<!DOCTYPE r [<!ENTITY x 'y'>]>", True)):
        root, trouble = whole_tree_of(head + b"<r>" + errors + b"</r>", PageKind.XML, "utf-8")
        assert root is not None
        assert bool(trouble) is is_said


CANARY = "a canary that nobody may read"


@pytest.fixture
def canary(tmp_path: Path) -> str:
    (tmp_path / "canary.dtd").write_text(f"<!ENTITY x '{CANARY}'><!ATTLIST r z CDATA '{CANARY}'>{CANARY}")
    return (tmp_path / "canary.dtd").as_uri()


def found(text: str, xpath: str, kind: PageKind = PageKind.XML) -> Any:
    root, trouble = whole_tree_of(text.encode(), kind, "utf-8")
    assert not trouble
    return root.xpath(xpath)


def test_a_tree_has_comments_entities_and_defaults_as_the_data_model_of_xpath() -> None:
    declared = """<!DOCTYPE r [<!ENTITY e "a<b>in</b>c"><!ATTLIST q d CDATA "7">]>"""
    text = f"{declared}<r><!-- note --><q>&e;&amp;</q><?p i?></r>"
    assert found(text, "string(//comment())") == " note "
    assert found(text, "string(//q)") == "ainc&"
    assert found(text, "string(//q/b)") == "in"
    assert found(text, "string(//q[@d = 7]/@d)") == "7"
    assert found(text, "string(//processing-instruction('p'))") == "i"
    assert found("<p>a<!-- note -->b", "count(//p/text()) + count(//comment())", PageKind.HTML) == 3


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r SYSTEM "{}" [<!ENTITY y "own"><!ATTLIST r a CDATA "b">]><r>&x;&y;</r>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "{}"> %p; <!ENTITY y "own"><!ATTLIST r a CDATA "b">]><r>&x;&y;</r>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "{}"><!ENTITY y "own"><!ATTLIST r a CDATA "b">]><r>&x;&y;</r>',
        '<!DOCTYPE r PUBLIC "p" "{}" [<!ATTLIST r a CDATA "b">]><r>own&x;</r>',
    ],
)
def test_nothing_external_is_in_a_tree(canary: str, text: str) -> None:
    root, _ = whole_tree_of(text.replace("{}", canary).encode(), PageKind.XML, "utf-8")
    assert CANARY not in etree.tostring(root, encoding="unicode")
    assert "own" in root.xpath("string(.)")
    assert root.get("a") == "b"


def test_entities_of_a_broken_document_are_not_expanded_and_that_is_said() -> None:
    text = b"<!DOCTYPE r [<!ENTITY e 'x'>]><r>&undeclared;&e;<a/></r>"
    root, trouble = whole_tree_of(text, PageKind.XML, "utf-8")
    assert "not expanded" in trouble
    assert root.xpath("count(//a)") == 1


def test_entities_that_grow_are_cut_and_that_is_said() -> None:
    growing = "".join(f"<!ENTITY e{one} '{f'&e{one - 1};' * 10}'>" for one in range(1, 10))
    text = f"<!DOCTYPE r [<!ENTITY e0 'xxxxxxxxxx'>{growing}]><r>&e9;<a/></r>"
    root, trouble = whole_tree_of(text.encode(), PageKind.XML, "utf-8")
    assert "only a part" in trouble
    assert len(etree.tostring(root)) < 1_000


XHTML = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'


@pytest.mark.parametrize("kind", [PageKind.HTML, PageKind.XML])
def test_a_page_of_xhtml_is_written_with_nothing_that_it_does_not_have(kind: PageKind) -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml" lang="de"><head><title>a</title></head><body/></html>'
    root, _ = whole_tree_of((XHTML + page).encode(), kind, "utf-8")
    assert etree.tostring(root, encoding="unicode") == page


def test_references_stay_where_an_entity_is_declared_elsewhere() -> None:
    text = XHTML.replace(">", ' [<!ENTITY known "k"><!ENTITY far SYSTEM "far.ent">]>')
    root, _ = whole_tree_of(f"{text}<html><a>&far;</a><b></html>".encode(), PageKind.XML, "utf-8")
    assert "&far;" in etree.tostring(root, encoding="unicode")
