import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.document import ALTERNATE, CANONICAL, EMBEDDED, NOFOLLOW, REFRESH, Document
from centime.parse.document import read_document


def read(text: str, url: str = "https://h/d/p", *, anchors: bool = False) -> Document:
    return read_document(text.encode(), url=url, content_type="text/html; charset=utf-8", anchors=anchors)


HREFS = st.text(alphabet="abc/.?=&%#:;é \t", max_size=12)


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Clean documents: balanced, quoted, of elements that nest as written."""

    def block(depth: int) -> str:
        kind = draw(st.sampled_from(["text", "link", "area", "frame", "div", "list", "comment", "script"]))
        if kind == "div" and depth < 3:
            return "<div>" + "".join(block(depth + 1) for _ in range(draw(st.integers(0, 3)))) + "</div>"
        if kind == "list" and depth < 3:
            return "<ul>" + "".join(f"<li>{block(depth + 1)}</li>" for _ in range(draw(st.integers(0, 3)))) + "</ul>"
        href = draw(HREFS).replace("&", "&amp;")
        return {
            "link": f'<a href="{href}">t</a>',
            "area": f'<map><area href="{href}"></map>',
            "frame": f'<iframe src="{href}"></iframe>',
            "comment": f'<!-- <a href="{href}"> -->',
            "script": f"<script>'<a href=\"{href}\">'</script>",
        }.get(kind, "text")

    return (
        "<!doctype html><html><head><title>t</title></head><body>"
        + "".join(block(0) for _ in range(draw(st.integers(0, 6))))
        + "</body></html>"
    )


def independently(text: str) -> set[str]:
    """The links by another parser and another way."""
    tree = lxml.html.document_fromstring(text)
    found = [
        node.get(name).strip(" \t\n\r\x0c")
        for path, name in (("//a", "href"), ("//area", "href"), ("//iframe", "src"))
        for node in tree.xpath(path)
    ]
    return {href for href in found if href and not href.startswith("#")}


@given(pages())
def test_links_are_those_that_another_parser_finds(text: str) -> None:
    assert set(read(text).hrefs) == independently(text)


def test_each_kind_of_link_has_its_flag() -> None:
    document = read(
        "<link rel=canonical href=/c><link rel=alternate hreflang=fr href=/fr><link rel='next' href=/n>"
        "<link rel=stylesheet href=/s><link rel='alternate stylesheet' href=/s2><link rel=icon href=/i>"
        "<link rel=preload href=/l><meta http-equiv=Refresh content='5; URL=/r'><a href=/a>x</a>"
        "<a href=/no rel='external NoFollow'>x</a><a rel=ugc href=/u>x</a><a rel=sponsored href=/sp>x</a>"
        "<map><area href=/ar></map><iframe src=/f></iframe>"
    )
    assert dict(zip(document.hrefs, document.flags, strict=True)) == {
        "/c": CANONICAL, "/fr": ALTERNATE, "/n": 0, "/r": REFRESH, "/a": 0, "/no": NOFOLLOW, "/u": NOFOLLOW,
        "/sp": NOFOLLOW, "/ar": 0, "/f": EMBEDDED,
    }  # fmt: skip
    assert document.canonical == "/c"


def test_frames_of_a_frameset_are_links() -> None:
    document = read("<html><frameset><frame src=a.html><frame src=b.html></frameset></html>")
    assert document.hrefs == ("a.html", "b.html")


def test_links_for_readers_without_frames_are_links() -> None:
    document = read(
        "<frameset><frame src=a><noframes><body><a href=b>for <b>readers</b></a></body></noframes></frameset>"
    )
    assert document.hrefs == ("a", "b")
    assert read("<p>x</p><noframes>for readers</noframes>").signature != read("<p>x</p>").signature


@pytest.mark.parametrize(
    "href", ["#x", "", " ", "javascript:void(0)", " JavaScript:x", "mailto:a@b", "tel:1", "data:,x", "MAILTO:x"]
)
def test_what_cannot_be_a_page_is_left_out(href: str) -> None:
    assert read(f'<a href="{href}">x</a>').hrefs == ()


def test_white_space_around_an_href_is_stripped_and_the_rest_kept_as_written() -> None:
    assert read('<a href="\n /a b?x=1&amp;y=2#f \t">x</a>').hrefs == ("/a b?x=1&y=2#f",)


def test_a_link_that_is_there_twice_is_kept_once_and_may_be_followed_if_one_may() -> None:
    document = read("<a href=/x rel=nofollow>1</a><a href=/y>2</a><a href=/x>3</a>")
    assert document.hrefs == ("/x", "/y")
    assert list(document.flags) == [0, 0]
    assert document.links_found == 2


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("<a href=x>", "https://h/d/p"),
        ("<base href='/b/'><base href='/c/'>", "https://h/b/"),
        ("<base target=x><base href='sub/'>", "https://h/d/sub/"),
        ("<base href='https://other.example'>", "https://other.example/"),
        ("<base href='javascript:x'>", "https://h/d/p"),
        ("<base href='http://[bad'>", "https://h/d/p"),
    ],
)
def test_the_first_base_with_an_href_counts(text: str, base: str) -> None:
    assert read(text).base == base


@pytest.mark.parametrize(
    ("text", "noindex", "nofollow"),
    [
        ("<meta name=robots content='noindex, nofollow'>", True, True),
        ("<META NAME=ROBOTS CONTENT=NONE>", True, True),
        ("<meta name=Centime content=noindex>", True, False),
        ("<meta name=otherbot content=noindex>", False, False),
        ("<meta name=robots content='index,follow'>", False, False),
        ("<meta name=robots content=noindex><meta name=robots content=nofollow>", True, True),
    ],
)
def test_robots_directives_of_meta_are_read(text: str, noindex: bool, nofollow: bool) -> None:
    document = read(text)
    assert (document.noindex, document.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("content", "target"),
    [("0;url=/x", "/x"), ("3; URL = '/x' ", "/x"), ("1,/x", "/x"), ('0;url="/x"y', "/x"), ("5", None)],
)
def test_a_refresh_leads_on(content: str, target: str | None) -> None:
    document = read(f"<meta http-equiv=refresh content='{content}'>".replace("'/x'", "&#39;/x&#39;"))
    assert document.hrefs == ((target,) if target else ())


def test_title_language_and_anchors_are_read() -> None:
    document = read(
        "<html lang='de-AT'><title>\n A  title </title><svg><title>no</title></svg>"
        "<a href=/1> one <b>two</b>\n</a><a href=/2><img alt=picture></a>",
        anchors=True,
    )
    assert (document.title, document.language) == ("A title", "de-AT")
    assert document.anchors == ("one two", "picture")


def test_hrefs_of_another_encoding_come_out_right() -> None:
    document = read_document(
        "<a href='/é'>x</a>".encode("latin-1"), url="https://h/", content_type="text/html; charset=iso-8859-1"
    )
    assert document.hrefs == ("/é",)


def test_the_text_of_a_link_ends_where_it_or_the_next_begins_and_is_cut() -> None:
    document = read(
        "<nav><a href=/1>one<br>two &amp; <img alt='a &lt; b'></a></nav><a href=/2>x<a href=/3>"
        + "é" * 3_000
        + "</a> no"
        "<map><area href=/4 alt=' an  area '></map><a href=/5><script>no</script></a>",
        anchors=True,
    )
    assert document.hrefs == ("/1", "/2", "/3", "/4", "/5")
    assert document.anchors == ("one two & a < b", "x", "é" * 500, "an area", "")


def test_anchors_change_nothing_about_links() -> None:
    text = (
        "<a href=/x rel=nofollow>1</a><a href=#a>2</a><a href=mailto:x>3</a>"
        "<link rel=next href=/n title=N><a href=/n>4</a><a href=/x>5</a>"
    )
    with_anchors, without = read(text, anchors=True), read(text)
    assert (with_anchors.hrefs, with_anchors.flags) == (without.hrefs, without.flags)
    assert with_anchors.anchors == ("1", "N")
    assert without.anchors == ()


@pytest.mark.parametrize(
    "text", ["<html lang=de>", "<HTML LANG='de '>", "<p>x<html lang=de><html lang=fr>", "<html><html lang=&#100;e>"]
)
def test_the_language_is_that_of_the_first_html_with_one(text: str) -> None:
    assert read(text).language == "de"


def test_links_of_many_hrefs_are_kept_once_though_the_table_of_the_seen_is_small() -> None:
    hrefs = [f"/{number % 3_000}" for number in range(9_000)]
    assert read("".join(f"<a href={href}>x</a>" for href in hrefs)).hrefs == tuple(hrefs[:3_000])


def test_resources_are_no_links_whatever_their_case_and_other_relations_are() -> None:
    rels = ["STYLESHEET", "icon", "Shortcut Icon", "preload", "next stylesheet", "x", ""]
    assert read("".join(f"<link rel='{rel}' href=/{place}>" for place, rel in enumerate(rels))).hrefs == ()
    assert read("<link rel='Up' href=/1><link rel='shortcut next' href=/2><link href=/3 rel=n&#101;xt>").hrefs == (
        "/1",
        "/2",
        "/3",
    )


def test_links_of_svg_are_links() -> None:
    body = (
        b"<a xlink:href='/none'>0</a><svg><a xlink:href='/x'><text>1</text></a>"
        b"<a href='/y' xlink:href='/no'>2</a><a>3</a><use href='#z'/></svg><a>4</a><a href='/z'>5</a>"
    )
    assert read_document(body, url="http://h/", content_type="text/html").hrefs == ("/x", "/y", "/z")
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' xmlns:l='http://www.w3.org/1999/xlink'>%s</svg>"
    links = b"<a l:href='/x'/><a href='/y'/><image href='/i.png'/>"
    assert read_document(svg % links, url="http://h/", content_type="image/svg+xml").hrefs == ("/x", "/y")


@pytest.mark.parametrize("inside", ["svg", "math"])
def test_what_describes_a_page_does_not_stand_in_a_picture(inside: str) -> None:
    picture = "<base href=/no/></base><link rel=canonical href=/no><link rel=next href=/no><title>No</title>"
    document = read(f"<{inside} lang=de><html lang=fr>{picture}</{inside}><title>Yes</title><a href=t>1</a>")
    assert (document.base, document.canonical, document.title) == ("https://h/d/p", "", "Yes")
    assert (document.hrefs, document.language) == (("t",), "")
    closed = read(f"<{inside}><base href=/no/ /></{inside}><base href=/yes/><a href=t>1</a>")
    assert closed.base == "https://h/yes/"


def test_html_in_a_picture_describes_the_page() -> None:
    assert read("<svg><foreignObject><base href=/b/></foreignObject></svg>").base == "https://h/b/"
    assert read("<svg><meta name=robots content=nofollow></svg>").nofollow
    assert read("<svg><a href=/one>1</a><a xlink:href=/two>2</a></svg>").hrefs == ("/one", "/two")


def test_links_in_a_template_count_if_browsers_show_it() -> None:
    shown = (
        "<base href=/no/><title>No</title><meta name=robots content=none><a href=/{0}>x</a><iframe src=/{0}f></iframe>"
    )
    document = read(
        f"<my-nav><template shadowrootmode=open>{shown.format('open')}</template></my-nav>"
        f"<my-nav><template shadowrootmode='CLOSED'>{shown.format('closed')}</template></my-nav>"
        f"<template>{shown.format('no')}<template shadowrootmode=open>{shown.format('no')}</template></template>"
        f"<template shadowrootmode=other>{shown.format('no')}</template><a href=/after>x</a>"
    )
    assert document.hrefs == ("/open", "/openf", "/closed", "/closedf", "/after")
    assert (document.base, document.title, document.nofollow) == ("https://h/d/p", "", False)


def test_the_page_in_a_frame_has_links() -> None:
    document = read(
        "<title>Page</title>"
        "<iframe srcdoc='&lt;title>Frame&lt;/title>&lt;a href=one>1 &amp;amp; 2&lt;/a>"
        "&lt;a href=two rel=nofollow>'></iframe>"
        '<iframe src=/f srcdoc="<base href=/b/><a href=three>3</a>'
        '<iframe srcdoc=&quot;<a href=four>4</a>&quot;></iframe>">'
        "</iframe><a href=five>5</a><template><iframe srcdoc='<a href=no>'></iframe></template>",
        anchors=True,
    )
    assert document.hrefs == ("one", "two", "/f", "https://h/b/three", "https://h/b/four", "five")
    assert list(document.flags) == [0, NOFOLLOW, EMBEDDED, 0, 0, 0]
    assert document.anchors == ("1 & 2", "", "", "3", "4", "5")
    assert (document.title, document.base, document.nofollow) == ("Page", "https://h/d/p", False)


def test_a_frame_that_asks_for_it_is_not_followed_and_the_page_is() -> None:
    document = read("<iframe srcdoc='<meta name=robots content=nofollow><a href=/a>'></iframe><a href=/b>")
    assert dict(zip(document.hrefs, document.flags, strict=True)) == {"/a": NOFOLLOW, "/b": 0}
    assert not document.nofollow


def test_what_is_not_read_of_very_many_frames_is_told() -> None:
    document = read("".join(f"<iframe srcdoc='<a href=/{place}>'></iframe>" for place in range(1_002)))
    assert len(document.hrefs) == 1_000
    assert document.trouble == "Only the first 1000 of 1002 frames with srcdoc were read."
