"""A small index of texts, made by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from centime.search.index_files import IndexFiles
from centime.search.index_writer import write_index
from centime.search.page_text import PageText
from centime.search.query import wanted
from centime.search.ranking import Prominence
from centime.search.searcher import FoundPage, IndexSearcher


def index_of(folder: Path, texts: Sequence[str], titles: Sequence[str] = ()) -> IndexSearcher:
    """An index of pages with these texts, and of a segment for every thousand of them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = IndexFiles(folder / "index", 1)
    with write_index(files, len(texts)) as writer:
        for page, text in enumerate(texts):
            title = titles[page] if titles else ""
            writer.put(page, f"http://a.example/{page}", page + 1, 1000.0 + page, PageText("html", text, title))
            if page % 1000 == 999:
                writer.commit()
        writer.commit()
    return IndexSearcher(files, "centime index x")


def found(searcher: IndexSearcher, words: str, importance: Sequence[float] = (), most: int = 10) -> list[FoundPage]:
    """What is found if all pages have the same importance, or this one."""
    same = np.ones(100_000) if not len(importance) else np.array(importance, dtype=np.float64)
    return searcher.find(wanted(words), Prominence(same), most)


def pages(searcher: IndexSearcher, words: str) -> set[int]:
    """The numbers of all pages that are found."""
    return {page.page for page in found(searcher, words, most=1000)}
