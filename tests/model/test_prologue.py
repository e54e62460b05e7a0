import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import centime
from centime.model.prologue import behind_misc, behind_prologue, behind_subset

PIECES = st.sampled_from(
    [b"<!--", b"-->", b"-", b"->", b"<?", b"?>", b"?", b">", b"<", b" \n", b"a", b'"', b"'", b"[", b"]"]
)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (b'<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "b">', b'<!DOCTYPE a SYSTEM "b">'),
        (b"<!-- a - b -- c --->  <a/>", b"<a/>"),
        (b"<?a ? > ?><!----><a/>", b"<a/>"),
        (b" <!-- not closed", b"<!-- not closed"),
        (b"<!--> is not closed", b"<!--> is not closed"),
        (b"<?a ? ", b"<?a ? "),
        (b"", b""),
    ],
)
def test_white_space_comments_and_instructions_are_passed(text: bytes, rest: bytes) -> None:
    assert text[behind_misc(text) :] == rest


def test_document_types_are_passed_whatever_their_case() -> None:
    text = b'<!-- a --><!doctype a [<!ENTITY b "c">\n] ><?d?><!DOCTYPE e><f/>'
    assert text[behind_prologue(text) :] == b"<f/>"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (b"[]>a", b"a"),
        (b"""[<!ENTITY a "]>"><!ENTITY b ']>'> ]  >c""", b"c"),
        (b"[<!-- it's ]> --><?a ]> ?>]>b", b"b"),
        (b"[ < <! ]>a", b"a"),
    ],
)
def test_an_internal_subset_ends_at_its_own_bracket(text: bytes, rest: bytes) -> None:
    assert text[behind_subset(text, 0) :] == rest


@pytest.mark.parametrize("text", [b"", b"a", b"[", b"[a", b'["]>', b"[]", b"[] a", b"[<!-- ]>", b"[<? ]>", b"a[]>"])
def test_what_is_no_closed_subset_is_none(text: bytes) -> None:
    assert behind_subset(text, 0) == -1


@given(st.lists(PIECES, max_size=12).map(b"".join))
def test_what_is_passed_is_what_an_expression_without_possessive_groups_passes(text: bytes) -> None:
    misc = re.match(rb"(?:\s|<!--(?:(?!-->).)*-->|<\?(?:(?!\?>).)*\?>)*", text, re.DOTALL)
    assert misc is not None
    assert behind_misc(text) == misc.end()
    inside = rb"(?:[^\]\"'<]|\"[^\"]*\"|'[^']*'|<!--(?:(?!-->).)*(?:-->|\Z)|<\?(?:(?!\?>).)*(?:\?>|\Z)|<(?!!--|\?))*"
    subset = re.match(rb"\[" + inside + rb"\]\s*>", text, re.DOTALL)
    assert behind_subset(text, 0) == (subset.end() if subset else -1)


@pytest.mark.parametrize("piece", [b"<!--", b"<?", b"-", b"?", b"<!---->", b"<", b"'", b'"', b"[", b"]", b"]>"])
def test_hostile_text_takes_linear_time(piece: bytes) -> None:
    text = b"[" + piece * 300_000
    behind_subset(text, 0)
    behind_misc(text, 1)


SAFE = {"parse/css.py", "parse/requisites.py"}
"""The bodies of their possessive groups fail at the first character only."""


def test_no_other_module_has_possessive_groups_which_early_versions_of_python_3_11_get_wrong() -> None:
    sources = Path(centime.__file__).parent
    possessive = re.compile(r"\br[bf]?[\"'].*\)(?:[*+?]|\{[0-9,]+\})\+")
    having = {path for path in sources.rglob("*.py") if possessive.search(path.read_text())}
    assert {str(path.relative_to(sources)) for path in having} == SAFE
