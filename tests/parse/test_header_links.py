import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.document import ALTERNATE, CANONICAL, REFRESH, Document
from centime.model.outcome import PageKind
from centime.parse.header_links import with_header_links

URL = "https://h.example/a/page"
PLAIN = Document(kind=PageKind.HTML, hrefs=("x",), flags=b"\0", links_found=1)


def links(*headers: tuple[str, str]) -> list[tuple[str, int]]:
    document = with_header_links(PLAIN, headers, URL)
    assert len(document.hrefs) == len(document.flags) == document.links_found
    return list(zip(document.hrefs[1:], document.flags[1:], strict=True))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("<b>; rel=next", [("https://h.example/a/b", 0)]),
        ('</b?x,y>; title="a, b"; rel="PREV up"', [("https://h.example/b?x,y", 0)]),
        ("<b>; rel=next, <c>;rel='x', <d>; rel=prev", [("https://h.example/a/b", 0), ("https://h.example/a/d", 0)]),
        ('<https://o.example/>; rel="alternate"; hreflang=de', [("https://o.example/", ALTERNATE)]),
        ("<b>; rel=canonical", [("https://h.example/a/b", CANONICAL)]),
        ("<s.css>; rel=preload; as=style, <i.png>; rel=icon, <t>; rel=stylesheet", []),
        ("<b>; rel=next; anchor=/other", []),
        ("<b>", []),
        ("<b; rel=next", []),
        ("<http://[>; rel=next", []),
        ("<javascript:x()>; rel=next", []),
        ("", []),
    ],
)
def test_link_headers_count_as_link_elements_do(value: str, found: list[tuple[str, int]]) -> None:
    assert links(("link", value)) == found


def test_several_headers_add_up_and_a_refresh_is_one_of_them() -> None:
    assert links(("link", "<b>; rel=next"), ("server", "x"), ("link", "<c>; rel=prev"), ("refresh", "0; url=/d")) == [
        ("https://h.example/a/b", 0),
        ("https://h.example/a/c", 0),
        ("https://h.example/d", REFRESH),
    ]


def test_the_canonical_url_of_the_page_itself_counts_first() -> None:
    header = [("link", "<b>; rel=canonical")]
    assert with_header_links(PLAIN, header, URL).canonical == "https://h.example/a/b"
    own = Document(kind=PageKind.HTML, canonical="c")
    assert with_header_links(own, header, URL).canonical == "c"


def test_without_such_headers_the_document_stays_what_it_is() -> None:
    assert with_header_links(PLAIN, [("content-type", "text/html")], URL) is PLAIN


@given(
    st.lists(st.tuples(st.sampled_from(["link", "refresh"]), st.text(alphabet="<>;,= \"'relnxt/:#?[]\\", max_size=60)))
)
def test_whatever_the_headers_say_links_are_whole_urls(headers: list[tuple[str, str]]) -> None:
    for target, _ in links(*headers):
        assert ada_url.normalize_url(target) == target
