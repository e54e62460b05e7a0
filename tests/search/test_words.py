from pathlib import Path
from unicodedata import name, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.search.words import JOINT, prepared, readable, words_of
from tests.search.made import index_of, pages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Größe, naïve CAFÉ", ["grosse", "naive", "cafe"]),
        ("e\u0301te\u0301", ["ete"]),
        ("x-ray foo_bar 3.14", ["x", "ray", "foo", "bar", "3", "14"]),
        ("東京都に行く", list("東京都に行く")),
        ("Pythonで検索", ["python", *"で検索"]),
        ("ｶﾞｲﾄﾞ \uff21\uff22\uff23\uff11", [*"ガイド", "abc1"]),
        ("中文搜索 engine", [*"中文搜索", "engine"]),
        ("한국의", list("한국의")),
        ("Ελλάδα Россия", ["ελλάδα", "россия"]),
        ("x" * 81, []),
        ("!?", []),
    ],
)
def test_text_is_split_into_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_a_text_is_readable_again(text: str) -> None:
    assert words_of(readable(prepared(text))) == words_of(text)
    assert prepared(readable(prepared(text))) == prepared(text)


def test_words_of_chinese_and_japanese_are_found_wherever_they_stand(tmp_path: Path) -> None:
    texts = ["我们在北京大学学习计算机科学。", "京北的大学", "東京都の天気予報です。", "京都の寺", "全文検索エンジン"]
    searcher = index_of(tmp_path, texts)
    for words, expected in (
        ("北京", {0}), ("大学", {0, 1}), ("北京大学", {0}), ("计算机", {0}), ("京", {0, 1, 2, 3}), ("東京", {2}),
        ("京都", {2, 3}), ("天気", {2}), ("検索 エンジン", {4}), ("エンジン", {4}), ("大学 -北京", {1}),
        ("气象", set()),
    ):  # fmt: skip
        assert pages(searcher, words) == expected, words


def test_every_character_of_a_script_without_spaces_is_a_word() -> None:
    for number in [*range(0xD800), *range(0xE000, 0x32000)]:
        character = chr(number)
        words = prepared(f"a{character}a")
        if is_unspaced(character) and character.isalnum():
            assert words == f"a{JOINT}{normalize('NFC', character)}{JOINT}a", hex(number)


def is_unspaced(character: str) -> bool:
    names = ("THAI", "LAO", "MYANMAR", "HANGUL SYLLABLE", "KHMER", "CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER")
    return name(character, "").startswith(names)
