"""XPaths of subscriptions: evaluating them is safe, and the hash differs exactly when what they find does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.worker.conditions import WatchedPage
from centime.crawl.worker.xpath import check_pace, check_xpath
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.shard.people.notices import Condition

PAGE = "<html><body><h1>News</h1><p class=price>7 €</p><p>Other</p><a href=/x>more</a></body></html>"


def found(body: str | bytes, xpath: str, kind: PageKind = PageKind.HTML) -> tuple[int, str] | None:
    octets = body.encode() if isinstance(body, str) else body
    return WatchedPage(octets, kind, "utf-8").found(Condition(xpath))


@pytest.mark.parametrize(
    ("xpath", "text"),
    [
        ("//p[@class='price']", "7 €"),
        ("//p", "7 € Other"),
        ("//p/text()", "7 € Other"),
        ("//a/@href", "/x"),
        ("count(//p)", "2.0"),
        ("string(//h1)", "News"),
        ("//video", ""),
    ],
)
def test_an_xpath_finds_what_it_says(xpath: str, text: str) -> None:
    result = found(PAGE, xpath)
    assert result is not None
    assert result[1] == text


def test_the_hash_differs_when_what_is_found_differs_and_only_then() -> None:
    price = "//p[@class='price']"
    assert found(PAGE, price) == found(PAGE.replace("Other", "Another").replace("7 €", " 7\n  €"), price)
    assert found(PAGE, price) != found(PAGE.replace("7 €", "8 €"), price)
    assert found(PAGE, price) != found(PAGE.replace("price", "cost"), price)
    assert found("<p>ab</p><p>c</p>", "//p") != found("<p>a</p><p>bc</p>", "//p")


def test_xml_is_searched_with_its_namespaces_and_its_own_entities() -> None:
    secret = (
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname"><!ENTITY y "yy">]><a xmlns="urn:n"><b>1&x;&y;</b></a>'
    )
    assert found(secret, "//b", PageKind.XML) == found("<a/>", "//b", PageKind.XML)
    result = found(secret, "//*[local-name()='b']", PageKind.XML)
    assert result is not None
    assert result[1] == "1yy"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<b><c>ab</c><c>c</c></b>", "<b><c>a</c><c>bc</c></b>"),
        ("<b><c/>x</b>", "<b><c>x</c></b>"),
        ("<b><c x='1'/><c/></b>", "<b><c/><c x='1'/></b>"),
        ("<b><?say x?></b>", "<b><?say y?></b>"),
        ("<b><b>x</b><b/></b>", "<b><b/><b>x</b></b>"),
    ],
)
def test_an_element_of_xml_counts_with_its_structure(one: str, other: str) -> None:
    assert found(one, "//b", PageKind.XML) != found(other, "//b", PageKind.XML)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<b x='1' y='2'><c/></b>", '<b y="2" x="1"><c></c></b>'),
        ("<b><c>x y</c></b>", "<b>\n  <!-- new -->\n  <c>x\n y</c>\n</b>"),
        ("<b xmlns:p='urn:p'><p:c/></b>", "<b xmlns:q='urn:p'><q:c/></b>"),
        ("<b>&lt;</b>", "<b><![CDATA[<]]></b>"),
    ],
)
def test_what_says_the_same_in_xml_has_the_same_hash(one: str, other: str) -> None:
    assert found(one, "//b", PageKind.XML) == found(other, "//b", PageKind.XML)


def test_an_element_of_html_counts_by_what_a_reader_sees() -> None:
    assert found("<div><p>ab<p>c</div>", "//div") != found("<div><p>a<p>bc</div>", "//div")
    row = "<table><tr><td>{}<td>{}</table>"
    assert found(row.format("x", ""), "//tr") != found(row.format("", "x"), "//tr")
    assert found("<div>a b</div>", "//div") == found("<div><p>a <b>b</b></p><!-- c --></div>", "//div")


def test_a_comment_can_be_watched() -> None:
    for kind in (PageKind.HTML, PageKind.XML):
        result = found("<p><!-- build 7 -->x</p>", "//comment()", kind)
        assert result is not None
        assert result[1] == "build 7"


def test_an_xpath_finds_nothing_in_a_page_without_elements_and_that_has_a_hash() -> None:
    nothing = found(PAGE, "//video")
    assert found(PAGE, "//p", PageKind.OTHER) == found(b"", "//p") == nothing
    assert found("<p></p>", "//p") != nothing, "one empty element is not the same as none"


def test_a_processing_instruction_has_its_text() -> None:
    result = found("<a><?say hello?></a>", "//processing-instruction()", PageKind.XML)
    assert result is not None
    assert result[1] == "hello"


def test_an_xpath_that_cannot_be_evaluated_in_a_page_has_no_result() -> None:
    assert found(PAGE, "//p[no-such-function()]") is None


def test_attributes_of_xml_count_and_those_of_html_do_not() -> None:
    one, other = "<a><b c='1'><d/></b></a>", "<a><b c='2'><d/></b></a>"
    assert found(one, "//b", PageKind.XML) != found(other, "//b", PageKind.XML)
    assert found(one, "//d", PageKind.XML) == found(other, "//d", PageKind.XML)
    assert found(one, "//b") == found(other, "//b")


@given(
    st.binary(max_size=300),
    st.sampled_from([PageKind.HTML, PageKind.XML]),
    st.sampled_from(["utf-8", "", "no-such", "utf-16"]),
)
def test_no_bytes_can_harm(body: bytes, kind: PageKind, encoding: str) -> None:
    page = WatchedPage(body, kind, encoding)
    for xpath in ("//p", "count(//*)", "//@*"):
        assert page.found(Condition(xpath)) == WatchedPage(body, kind, encoding).found(Condition(xpath))


@pytest.mark.long
def test_an_xpath_that_takes_too_long_on_a_large_page_is_refused() -> None:
    for good in ("//p[@class='price']/text()", "//table//tr/td[2]", "count(//li)", "1 + 1"):
        check_xpath(good)
        check_pace(good)
    with pytest.raises(BadSetting, match="too long"):
        check_pace("//*[count(//*[count(//*) > 1]) > 1]")
    with pytest.raises(BadSetting, match="too long"):
        check_pace("count(//*" + "[count(//*" * 4 + ")]" * 4 + ")")
    with pytest.raises(BadSetting, match="nested at most 4 deep, not 60"):
        check_pace("count(//*" + "[count(//*" * 60 + ")]" * 60 + ")")
    check_pace("//a[b[c[. = '[[[[[[[['] or d]]")
    with pytest.raises(BadSetting, match="1000 characters"):
        check_xpath("//a" * 500)
