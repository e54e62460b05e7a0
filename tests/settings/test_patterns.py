"""Patterns of people: those that a hostile URL could hold a crawl up with are refused, quickly, and ordinary ones
are not."""

import re
import time
import warnings
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.errors import BadSetting
from centime.settings.patterns import check_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|aa)+$",
        r"(\w+\d+)+$",
        r"(.*)*x",
        r"^https://a\.example/(\w+/?)+$",
        r"(?:(?:ab)+c?)+$",
        r"([^/]+)+$",
        r"(?i)(A+)+$",
        r"(?x) (a+)+$ # why",
        r"(?=(a+)+$)b",
        r"(a?){40}a{40}$",
        r"(abcdefghij|abcdefghij)+$",
        r".*.*.*x",
        r".*foo.*bar.*baz",
    ],
)
def test_a_pattern_whose_time_grows_faster_than_the_square_is_refused(pattern: str) -> None:
    began = time.thread_time()
    with pytest.raises(BadSetting, match="takes too long"):
        check_pattern(pattern)
    assert time.thread_time() - began < 20.0, "the check itself ends soon"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        ".",
        "/news/",
        r"^https?://[^/]+/shop/",
        r"example/(a|b|c)/.*\.html$",
        r"[^/]+/foo",
        r".*\.pdf$",
        r"[?&]id=\d+(&|$)",
        "a" * 900,
        r"(?:/[a-z]+)+/news",
        r"(a)(?(1)b|c)+",
        r"(?x) a+ # why",
    ],
)
def test_an_ordinary_pattern_is_not(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "*", "(?P<n>", "a{9999999999999}", "\\"])
def test_what_is_not_a_regular_expression_is_said_to_be_none(pattern: str) -> None:
    with pytest.raises(BadSetting, match="not a regular expression"):
        check_pattern(pattern)


def test_a_pattern_has_a_length() -> None:
    with pytest.raises(BadSetting, match="1000 characters"):
        check_pattern("a" * 1_001)


@settings(max_examples=60, deadline=None)
@given(st.text(r"ab1.\wd[]^-()?|$", max_size=14))
def test_every_text_is_a_pattern_or_is_refused_and_nothing_else(text: str) -> None:
    with suppress(BadSetting):
        check_pattern(text)
        with warnings.catch_warnings(action="ignore"):
            re.compile(text)
