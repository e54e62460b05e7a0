"""The reader of HTML beside a tree built by WHATWG's rules: links, title, base, canonical URL and visible words are
the same."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from centime.parse.html import read_html
from centime.parse.scan import scan

UNSEEN = "script,style,noscript,nav,footer,aside,[hidden],[style*='display:none'],[style*='display: none']"
PLACES = (
    ("a", "href"),
    ("area", "href"),
    ("iframe", "src"),
    ("link[rel=next]", "href"),
    ("link[rel=canonical]", "href"),
)


@dataclass(frozen=True)
class Read:
    links: frozenset[str]
    title: str
    canonical: str
    words: tuple[str, ...]


def by_tree(text: str) -> Read:
    tree = LexborHTMLParser(text.encode())
    found = [
        (node.attributes.get(name) or "").strip(" \t\n\r\x0c")
        for tag, name in PLACES
        for node in tree.css(f"{tag}[{name}]")
    ]
    titles = [node.text() for node in tree.css("title") if node.parent is not None and node.parent.tag != "svg"]
    canonical = tree.css_first("link[rel=canonical][href]")
    for node in reversed(tree.css(UNSEEN + ",:not(svg)>title,iframe")):
        node.decompose()
    return Read(
        frozenset(href for href in found if href and href[0] != "#"),
        next((" ".join(title.split()) for title in titles if title.split()), ""),
        (canonical.attributes.get("href") or "").strip() if canonical else "",
        tuple(sorted(tree.body.text().split())) if tree.body else (),
    )


def by_scan(text: str) -> Read:
    document = read_html(text.encode(), url="https://h/d/p", encoding="utf-8", digest=b"")
    words = scan(text.encode()).text.tobytes().decode().split()
    return Read(frozenset(document.hrefs), document.title, document.canonical, tuple(sorted(words)))


def tags(names: str) -> list[str]:
    return [tag for name in names.split() for tag in (f"<{name}>", f"</{name}>")]


MANY = [
    "<a href=/1>", "</a>", "<a href='/2?a=1&amp;b&copy=2&copy;&lt'>", "<A HREF='/q>3' x>", "<area href=4/>",
    "<a href=/5 href=/6>", "<a\n href\n=\n/7\n>", "<link rel=next href=/9>", "<link rel=canonical href=/c>",
    "<iframe src=/8></iframe>",
]  # fmt: skip
ODD = [
    "<!-- <a href=/no> -->", "<!-->", "<!--->", "<!-- - -- x --!>", "<? x >", "<!doctype html>", "<![CDATA[ x ]]>",
    "</ bogus>", "</>", " <> ", " < a ", " <3 ", " &amp; ", " &nope; ", " &#233; ", " x&nbsp;y ", "<br>", "<img alt=x>",
    "<hr>", "<input>", "<br/>", "</br>", "</p>",
]  # fmt: skip
RAW = [
    "<script>'<a href=/no>' </script>", "<script><!-- <script> </script> </script x> no --> </script >",
    "<style> p{} </style>", "<script>a<!--</script>", "<textarea> in <a href=/no> &eacute </textarea>",
    "<title> t &eacute </title>", "<noembed></noembed>", "<xmp> <b> </xmp>",
]  # fmt: skip
HIDING = [
    *tags("nav footer aside template"), "<div hidden>", "<p hidden>", "<li hidden>", "<dd hidden>",
    "<section style='x:y;display: none'>", "<button hidden>",
]  # fmt: skip
WORDS = [f" w{number} " for number in range(12)]
LINES = tags("span b i em code font label q u small")
BLOCKS = tags(
    "div p ul li ol dl dt dd section article main blockquote h1 h2 pre fieldset button address figure details summary"
)
ANY = [*WORDS, *WORDS, *MANY, *ODD, *RAW, *BLOCKS, *LINES, *HIDING, *HIDING]
FOREIGN = [
    *WORDS, *tags("svg svg"), "<svg><g>", "</g>", "<path d='>' />", "<g/>", "<svg/>", "<svg><title> s </title></svg>",
    "<svg><![CDATA[ cd <a href=/no> ]]></svg>",
    "<svg><style> no </style></svg>", "<svg><a href=/s>", "</a>", "<div>", "</div>", "<nav>", "</nav>", "<p>",
]  # fmt: skip
TABLES = [
    *WORDS,
    *tags("table td th tr div p ul li"),
    "<td hidden>",
    "<a href=/1>",
    "<nav>",
    "</nav>",
    "<table>",
    "<tr><td>",
]


def soup(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=25).map(
        lambda found: "<!doctype html><html><body>" + "".join(found)
    )


@given(soup(ANY))
def test_soup_is_read_as_the_tree_reads_it(text: str) -> None:
    assert by_scan(text) == by_tree(text)


@given(soup(FOREIGN))
def test_pictures_in_the_page_are_read_as_the_tree_reads_them(text: str) -> None:
    assert by_scan(text) == by_tree(text)


@given(soup(TABLES))
def test_tables_are_read_as_the_tree_reads_them(text: str) -> None:
    assert by_scan(text) == by_tree(text)


@pytest.mark.parametrize(
    "text",
    [
        "<a href='x>y'>1</a>", '<a title=">" href="/a">', "<a href=x href=y>", "<a href=x/>", "<a href=/x/ >",
        "<A HREF=/Up>", "<a/href=/x>", "<a href = '/x' >", '<a href="/x"rel=nofollow>', "<a 'href=/x>", "<a =href=/x>",
        "<a href==/x>", "<a href='/a'href='/b'>", "<a href=>", "<a href= >", "<a href>", "<a href=/x", "<a href='/x",
        "<a href='/x'", "x <a", "x <", "x </", "x </a", "x &", "x &#", "x &#x", "<", "", "<a href='/a\x00b'>", "a\x00b",
        "<a\x00 href=/x>", "<a hr\x00ef=/x>", "<!--><a href=/x>-->", "<!---><a href=/x>-->", "<!--a--!><a href=/x>",
        "<!-- - -- --- ><a href=/x>--><a href=/y>", "<!--<!--><a href=/x>-->", "<!--", "<!-", "<!", "<!-- <a href=/x>",
        "<!x><a href=/x>", "<script></script ><a href=/x>", "<script></script/><a href=/x>",
        "<script></script\n<a href=/x>", "<script></scripty><a href=/x>", "<script></SCRIPT a='>'><a href=/x>",
        "<script><!--<script></script><a href=/x>--></script><a href=/y>", "<script><!--</script><a href=/x>",
        "<script><!--><script></script><a href=/x>", "<script><!-- <scripty></script><a href=/x>",
        "<script></a</script><a href=/x>", "<title>a</b><i></title x><a href=/x>",
        "<title>&lt;b&gt; &amp;amp; &notit; &not;it</title>", "<svg><title>s</title></svg><title>t</title>",
        "<title></title><title>t</title>", "<title> \n </title>", "<title>a",
        "<textarea><a href=/x></textarea><a href=/y>", "<textarea> a", "<plaintext><a href=/x>",
        "<style><a href=/x></style><a href=/y>", "<style>", "<iframe><a href=/x></iframe>", "<xmp><a href=/x></xmp>",
        "<a href='?a=1&copy=2&copy;=3&copy 4&lt5&lt;6&amp'>", "<a href='&#x2F;x&#47y&#0;&#x110000;&#xD800;&#128;'>",
        "<a href='&ngE;&CounterClockwise'>", "<form><form><a href=/x></form>a</form>", "<a href=/x><a href=/y>",
        "<a href='/a\r\nb\rc'>", "<a href=' \t/x\n'>", "<base href=/b/><a href=x>",
        "<template><a href=/x>a</template>b", "<svg><a href=/x><path/></a></svg>", "<math><mi>x</mi></math>",
        "<select><option>a <option>b</select>", "<svg><script><a href=/x></script></svg><a href=/y>",
        "<svg><![CDATA[a]]>b</svg>", "<![CDATA[a]]>b", "<svg><p>a</svg>b", "</br>a", "</p>a",
        "<?php echo '<a href=/x>' ?>", "</ a href=/x>b>", "</3>a", "<3>a", "<a.b href=/x>", "<image alt=x>",
        "<p hidden>a<p>b", "<li hidden>a<li>b", "<div hidden>a<p>b</div>c", "<nav>a<div>b</nav>c",
        "<dl><dt hidden>a<dd>b</dl>", "<table><td hidden>a<td>b </table>c", "<p hidden>a<ul><li>b",
        "<!doctype html><p hidden=until-found>a<table><td>b </table>c", "<tr hidden>a",
        "<table><tr hidden><td>a<tr><td>b</table>", "<h1 hidden>a</h2>b", "<option hidden>a<option>b",
        "<div style='x:y' style='display:none'>a</div>", "<div hidden>a</span></p></section>b</div>c",
        "<object hidden>a</div>b</object>c", "<div><span hidden>a</div>b", "<ul><li hidden>a<ul><li>b</ul>c</ul>d",
        "<br hidden>a", "<img hidden>a", "<svg hidden>a<g>b</g></svg>c", "<svg/>a<svg hidden />b",
        "<button hidden>a<button>b",
    ],
)  # fmt: skip
def test_hard_cases_are_read_as_the_tree_reads_them(text: str) -> None:
    assert by_scan(text) == by_tree(text)
