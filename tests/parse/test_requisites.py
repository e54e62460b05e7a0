"""The requisites of pages; lexbor (by selectolax), which builds the tree, is the verifier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from centime.model.document import Document
from centime.parse.document import read_document
from centime.parse.requisites import MOST_FILES, requisites_of
from tests.parse.linear import takes_linear_time

URL = "http://a.example/b/"


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("<img src=a.png>", ["a.png"]),
        ("<IMG SRC='a.png?x=1&amp;y=2'>", ["a.png?x=1&y=2"]),
        ("<img src=a.png src=b.png>", ["a.png"]),
        ("<img srcset='a.png 1x,b.png 2x, c,,,d, e (x,y) 1x'>", ["a.png", "b.png", "c,,,d", "e"]),
        ("<img srcset='a,b.png 1x'>", ["a,b.png"]),
        ("<picture><source srcset=a.avif><img src=a.png></picture>", ["a.avif", "a.png"]),
        ("<img data-src=late.png data-srcset='late2.png 2x'>", ["late.png", "late2.png"]),
        ("<script src=a.js></script><script>'<img src=no>'</script>", ["a.js"]),
        ("<link rel=stylesheet href=a.css><link rel='alternate stylesheet' href=b.css>", ["a.css", "b.css"]),
        ("<link rel=next href=no><link rel=canonical href=no><link href=no>", []),
        ("<link href=i.png rel='Shortcut Icon'><link rel=manifest href=m.json>", ["i.png", "m.json"]),
        ("<link rel=preload as=image imagesrcset='a.png 1x' href=b.png>", ["a.png", "b.png"]),
        ("<video poster=p.jpg src=v.mp4><source src=w><track src=t></video>", ["p.jpg", "v.mp4", "w", "t"]),
        ("<audio src=a.ogg></audio><embed src=e.swf><object data=o.pdf></object>", ["a.ogg", "e.swf", "o.pdf"]),
        ("<iframe src=i.html></iframe><frame src=f.html>", ["i.html", "f.html"]),
        ("<iframe srcdoc=\"<img src='in.png'><iframe srcdoc='<img src=deep.png>'></iframe>\"></iframe>", ["in.png"]),
        ("<body background=b.gif><table background=t.gif><td background=d.gif>", ["b.gif", "t.gif", "d.gif"]),
        ("<input type=image src=i.gif>", ["i.gif"]),
        ("<svg><image href=a /><image xlink:href=b /><use href='s#x'/><use href='#y'/></svg>", ["a", "b", "s#x"]),
        ("<p style='background: url(&quot;a.png&quot;)'><p style=color:red>", ["a.png"]),
        ("<style>@import 'i.css'; a { b: url(a.png) }</style>", ["i.css", "a.png"]),
        ("<!-- <img src=no> --><textarea><img src=no></textarea><title><img src=no></title>", []),
        ("<noscript><img src=n.png></noscript>", ["n.png"]),
        ("<img src=' a.png\n'><img src=''><img src='#x'><img src=data:image/png,x><img src=JavaScript:x>", ["a.png"]),
        ("</img src=no><a href=no>x</a><img src=cut.png", []),
        ("<img src=a.png><img src=a.png>", ["a.png"]),
        ("<plaintext><img src=no>", []),
    ],
)  # fmt: skip
def test_the_files_that_a_page_needs_are_found(page: str, found: list[str]) -> None:
    assert list(requisites_of(page.encode())) == found


def read(body: bytes, content_type: str, url: str = URL) -> Document:
    return read_document(body, url=url, content_type=content_type, requisites=True)


def test_only_those_who_ask_get_the_requisites() -> None:
    assert read(b"<img src=a.png>", "text/html").requisites == ("a.png",)
    assert read_document(b"<img src=a.png>", url=URL, content_type="text/html").requisites == ()


def test_style_sheets_manifests_and_xml_have_requisites_and_other_files_have_none() -> None:
    sheet = b"@import 'a.css'; b { c: url(d.png) }"
    assert read(sheet, "text/css").requisites == ("a.css", "d.png")
    assert read(sheet, "", URL + "s.css?v=1").requisites == ("a.css", "d.png")
    assert read(sheet, "text/plain").requisites == read(sheet, "image/png", URL + "s.css").requisites == ()
    manifest = b'{"icons": [{"src": "i.png"}, {"src": 7}, 8]}'
    assert read(manifest, "application/manifest+json").requisites == ("i.png",)
    for broken in (b"[]", b"{", b'{"icons": 1}', b"[" * 100_000, b"\xff"):
        assert read(broken, "application/manifest+json").requisites == ()
    page = b'<html xmlns="http://www.w3.org/1999/xhtml"><script src="a.js"/><img src="b.png"/></html>'
    assert read(page, "application/xhtml+xml").requisites == ("a.js", "b.png")
    assert read(b'<?xml-stylesheet href="s.xsl"?><a/>', "text/xml").requisites == ("s.xsl",)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("import './a.js'; load(\"b/index.js?v=1\"); i.src = `/c.PNG`", ["./a.js", "b/index.js?v=1", "/c.PNG"]),
        ("x = name + '.js'; y = 'a*.png'; z = `${a}.css`; w = 'no such.js'; v = 'js'; u = 'a.html'", []),
        ("it's 'a.js' \"'b.js'\"", ["a.js", "b.js"]),
        ("'" * 50 + "a.js'", ["a.js"]),
    ],
)
def test_the_files_that_scripts_name_in_whole_are_guessed(script: str, found: list[str]) -> None:
    assert list(requisites_of(f"<script>{script}</script>".encode())) == found
    assert list(read(script.encode(), "text/javascript; charset=utf-8").requisites) == found
    assert read(script.encode(), "text/plain", URL + "x.txt").requisites == ()


def test_a_page_has_at_most_so_many_requisites() -> None:
    page = b"".join(b"<img src=%d>" % number for number in range(MOST_FILES + 10))
    assert len(requisites_of(page)) == MOST_FILES


NAMES = ["img", "IMG", "script", "source", "video", "embed", "p", "iframe", "style", "textarea", "title", "td", "svg"]
PIECES = [
    "<", ">", "/", "=", "'", '"', " src=", " src='", " poster=", " style=", "<!--", "-->", "</", "a", "b.png", "&amp;",
    "\0", "é", "\n", "]]>", "<![CDATA[", "<?", "x",
]  # fmt: skip
TEXTS = st.lists(
    st.sampled_from([*PIECES, *(f"<{name}" for name in NAMES), *(f"</{name}>" for name in NAMES)]), max_size=50
).map("".join)


@given(TEXTS, st.booleans())
def test_any_bytes_are_read(text: str, xml: bool) -> None:
    assert all(href == href.strip() and href for href in requisites_of(text.encode(), xml=xml))


ELEMENTS = st.sampled_from(
    ["<p>", "</p>", "<div>", "</div>", "<b>x", "</b>", "text", "<!-- <img src=no> -->", "<li>", "<h1>t</h1>", "&lt;"]
) | st.builds(
    "<{} {}={}{}{}>".format,
    st.sampled_from(["img", "IMG", "embed", "source", "script></script><p", "track"]),
    st.sampled_from(["src", "SRC", "alt", "data-x"]),
    st.sampled_from(["'", '"']),
    st.text("abc./?=& é", min_size=1, max_size=6),
    st.just(""),
)


@given(st.lists(ELEMENTS, max_size=12))
def test_the_sources_of_elements_are_those_of_the_tree(pieces: list[str]) -> None:
    def closed(piece: str) -> str:
        quote = next((quote for quote in "'\"" if f"={quote}" in piece), "")
        return f"{piece[:-1]}{quote}>" if quote else piece

    page = "<body>" + "".join(map(closed, pieces))
    tree = LexborHTMLParser(page)
    sources = [
        node.attributes["src"] for node in tree.css("img, embed, source, script, track") if "src" in node.attributes
    ]
    wanted = dict.fromkeys(source.strip() for source in sources if source and source.strip())
    assert set(requisites_of(page.encode())) == {source for source in wanted if not source.startswith("#")}


@pytest.mark.parametrize(
    "piece", [b"<img src='", b"<a <", b"<!--", b"<style>", b"<p style='(", b"<img srcset='a,", b"<x ", b"&"]
)
def test_hostile_pages_take_linear_time(piece: bytes) -> None:
    assert takes_linear_time(requisites_of, piece)
