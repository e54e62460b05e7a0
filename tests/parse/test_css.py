import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.css import css_text, files_of_css
from tests.parse.linear import takes_linear_time


def files(text: str) -> list[str]:
    return list(files_of_css(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a { background: url(a.png) }", ["a.png"]),
        ("a { background: URL( 'a b.png' ) }", ["a b.png"]),
        ('a { background: url("a.png"), url(b.png) no-repeat }', ["a.png", "b.png"]),
        ("@import 'a.css'; @import url(b.css) screen; @IMPORT\n\"c.css\" layer(x);", ["a.css", "b.css", "c.css"]),
        ("@import/* x */'a.css';", ["a.css"]),
        ("@font-face { src: url(f.woff2) format('woff2'), local('Arial') }", ["f.woff2"]),
        ("@namespace url(http://a.example/); @namespace svg 'b';", []),
        ("@namespace 'x'; a { b: url(c) }", ["c"]),
        ("a { b: image-set('1' 1x, \"2\" type('image/png') 2x, url(3) 3x) 'no' }", ["1", "2", "3"]),
        ("a { b: -webkit-image-set(url(1.png) 1x) }", ["1.png"]),
        ("a { b: url(a\\)b.png) url('it\\'s') url(\\61.png) url(a\\\nb) }", ["a)b.png", "it's", "a.png"]),
        ("a { b: url('a\\\nb') }", ["ab"]),
        ("a { b: url(a\\20 b\\29\\000020c.png ) url(a b.png) }", ["a b) c.png"]),
        ("/* url(no) */ a { content: 'url(no)' } b { c: url(yes) }", ["yes"]),
        ("a { b: url(bad one) } c { d: url(good) }", ["good"]),
        ("a { b: url(bad'quote) } c { d: url(good) }", ["good"]),
        ("a { b: 'open\n} c { d: url(good) }", ["good"]),
        ("a { b: url(#filter) url(data:image/png;base64,AA) url(about:blank) url() }", []),
        ("a { b: my-url(no) url-prefix(no) xurl(no) }", []),
        ("a { b: url(open.png", ["open.png"]),
        ("a { b: url('open.png", ["open.png"]),
        ("@import 'open.css", ["open.css"]),
        ("a { b: url(\\0.png) url(\\d800.png) url(\\110000.png) }", ["\ufffd.png", "\ufffd.png", "\ufffd.png"]),
    ],
)  # fmt: skip
def test_the_files_that_css_names_are_found(text: str, found: list[str]) -> None:
    assert files(text) == found


@pytest.mark.parametrize(
    ("body", "content_type", "found"),
    [
        ("a{b:url(ä.png)}".encode(), "", "ä.png"),
        ("a{b:url(ä.png)}".encode("cp1252"), "text/css; charset=windows-1252", "ä.png"),
        ('@charset "windows-1252";a{b:url(ä.png)}'.encode("cp1252"), "text/css", "ä.png"),
        ("\ufeffa{b:url(ä.png)}".encode("utf-16-le"), "text/css", "ä.png"),
        (b"a{b:url(\xe4.png)}", "", "\ufffd.png"),
    ],
)
def test_a_style_sheet_says_its_encoding(body: bytes, content_type: str, found: str) -> None:
    assert files(css_text(body, content_type)) == [found]


PIECES = [
    "url(", "URL( ", ")", "(", "'", '"', "\\", "\n", "\\\n", "/*", "*/", "@import", "@namespace ", "image-set(",
    "type(", "a.png", " ", ";", "{", "}", "é", "\0", "\\61 ", "-", "#x", "data:",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_is_read_and_what_follows_it_in_a_sheet_of_its_own_is_found(text: str) -> None:
    found = files(text)
    assert all(href and href == href.strip() and not href.startswith(("#", "data:")) for href in found)
    assert sum(map(len, found)) <= 2 * len(text)


NOT_FILES = ("#", "data:", "about:", "javascript:", "blob:")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)))
def test_every_name_that_is_quoted_properly_is_found_as_it_was(names: list[str]) -> None:
    quoted = ["".join(f"\\{ord(character):06x} " for character in name) for name in names]
    wanted = [name.strip() for name in names]
    wanted = [name for name in wanted if name and not name.lower().startswith(NOT_FILES)]
    assert files(";".join(f"a{{b:url('{one}')}}" for one in quoted)) == wanted


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "url(", "url('", "/*", "'", "'\\", "\\", "image-set(", "image-set('", "image-set((", "image-set(a(b",
        "@import ", "url(a ", "(", "url(\\", '"\\"', "image-set(')'(",
    ],
)  # fmt: skip
def test_hostile_css_takes_linear_time(piece: str) -> None:
    assert takes_linear_time(files, piece)
