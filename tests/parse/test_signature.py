import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.document import read_document
from centime.parse.signature import signature_of


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


def page(body: str) -> int:
    return read_document(f"<html><body>{body}</body></html>".encode(), url="https://h/", content_type="text/html").signature


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
