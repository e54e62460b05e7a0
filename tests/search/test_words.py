# ruff: noqa: RUF001 - letters of other scripts
from pathlib import Path
from unicodedata import name, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.search.words import JOINT, places, prepared, shown, words_of
from tests.search.made import found, index_of, pages


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
        ("Ελλάδα Россия", ["ελλαδα", "россия"]),
        ("Ἀθῆναι ΣΟΦΟΣ σοφός ᾳ", ["αθηναι", "σοφοσ", "σοφοσ", "α"]),
        ("Ёлка ЁЛКА за\u0301мок йод и\u0306од їжак", ["елка", "елка", "замок", "йод", "йод", "їжак"]),
        ("İstanbul ISPARTA ışık", ["istanbul", "isparta", "isik"]),
        ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", ["\u05e9\u05dc\u05d5\u05dd"]),
        ("\u0645\u064f\u062a\u0652\u062d\u0640\u064e\u0641", ["\u0645\u062a\u062d\u0641"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0941", ["\u0939\u093f\u0928\u0926\u0941"]),
        ("soft\u00adware zero\u200bwidth \ufeffa\u2060b x\u030cy", ["software", "zerowidth", "ab", "xy"]),
        ("x" * 81, []),
        ("!?", []),
    ],
)
def test_text_is_split_into_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("aΆ\u0301Ёİ\u00ad京が\u200b"))


@given(TEXTS)
def test_a_shown_text_has_the_same_words(text: str) -> None:
    assert words_of(shown(text)) == words_of(text)


@given(TEXTS, TEXTS, TEXTS)
def test_a_piece_of_a_prepared_text_is_found_in_the_shown_one(before: str, word: str, after: str) -> None:
    text = shown(f"{before} {word} {after}")
    whole = prepared(text)
    begin = len(prepared(shown(before) + " "))
    piece = whole[begin : begin + len(prepared(shown(word)))]
    at = places(text, begin - whole.count(JOINT, 0, begin), piece)
    assert len(at) == len(piece) + 1
    assert at == sorted(at)
    assert prepared(text[at[0] : at[-1]]) == piece


def test_folding_a_folded_text_changes_nothing() -> None:
    for number in [*range(0x80, 0xD800), *range(0xE000, 0x10000)]:
        once = prepared(chr(number))
        assert prepared(once) == once, hex(number)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("istanbul", "İstanbul"),
        ("Αθηνα", "Αθήνα"),
        ("елка", "Ёлка"),
        ("software", "soft\u00adware"),
        ("ΕΛΛΆΔΑ", "Ελλάδα"),
    ],
)
def test_case_and_accents_do_not_matter_and_are_shown(words: str, text: str, tmp_path: Path) -> None:
    (page,) = found(index_of(tmp_path, [f"In {text} now"], [text]), words)
    assert (page.title, page.snippet.html()) == (text, f"In <b>{text}</b> now")


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
    characters = [chr(number) for number in [*range(0xD800), *range(0xE000, 0x32000)]]
    assert prepared(shown("a".join(characters)))
    for character in characters:
        if character.isalnum() and is_unspaced(character):
            words = prepared(shown(f"a{character}a"))
            assert words == f"a{JOINT}{normalize('NFC', character)}{JOINT}a", hex(ord(character))


def is_unspaced(character: str) -> bool:
    names = ("THAI", "LAO", "MYANMAR", "HANGUL SYLLABLE", "KHMER", "CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER")
    return name(character, "").startswith(names)
