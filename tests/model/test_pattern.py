"""Patterns of users: found as Python finds them, in linear time; refused with advice where RE2 cannot search them."""

import re
import time
import warnings

import pytest
import re2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from centime.model import pattern as module
from centime.model.errors import BadSetting
from centime.model.pattern import MOST_INSTRUCTIONS, Patterns, check_pattern, compiled

LONGEST_URL = 2_048
PIECES = ["a", "b", "/", ".", "1", r"\d", r"\w", r"\.", r"\b", "[ab]", "[^/]", "^", "$", "(", "(?:", ")", "|", "*", "+"]
PIECES += [
    "?",
    "{2}",
    "{1,3}",
    "{2,}",
    "{,2}",
    "(?i)",
    "(?P<n>",
    "(?=",
    "(?!",
    "(?<=",
    "(?>",
    r"\1",
    r"\Z",
    "]",
    "-",
    "A",
]
SLOW_IN_PYTHON = [
    r"(a+)+$",
    r"(a|aa)+$",
    r"(\w+\d+)+$",
    r"(.*)*x",
    r"^https://a\.example/(\w+/?)+$",
    r"(?:(?:ab)+c?)+$",
    r"([^/]+)+$",
    r"(?i)(A+)+$",
    r"(a?){40}a{40}$",
    r"(abcdefghij|abcdefghij)+$",
    r".*.*.*x",
    r".*foo.*bar.*baz",
    r"(a|b)*a(a|b){900}x",
    r".{900}x",
]


