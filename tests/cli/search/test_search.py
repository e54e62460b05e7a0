"""`centime index` and `centime search` on a crawl of hand-made bodies."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run
from tests.crawl.search.made import Library

ONE, TWO = "http://a.example/one", "http://b.example/two"
PAGES = {
    ONE: "<html lang=en-GB><title>Opening \x1b[31mhours</title><p>We open at <b>eight</b> for tea.",
    TWO: "<p>No opening, only tea & cake.",
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "crawl", PAGES)) as library:
        yield library


def centime(*arguments: object) -> int:
    return run(main.app, list(map(str, arguments)))


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


def test_people_read_titles_urls_and_snippets(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("index", library.folder) == 0
    capsys.readouterr()
    assert centime("search", library.folder, "opening", "tea") == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "\x1b" not in said.out
    assert "Opening \\x1b[31mhours" in said.out
    for part in (ONE, TWO, "We open at eight for tea", "importance", "2 pages match\n"):
        assert part in said.out


def test_programs_read_json(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("index", library.folder, "--json") == 0
    update = told(capsys)
    assert (update["pages"], update["added"]) == (3, 3)
    assert centime("search", library.folder, "tea", "--site", "a.example", "--since", "2026-01-31", "--json") == 0
    report = told(capsys)
    assert (report["matches"], report["changed_since_index"]) == (1, 0)
    (page,) = report["pages"]
    assert (page["url"], page["language"], page["kind"]) == (ONE, "en", "html")
    assert page["html"] == "We open at eight for <b>tea</b>"
    assert page["score"] > 0 < page["importance"]


def test_an_old_index_says_so(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("index", library.folder) == 0
    library.round({ONE: "<p>coffee"})
    capsys.readouterr()
    assert centime("search", library.folder, "tea") == 0
    assert "1 page has changed since the index was made; centime index" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["tea"], 2, "there is no index yet: run centime index"),
        (['"tea'], 2, "a quotation mark is not closed"),
        (["--", "-tea"], 2, "says only what must not be there"),
        (["tea", "--kind", "doc"], 2, "a kind of pages is"),
        (["tea", "--since", "soon"], 2, "a time is written like"),
        (["tea", "-n", "0"], 2, "--count must be at least 1"),
        (["tea", "-n", "10001"], 2, "1 to 10000 pages"),
    ],
)
def test_wrong_input_is_said(
    library: Library, words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "index yet" not in sentence:
        assert centime("index", library.folder) == 0
    capsys.readouterr()
    assert centime("search", library.folder, *words) == code
    assert sentence in capsys.readouterr().err


def test_a_folder_that_is_no_crawl_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("index", tmp_path), ("search", tmp_path, "tea"), ("index", tmp_path / "none")):
        assert centime(*command) == 2
        assert "this is not a crawl" in (said := capsys.readouterr().err) or "no such folder" in said


def test_an_index_that_was_made_again_says_why(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("index", library.folder) == 0
    (library.folder / "index/about.json").write_text("{")
    capsys.readouterr()
    assert centime("search", library.folder, "tea") == 2
    assert "its description is damaged; run centime index" in capsys.readouterr().err
    assert centime("index", library.folder) == 0
    assert "the index was rebuilt: its description is damaged" in capsys.readouterr().err
