from pathlib import Path

import pytest

from centime.model.errors import BadInput, BadSetting
from centime.search.index_writer import sites_of
from centime.search.query import wanted
from centime.search.searcher import IndexSearcher
from tests.search.made import index_of, pages


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> IndexSearcher:
    texts = ["opening hours of the shop", "hours of opening", "the museum opens", "C++11 and foo:bar", "a AND (b"]
    return index_of(tmp_path_factory.mktemp("query"), texts, ["Shop", "", "Museum", "", ""])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("hours opening", {0, 1}),
        ('"opening hours"', {0}),
        ("opening -shop", {1}),
        ('hours -"opening hours"', {1}),
        ("SHOP", {0}),
        ("C++11", {3}),
        ("foo:bar", {3}),
        ("AND", {3, 4}),
        ("(b", {4}),
        ("museum", {2}),
        ("nothing hours", set()),
        ("'opening hours'", {0, 1}),
        ("hours - opening", {0, 1}),
        ("a.example", {0, 1, 2, 3, 4}),
        ("\udc80 hours", {0, 1}),
        ("*", None),
        ("", None),
        ("-shop", None),
        ('hours "opening', None),
        (" ".join(map(str, range(51))), None),
    ],
)
def test_all_words_must_be_there_and_no_unwanted_one(
    searcher: IndexSearcher, words: str, expected: set[int] | None
) -> None:
    if expected is None:
        with pytest.raises(BadInput):
            pages(searcher, words)
    else:
        assert pages(searcher, words) == expected


def test_conditions_are_checked() -> None:
    with pytest.raises(BadSetting, match="a kind of pages is html, xml, text, pdf or other, not 'doc'"):
        wanted("a", kind="doc")
    with pytest.raises(BadSetting, match="a site is a host"):
        wanted("a", site="https://")
    assert wanted("a", site="HTTPS://Museum.example/a").site == "museum.example"


def test_a_site_is_a_host_or_a_domain_around_it() -> None:
    assert sites_of("http://127.0.0.1:80/") == ["127.0.0.1:80", "127.0.0.1"]
    assert sites_of("http://[2001:db8::1]/") == ["[2001:db8::1]"]
    assert sites_of("https://a.b.example/x") == ["a.b.example", "b.example", "example"]


def test_a_missing_index_says_what_to_run(tmp_path: Path) -> None:
    from centime.search.index_files import IndexFiles

    with pytest.raises(BadInput, match="there is no index yet: run centime index museum"):
        IndexSearcher(IndexFiles(tmp_path, 1), "centime index museum")
