# ruff: noqa: RUF001 - letters of other scripts
from pathlib import Path

import pytest

from centime.search.snippet import LONGEST
from tests.search.made import found, index_of


@pytest.mark.parametrize(
    ("text", "words", "html"),
    [
        (
            "We open at eight. Größe & <b>weight",
            "grosse weight",
            "We open at eight. <b>Größe</b> &amp; &lt;b&gt;<b>weight</b>",
        ),
        ("東京都の天気予報です", "天気", "東京都の<b>天気</b>予報です"),
        ("ΆΈ\u00ad Ή. Στην Αθή\u00adνα, Ελλάδα", "αθηνα", "ΆΈ\u00ad Ή. Στην <b>Αθή\u00adνα</b>, Ελλάδα"),
        ("Ё 東京\u200b都 е\u0301лка", "елка 京都", "Ё 東<b>京\u200b都</b> <b>е\u0301лка</b>"),
        ("one\ntwo\nthree", "two", "one <b>two</b> three"),
        ("only the title has it", "tea", "only the title has it"),
        ("", "tea", ""),
    ],
)
def test_words_are_marked(tmp_path: Path, text: str, words: str, html: str) -> None:
    (page,) = found(index_of(tmp_path, [text], ["Tea"]), words)
    assert page.snippet.html() == html
    assert [page.snippet.text[begin:end] for begin, end in page.snippet.marks] == [
        part.partition("</b>")[0] for part in html.split("<b>")[1:]
    ]


def test_a_snippet_is_short_and_has_a_word(tmp_path: Path) -> None:
    text = "filler " * 10_000 + "needle " + "filler " * 10_000
    searcher = index_of(tmp_path, [text, text.replace("needle", "")], ["", "needle"])
    for page in found(searcher, "needle"):
        assert 0 < len(page.snippet.text) <= LONGEST + 10
        assert bool(page.snippet.marks) == (page.page == 0)


def test_a_snippet_for_a_phrase_shows_the_phrase(tmp_path: Path) -> None:
    text = "opening " * 5 + "of hours. " + "filler " * 300 + "The Opening\nHours are long. " + "filler " * 300
    for words in ('"opening hours"', "opening-hours"):
        (page,) = found(index_of(tmp_path / words[0], [text]), words)
        assert "<b>Opening</b> <b>Hours</b>" in page.snippet.html()
        assert len(page.snippet.text) <= LONGEST + 10
    (page,) = found(index_of(tmp_path / "cjk", ["\u4eac " * 300 + "\u6771\u4eac\u90fd"]), "\u6771\u4eac")
    assert "<b>\u6771\u4eac</b>\u90fd" in page.snippet.html()
