from pathlib import Path

import pytest

from centime.discover import seeds
from centime.discover.seeds import Seeds, read_seeds
from centime.model.errors import BadInput


def test_words_are_urls_hosts_and_sitemaps() -> None:
    assert read_seeds(
        [
            "http://A.example/x#y",
            "example.org",
            "example.org/path",
            "localhost:8800",
            "sitemap:https://h.example/s.xml",
            "sitemap:h.example/t",
        ]
    ) == Seeds(
        ("http://a.example/x", "https://example.org/", "https://example.org/path", "https://localhost:8800/"),
        ("https://h.example/s.xml", "https://h.example/t"),
        frozenset(
            ["https://example.org/", "https://example.org/path", "https://localhost:8800/", "https://h.example/t"]
        ),
    )


def test_each_seed_is_there_once_in_the_order_given() -> None:
    assert read_seeds(["b.example", "a.example", "https://b.example/"]).urls == (
        "https://b.example/",
        "https://a.example/",
    )


def test_a_scheme_that_somebody_gave_is_not_guessed() -> None:
    for words in (["a.example", "https://a.example/"], ["https://a.example/", "a.example"]):
        assert read_seeds(words) == Seeds(("https://a.example/",))


def test_a_file_gives_one_seed_a_line(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(
        "# my seeds\n\nhttps://a.example/\n  b.example  \nsitemap:https://c.example/s.xml\n", encoding="utf-8-sig"
    )
    assert read_seeds([str(path), "d.example"]) == Seeds(
        ("https://a.example/", "https://b.example/", "https://d.example/"),
        ("https://c.example/s.xml",),
        frozenset(["https://b.example/", "https://d.example/"]),
    )


def test_a_comment_behind_a_seed_is_no_part_of_it_and_a_fragment_is_none(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(
        "http://h/1\t#\nhttp://h/2  # a note # more\nhttp://h/3#part\n\t# nothing\nsitemap:http://h/s # all\n",
        encoding="utf-8",
    )
    assert read_seeds([str(path)]) == Seeds(("http://h/1", "http://h/2", "http://h/3"), ("http://h/s",))


def test_a_bad_line_is_named_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("https://a.example/\nftp://b.example/\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"line 2 of .*seeds\.txt: 'ftp://b\.example/'"):
        read_seeds([str(path)])


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seeds.bin"
    path.write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(BadInput, match="cannot be read"):
        read_seeds([str(path)])


@pytest.mark.parametrize(
    "word",
    [
        "",
        "ftp://h/",
        "mailto:x",
        "./missing.txt",
        "/missing/file",
        "~x",
        "missing",
        "sitemap:",
        "http://",
        "a b",
        "https://[",
        "x\0y",
    ],
)
def test_a_word_that_means_nothing_is_named(word: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_seeds([word])
    assert repr(word) in str(caught.value)


def test_seeds_that_do_not_fit_into_one_frame_are_refused_before_a_crawl_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("".join(f"https://h.example/{number}\n" for number in range(10)))
    monkeypatch.setattr(seeds, "MOST_BYTES", 10 * len('"https://h.example/0",'))
    assert len(read_seeds([str(path)]).urls) == 10
    with pytest.raises(BadInput, match="at most 220: give it some of them, and the others with `centime publish`"):
        read_seeds([str(path), "sitemap:https://h.example/"])
