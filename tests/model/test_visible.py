import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Öffnungszeiten 東京 😀", "Öffnungszeiten 東京 😀"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\u202eb", "a\\u202eb"),
        ("one\ntwo", "one\\ntwo"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_could_obey_is_escaped_and_the_rest_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_no_text_has_control_characters_or_surrogates_when_it_is_shown(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(shown) == shown
