"""The best pages are those of the exhaustive product of BM25 and importance."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.search import ranking
from centime.search.query import wanted
from centime.search.ranking import Prominence
from centime.search.searcher import IndexSearcher
from tests.search.made import found, index_of

PAGES = 6_000
VOCABULARY = [f"w{number}" for number in range(400)]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> IndexSearcher:
    draw = random.Random(5)
    weights = [1 / (rank + 1) for rank in range(len(VOCABULARY))]
    texts = [" ".join(draw.choices(VOCABULARY, weights, k=draw.randint(3, 60))) for _ in range(PAGES)]
    return index_of(tmp_path_factory.mktemp("ranking"), texts)


def _draws() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    return {
        "heavy tail": draw.pareto(1.2, PAGES) + 1e-3,
        "light tail": draw.exponential(1.0, PAGES),
        "uniform": draw.random(PAGES),
        "equal": np.ones(PAGES),
        "none": np.zeros(PAGES),
        "one page has all": np.eye(1, PAGES, 77)[0],
        "few levels": draw.integers(0, 3, PAGES).astype(float),
    }


@pytest.mark.parametrize("name", list(_draws()))
@pytest.mark.parametrize("sides", [(16, 4), (1024, 64)])
def test_the_best_ten_are_those_of_all_products(
    searcher: IndexSearcher, name: str, sides: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FIRST_BY_BM25", sides[0])
    monkeypatch.setattr(ranking, "FIRST_BY_IMPORTANCE", sides[1])
    importance = _draws()[name]
    for words in ("w0", "w1 w2", "w0 -w1", "w30", "w200 w0", '"w0 w1"', "w399 w398 w397"):
        for most in (1, 10, 50):
            best = searcher.find(wanted(words), Prominence(importance), most)
            products = searcher.products(wanted(words), Prominence(importance))
            assert [page.score for page in best] == pytest.approx(products[:most], rel=1e-5)
            assert len({page.page for page in best}) == len(best) == min(most, len(products))


def test_most_searches_do_not_look_at_all_matches(searcher: IndexSearcher, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    best = ranking._best

    def counting(searcher: Any, hits: Any, *more: Any) -> Any:
        looked.append(len(hits))
        return best(searcher, hits, *more)

    monkeypatch.setattr(ranking, "_best", counting)
    found(searcher, "w0", _draws()["heavy tail"])
    assert len(looked) == 1
    assert looked[0] <= 1024 + 64 < searcher.count(wanted("w0"))


def test_pages_that_the_crawl_does_not_know_are_left_out(searcher: IndexSearcher) -> None:
    assert all(page.page < 100 for page in found(searcher, "w0", np.ones(100).tolist(), most=PAGES))


def test_a_changed_page_is_found_by_its_new_words_only(tmp_path: Path) -> None:
    from centime.search.index_files import IndexFiles
    from centime.search.index_writer import write_index
    from centime.search.page_text import PageText

    searcher = index_of(tmp_path, ["old words", "other words"])
    with write_index(IndexFiles(tmp_path / "index", 1), 2) as writer:
        writer.put(0, "http://a.example/0", 7, 1.0, PageText("html", "new words"))
        writer.drop(1)
        writer.commit()
    searcher.reload()
    assert [page.page for page in found(searcher, "words")] == [0]
    assert found(searcher, "old") == []
