"""The reader of HTML beside a tree built by WHATWG's rules: links, title, base, canonical URL, and which words stand on
the same path."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from centime.parse.html import read_html
from centime.parse.scan import scan
from centime.parse.words import ATTRIBUTE

PLACES = (
    ("a", "href"),
    ("area", "href"),
    ("iframe", "src"),
    ("link[rel=next]", "href"),
    ("link[rel=canonical]", "href"),
)


NO_STEPS = {"html", "head", "body"}
LANDMARKS = {"nav", "main", "article", "section", "aside", "header", "footer", "form", "table", "figure"}
BLOCK_TAGS = {
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "h1",
    "h2",
    "header",
    "iframe",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "td",
    "textarea",
    "th",
    "title",
    "tr",
    "ul",
    "xmp",
}


@dataclass(frozen=True)
class Read:
    links: frozenset[str]
    title: str
    canonical: str


def by_tree(text: str) -> Read:
    tree = LexborHTMLParser(text.encode())
    found = [
        (node.attributes.get(name) or "").strip(" \t\n\r\x0c")
        for tag, name in PLACES
        for node in tree.css(f"{tag}[{name}]")
    ]
    titles = [node.text() for node in tree.css("title") if node.parent is not None and node.parent.tag != "svg"]
    canonical = tree.css_first("link[rel=canonical][href]")
    return Read(
        frozenset(href for href in found if href and href[0] != "#"),
        next((" ".join(title.split()) for title in titles if title.split()), ""),
        (canonical.attributes.get("href") or "").strip() if canonical else "",
    )


def by_scan(text: str) -> Read:
    document = read_html(text.encode(), url="https://h/d/p", encoding="utf-8", digest=b"")
    return Read(frozenset(document.hrefs), document.title, document.canonical)


Path = tuple[tuple[str, ...], tuple[str, ...]]


def paths_by_tree(text: str) -> dict[str, Path]:
    """The path of every word by the rules of `parse/words.py`."""
    tree = LexborHTMLParser(text.encode())
    found: dict[str, Path] = {}
    for node in tree.root.traverse(include_text=True) if tree.root is not None else ():
        if node.tag != "-text":
            continue
        above = []
        parent = node.parent
        while parent is not None and parent.tag is not None:
            above.append(parent)
            parent = parent.parent
        before: tuple[str, ...] = ()
        segment: tuple[str, ...] = ()
        for element in reversed(above):
            tag = str(element.tag)
            name = element.attributes.get("class") or ""
            if tag in NO_STEPS:
                continue
            if name or tag in LANDMARKS:
                before, segment = segment, (f"{tag}.{name}",)
            elif tag in BLOCK_TAGS:
                segment = (*segment, tag)
        found |= {word: (before, segment) for word in node.text(deep=False).split() if word.startswith("w")}
    return found


def places_by_scan(text: str) -> dict[str, int]:
    page = text.encode()
    words = scan(page).words
    return {
        word: place
        for place, block, begin in zip(words.places.tolist(), words.blocks.tolist(), words.begins.tolist(), strict=True)
        if not block & ATTRIBUTE and (word := page[begin:].split(maxsplit=1)[0].decode()).startswith("w")
    }


def numbered(pieces: list[str]) -> str:
    """The soup with another number in every word."""
    return "<!doctype html><html><body>" + "".join(
        f" w{number} " if piece in WORDS else piece for number, piece in enumerate(pieces)
    )


def check_paths(text: str) -> None:
    """Words that stand on one path have one place, and no others have it."""
    paths, places = paths_by_tree(text), places_by_scan(text)
    both = paths.keys() & places.keys()
    assert len({paths[word] for word in both}) == len({places[word] for word in both})
    assert len({(paths[word], places[word]) for word in both}) == len({places[word] for word in both})


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
NAMED = [
    *tags("nav footer aside template"), "<div class=x>", "<p class=x>", "<li class=y>", "<dd class=y>",
    "<section class='x z'>", "<button class=y>", "<span class=x>",
]  # fmt: skip
WORDS = [f" w{number} " for number in range(12)]
LINES = tags("span b i em code font label q u small")
BLOCKS = tags(
    "div p ul li ol dl dt dd section article main blockquote h1 h2 pre fieldset button address figure details summary"
)
ANY = [*WORDS, *WORDS, *MANY, *ODD, *RAW, *BLOCKS, *LINES, *NAMED, *NAMED]
FOREIGN = [
    *WORDS, *tags("svg svg"), "<svg><g>", "</g>", "<path d='>' />", "<g/>", "<svg/>", "<svg><title> s </title></svg>",
    "<svg><![CDATA[ cd <a href=/no> ]]></svg>",
    "<svg><style> no </style></svg>", "<svg><a href=/s>", "</a>", "<div>", "</div>", "<nav>", "</nav>", "<p>",
]  # fmt: skip
TABLES = [
    *WORDS,
    *tags("table td th tr div p ul li"),
    "<td class=x>",
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


def pieces(of: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(of), max_size=25).map(numbered)


@given(pieces([*WORDS, *WORDS, *WORDS, *RAW, *BLOCKS, *NAMED, *tags("span label q")]))
def test_words_stand_on_the_paths_that_the_tree_has(text: str) -> None:
    check_paths(text)


def test_an_inline_element_closes_what_is_open_inside_it() -> None:
    check_paths(numbered(["<q>", "<span class=x>", WORDS[0], "</q>", WORDS[0]]))


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
    ],
)  # fmt: skip
def test_hard_cases_are_read_as_the_tree_reads_them(text: str) -> None:
    assert by_scan(text) == by_tree(text)


@pytest.mark.parametrize(
    "text",
    [
        "<p class=x> wa <p> wb ", "<li class=x> wa <li> wb ", "<div class=x> wa <p> wb </div> wc ",
        "<nav> wa <div> wb </nav> wc ", "<dl><dt class=x> wa <dd> wb </dl>",
        "<table><td class=x> wa <td> wb </table> wc ", "<p class=x> wa <ul><li> wb ",
        "<!doctype html><p class=x> wa <table><td> wb </table> wc ", "<tr class=x> wa ",
        "<table><tr class=x><td> wa <tr><td> wb </table>", "<h1 class=x> wa </h2> wb ",
        "<option class=x> wa <option> wb ", "<div class=x class=y> wa </div><div class=x> wb ",
        "<div class=x> wa </span></p></section> wb </div> wc ", "<object class=x> wa </div> wb </object> wc ",
        "<div><span class=x> wa </div> wb ", "<ul><li class=x> wa <ul><li> wb </ul> wc </ul> wd ", "<br class=x> wa ",
        "<img class=x> wa ", "<svg class=x> wa <g> wb </g></svg> wc ", "<svg/> wa <svg class=x /> wb ",
        "<button class=x> wa <button> wb ",
    ],
)  # fmt: skip
def test_words_of_hard_cases_stand_on_the_paths_that_the_tree_has(text: str) -> None:
    check_paths(text)
