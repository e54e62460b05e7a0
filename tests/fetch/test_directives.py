import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.directives import Directives, parse_directives


@pytest.mark.parametrize(
    ("values", "noindex", "nofollow"),
    [
        ([], False, False),
        (["noindex"], True, False),
        (["NoFollow"], False, True),
        (["none"], True, True),
        (["nosnippet, noindex , nofollow"], True, True),
        (["noindex", "nofollow"], True, True),
        (["otherbot: noindex, nofollow"], False, False),
        (["centime: noindex"], True, False),
        (["Centime: none"], True, True),
        (["otherbot: noindex, centime: nofollow"], False, True),
        (["*: noindex"], True, False),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], True, False),
        (["max-snippet: 20, nofollow"], False, True),
        (["index, follow, all"], False, False),
    ],
)
def test_what_a_page_asks_of_us_is_found(values: list[str], noindex: bool, nofollow: bool) -> None:
    headers = [("content-type", "none"), *(("x-robots-tag", value) for value in values)]
    assert parse_directives(headers, "centime") == Directives(noindex, nofollow)


@pytest.mark.parametrize(
    ("value", "noarchive"),
    [("noarchive", True), ("noindex, NoArchive", True), ("otherbot: noarchive", False), ("none", False)],
)
def test_a_page_may_ask_not_to_be_archived(value: str, noarchive: bool) -> None:
    assert parse_directives([("x-robots-tag", value)], "centime").noarchive == noarchive


@given(st.lists(st.text(max_size=40), max_size=4))
def test_whatever_the_header_there_is_an_answer(values: list[str]) -> None:
    assert isinstance(parse_directives([("x-robots-tag", value) for value in values], "centime"), Directives)