def python(text: str) -> re.Pattern[str] | None:
    """What Python makes of a pattern."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return re.compile(text)
        except (re.error, RecursionError, OverflowError):
            return None


def refusal(text: str) -> str:
    """Why a pattern is refused; nothing if it is not."""
    try:
        check_pattern(text)
    except BadSetting as error:
        return str(error)
    return ""


@pytest.mark.parametrize("text", SLOW_IN_PYTHON)
def test_no_url_makes_a_search_long(text: str) -> None:
    check_pattern(text)
    began = time.thread_time()
    for url in ("a", "ab", "a1", "https://a.example/" + "a/", "foo", "abcdefghij"):
        compiled(text).search((url * LONGEST_URL)[: LONGEST_URL - 1] + "!")
    assert time.thread_time() - began < 5.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "/news/",
        r"^https?://[^/]+/shop/",
        r"example/(a|b|c)/.*\.html$",
        r"[^/]+/foo",
        r".*\.pdf$",
        r"[?&]id=\d+(&|$)",
        "a" * 1_000,
        r"(?:/[a-z]+)+/news",
        r"(?P<year>\d{4})/",
        r"\100 and \\1 and \{,5}",
    ],
)
def test_an_ordinary_pattern_is_accepted(text: str) -> None:
    check_pattern(text)


@pytest.mark.parametrize("text", ["(", ")", "*", "[", "(?P<n>", "a{3,2}", "a{9999999999999}", "\\", "[b-a]"])
def test_what_is_not_a_regular_expression_is_refused(text: str) -> None:
    assert re.search("not a regular expression|out of bounds", refusal(text))
    assert repr(text) in refusal(text)


@pytest.mark.parametrize(
    ("text", "name", "advice"),
    [
        ("a(?=b)", "look-around, (?=", "write out the text"),
        ("a(?!b)", "look-around, (?!", "exclude the rest"),
        ("(?<=a)b", "look-around, (?<=", "write out the text"),
        ("(?<!a)b", "look-around, (?<!", "exclude the rest"),
        (r"(a)\1", r"a back-reference, \1", "write out the text that is repeated"),
        ("(a)" * 12 + r"\12", r"a back-reference, \12", "write out the text that is repeated"),
        ("(?P<n>a)(?P=n)", "a back-reference", "write out the text that is repeated"),
        ("a++", "a possessive repetition, ++", "leave out the last +"),
        ("a{2}+", "a possessive repetition, {2}+", "leave out the last +"),
        ("(?>a)", "an atomic group", "write (?:"),
        ("(a)(?(1)b|c)", "a conditional group", "write both cases"),
        ("(?#why)a", "a comment", "leave it out"),
        ("(?x) a", "the flag x", "without spaces and comments"),
        ("(?a)a", "a flag of Python's", "leave it out"),
        (r"a\Z", r"\Z", r"write \z or $"),
        (r"\u0041", "a character by its number or name", r"write it as \x{2014}"),
        (r"[\b]", r"\b in a set of characters", r"write \x08"),
        ("\\é", "a backslash before a character that needs none", "leave out the backslash"),
        ("a{,5}", "a repetition without a lower bound, {,5}", "{0,5}"),
        ("a{1001}", "a repetition out of bounds, {1001}", "at most 1000 times"),
        ("(?:a{100}){100}", "a repetition out of bounds", "at most 1000 times"),
        ("[[:news:]]", "an unknown class of characters", r"write \["),
    ],
)
def test_what_python_has_and_re2_has_not_is_refused_with_what_to_write_instead(
    text: str, name: str, advice: str
) -> None:
    assert python(text)
    said = refusal(text)
    assert said.startswith(f"the pattern {text!r} has {name}")
    assert advice in said.partition("which is not supported: ")[2]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@settings(max_examples=200, deadline=None)
def test_a_pattern_of_pythons_is_accepted_or_refused_with_advice(text: str) -> None:
    said = refusal(text)
    assert not said or not python(text) or "which is not supported: " in said


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text("ab/.1A-", max_size=12))
@settings(max_examples=100, deadline=None)
def test_what_python_accepts_is_found_as_python_finds_it(text: str, url: str) -> None:
    expected = python(text)
    assume(expected)
    assert expected is not None
    assert compiled(text).search(url) == bool(expected.search(url))


@given(st.text(max_size=20))
def test_every_text_is_a_pattern_or_refused_in_one_line(text: str) -> None:
    assert "\n" not in refusal(text)


def test_a_pattern_has_a_length() -> None:
    assert "at most 1000 characters, not 1001" in refusal("a" * 1_001)


@pytest.mark.parametrize("text", [r"\pL{100}", r"\pL{1000}", "[^/]{900}[^/]{900}"])
def test_a_pattern_has_a_size_once_its_repetitions_are_written_out(text: str) -> None:
    assert "too large" in refusal(text)


def test_a_pattern_that_was_accepted_is_compiled_without_bounds() -> None:
    large = r"\pL{100}|" + "a" * 1_001
    assert compiled(large).search("a" * 1_001)
    assert re2.compile(large).programsize > MOST_INSTRUCTIONS


def test_a_pattern_that_is_not_text_is_refused() -> None:
    assert "is not text" in refusal("a\udc80")


@pytest.mark.parametrize(
    ("text", "found", "missed"),
    [
        (r"(?<!a)b$", "cb", "ab"),
        (r"(a)\1", "aa", "a"),
        ("^a{,2}$", "aa", "aaa"),
        ("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)" + r"\10", "abcdefghijj", "abcdefghij"),
        ("^(?:a{100}){11}$", "a" * 1_100, "a" * 100),
    ],
)
def test_a_pattern_that_version_0_1_accepted_is_found_as_it_found_it(text: str, found: str, missed: str) -> None:
    assert refusal(text)
    assert compiled(text).search(found)
    assert not compiled(text).search(missed)
    assert compiled("x", text).first(found) == 1


def test_what_neither_accepts_is_refused() -> None:
    with pytest.raises(BadSetting, match="not a regular expression"):
        compiled("a", "(")


def test_nothing_is_written_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert refusal("(")
    assert refusal(r"\pL{1000}")
    assert capfd.readouterr().err == ""


def test_patterns_are_searched_for_together() -> None:
    patterns = compiled("b", "^a", "a+$")
    assert [patterns.first(url) for url in ("ab", "a", "ba", "ca", "c", "")] == [0, 1, 0, 2, None, None]
    assert [patterns.search(url) for url in ("ab", "c")] == [True, False]
    assert patterns == Patterns(("b", "^a", "a+$"))
    assert patterns


def test_without_patterns_nothing_is_found() -> None:
    assert not compiled()
    assert not compiled().search("a")
    assert compiled().first("a") is None


def test_the_empty_pattern_is_found_everywhere() -> None:
    assert compiled("").search("")
    assert compiled("x", "").first("a") == 1


def test_the_text_may_hold_what_is_no_character() -> None:
    assert compiled("(?=b)").search("\udc80b")
    assert compiled("b$").search("\udc80b")
    assert not compiled("a").search("\udc80b")


def test_patterns_too_large_for_a_set_are_searched_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMORY", 4 << 20)
    patterns = Patterns((r"\pL{100}x", r"\pL{100}y", "z"))
    assert patterns.first("a" * 100 + "y") == 1
    assert patterns.search("z")
    assert not patterns.search("a" * 100 + "w")


def test_a_set_that_runs_out_of_memory_does_not_lose_what_is_found() -> None:
    """Nothing is found then, not even the empty pattern that each set holds; so it is not a set's last word."""
    patterns = Patterns(("a", "b"))
    object.__setattr__(patterns, "_match", lambda data: None)
    assert patterns.first("b") == 1
    assert patterns.search("a")
    assert not patterns.search("c")
