import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.document import read_document
from centime.parse.signature import NOTHING
from centime.parse.signature import signature_of as signature_of_bytes


def signature_of(text: str) -> int | None:
    return signature_of_bytes(np.frombuffer(bytearray(text.encode()), dtype=np.uint8))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Now it is 12:45:01 here", "Now it is 9:03 here"),
        ("Updated 2024-03-05 by me", "Updated 1999-12-31 by me"),
        ("On 5.3.2024 we met", "On 17.11.1998 we met"),
        ("On 3/5/24 we met", "On 12/31/2020 we met"),
        ("At 2024-03-05T12:45:01Z exactly", "At 2025-01-01T00:00:00+01:00 exactly"),
        ("Posted 5 March 2024 here", "Posted 17 Apr 2019 here"),
        ("Posted March 5, 2024 here", "Posted December 31, 1999 here"),
        ("Tuesday, March 5, 2024 at noon", "Friday, May 10, 2019 at noon"),
        ("12,345 visits so far", "9 visits so far"),
        ("posted 3 minutes ago", "posted 59 minutes ago"),
        ("made in 0.123 seconds", "made in 1.5 seconds"),
        ("id 0123456789abcdef0123456789abcdef end", "id ffff456789abcdef0123456789abc777 end"),
        ("© 2024 us", "© 2025 us"),
        ("white   space\n and\tlines", "white space and lines"),
        ("no\u00a0break", "no break"),
    ],
)
def test_what_passes_does_not_count(one: str, other: str) -> None:
    assert signature_of(one) == signature_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It costs 25 euros", "It costs 35 euros"),
        ("Version 1.2 is out", "Version 1.3 is out"),
        ("12 apples", "13 apples"),
        ("march on", "step on"),
        ("a b", "ab"),
        ("Größe", "Grösse"),
        ("", "x"),
        ("call 5551234", "call 5554321"),
    ],
)
def test_what_says_something_counts(one: str, other: str) -> None:
    assert signature_of(one) != signature_of(other)


@given(st.text(max_size=60))
def test_any_text_has_one_signature_whatever_its_white_space(text: str) -> None:
    assert signature_of(text) == signature_of(f" \n{text}\t ")


@given(st.text(alphabet="aJ1:/-. \u00a0\u00a9é", max_size=30))
def test_what_is_left_out_leaves_the_rest_as_it_was(text: str) -> None:
    assert signature_of(f"{text} 12:30 end") == signature_of(f"{text} 9:15 end")


def test_white_space_alone_has_no_signature_and_what_passes_alone_has_that_of_nothing() -> None:
    assert signature_of(" \n\u00a0") is None
    assert signature_of(" 12:45 ") == NOTHING


def test_a_word_without_end_counts_whole() -> None:
    assert signature_of("x" * 10_000 + "1") != signature_of("x" * 10_000 + "2")
    assert signature_of("1" * 10_000 + " x") != signature_of("1" * 10_001 + " x")


def page(body: str) -> int:
    return read_document(
        f"<html><body>{body}</body></html>".encode(), url="https://h/", content_type="text/html"
    ).signature


@pytest.mark.parametrize(
    "extra",
    [
        "<script>x=1</script>",
        "<style>p{}</style>",
        "<!-- c -->",
        "<nav>Menu</nav>",
        "<p hidden>secret</p>",
        "<div style='display:none'>s</div>",
        "<footer>us</footer>",
        "<b></b>",
    ],
)
def test_what_is_not_the_content_of_a_page_does_not_count(extra: str) -> None:
    assert page(f"<p>Hello there</p> {extra}") == page("<p>Hello there</p>")


def test_a_page_of_nothing_but_navigation_is_its_navigation() -> None:
    assert page("<nav>One</nav>") != page("<nav>Two</nav>")


def test_a_page_of_nothing_but_a_script_is_its_script_and_its_head_does_not_count() -> None:
    assert page("<script>one()</script>") != page("<script>two()</script>")
    assert page("<title>a</title>") == page("<title>b</title>") == NOTHING
    heads = [
        "<head><script>one()</script></head><body><p hidden>x",
        "<head><script>two()</script></head><body><p hidden>x",
    ]
    one, other = (read_document(head.encode(), url="https://h/", content_type="text/html").signature for head in heads)
    assert one == other != NOTHING


def test_blocks_separate_words_and_elements_of_a_line_do_not() -> None:
    assert (
        page("<p>a</p><p>b</p>") == page("a b") == page("a<br>b") == page("<table><td>a<td>b</table>") == page("a<li>b")
    )
    assert (
        page("a<b>b</b>")
        == page("ab")
        == page("a<wbr>b")
        == page("<span>a</span><a href=x>b</a>")
        == page("a<!-- -->b")
    )


def test_references_are_what_they_stand_for() -> None:
    assert page("&copy; 2024 us &#233;") == page("© 2025 us é")
    assert page("no&nbsp;break") == page("no break")
