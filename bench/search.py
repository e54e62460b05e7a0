"""What full-text search costs, beside SQLite's FTS5.

    python -m bench.search [PART ...] [--json]

documents   100 000 synthetic texts, words as frequent as in a language, importance with a heavy tail: indexing, size,
            and the time of a search with its snippets, opening apart. FTS5 orders by the same product, BM25 times
            importance, from a table; its snippets are its own
pages       documentation as HTML, that which Debian's packages carry: from the bytes of a page to its place in the
            index; the text of some of them beside that of trafilatura, which chooses the main content. The texts
            alone go to FTS5."""

import gc
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bench.crawl_server import NotToBeHad, documentation_tree
from bench.figure import Figure
from bench.report import Benchmarks, run_parts
from centime.files.listing import files_below
from centime.model.kernel import compile_at_once
from centime.search.index_files import IndexFiles
from centime.search.index_writer import write_index
from centime.search.page_text import PageText, page_text
from centime.search.query import wanted
from centime.search.ranking import Prominence
from centime.search.searcher import IndexSearcher

DOCUMENTS, VOCABULARY, MOST = 100_000, 50_000, 10
SEARCHES, COMPARED = 400, 100
MOST_PAGES = 3_000  # of documentation
EXTRACTED = 200  # of these, also by trafilatura

Made = TypeVar("Made")
Importance = npt.NDArray[np.float64]


def documents() -> Iterator[Figure]:
    """Synthetic texts."""
    draw = np.random.default_rng(1)
    texts = _texts(draw)
    chosen = draw.integers(0, DOCUMENTS, SEARCHES).tolist()
    searches = [" ".join(draw.choice(texts[at].split(), draw.integers(1, 4))) for at in chosen]
    yield from _compared(texts, draw.pareto(1.2, DOCUMENTS) + 1e-3, searches)


def pages() -> Iterator[Figure]:
    """Documentation as HTML."""
    compile_at_once()
    try:
        paths = sorted(documentation_tree().rglob("*.html"))
    except NotToBeHad as error:
        yield Figure(f"left out: {error}", float("nan"), "")
        return
    bodies = [path.read_bytes() for path in paths[:: max(1, len(paths) // MOST_PAGES)]]
    page_text(bodies[0], "text/html", "http://a.example/")
    began = time.process_time()
    made = [page_text(body, "text/html", "http://a.example/") for body in bodies]
    seconds = time.process_time() - began
    size = sum(map(len, bodies)) / 1e6
    yield Figure(f"{len(bodies)} pages, {size:.0f} MB of HTML to text", size / seconds, "MB/CPU-s")
    yield from _beside_trafilatura(bodies, made)
    draw = np.random.default_rng(1)
    words = [text.text.split() for text in made if text.text]
    chosen = draw.integers(0, len(words), SEARCHES).tolist()
    some = [" ".join(filter(str.isalnum, draw.choice(words[at], draw.integers(1, 4)))) or "the" for at in chosen]
    yield from _compared([text.text for text in made], draw.pareto(1.2, len(made)) + 1e-3, some)


def _beside_trafilatura(bodies: Sequence[bytes], made: Sequence[PageText]) -> Iterator[Figure]:
    """The text of every so many pages beside what trafilatura takes for their main content."""
    try:
        from trafilatura import extract
    except ImportError:
        yield Figure("left out: trafilatura, which make bench-warehouse installs", float("nan"), "")
        return
    chosen = range(0, len(bodies), max(1, len(bodies) // EXTRACTED))
    some, ours = [bodies[at] for at in chosen], [made[at].text for at in chosen]
    spent, texts = _cpu(lambda: [extract(body) or "" for body in some])
    own, _ = _cpu(lambda: [page_text(body, "text/html", "http://a.example/") for body in some])
    words, theirs = sum(len(text.split()) for text in ours), sum(len(text.split()) for text in texts)
    lost = sum(not text and bool(mine) for text, mine in zip(texts, ours, strict=True))
    yield Figure(f"CPU time of trafilatura over ours, {len(some)} pages", spent / own, "times")
    yield Figure("  its words over ours", theirs / words, "times")
    yield Figure("  share of pages with text of which it finds none", lost / len(some), "")


def _compared(texts: Sequence[str], importance: Importance, searches: Sequence[str]) -> Iterator[Figure]:
    size = sum(len(text.encode()) for text in texts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, index = _cpu(lambda: _ours(folder / "ours", texts))
        theirs, database = _cpu(lambda: _theirs(folder / "fts5.db", texts, importance))
        our_bytes = sum(path.stat().st_size for path in files_below(folder / "ours"))
        their_bytes = (folder / "fts5.db").stat().st_size
        yield Figure(f"{len(texts)} texts, {size / 1e6:.0f} MB, indexed", size / 1e6 / ours, "MB/CPU-s")
        yield Figure("  CPU time of FTS5 over ours", theirs / ours, "times")
        yield Figure("  bytes of the index with the texts over those of the texts", our_bytes / size, "times")
        yield Figure("  over those of FTS5", our_bytes / their_bytes, "times", "at most", 1.0)
        prominence = Prominence(importance)
        prominence.first(1)
        spent, used = _spent(lambda words: index.find(wanted(words), prominence, MOST), searches)
        slow, _ = _spent(lambda words: _by_fts5(database, words), searches[:COMPARED])
        beside = spent[:COMPARED]
        median, late = np.quantile(spent, [0.5, 0.95])
        yield Figure(f"{len(searches)} searches of 1 to 3 words, median", 1e3 * median, "ms")
        yield Figure("  p95", 1e3 * late, "ms", "at most", 30.0)
        for name, share in (("median", 0.5), ("p95", 0.95)):
            yield Figure(f"  {name} of their CPU time", 1e3 * float(np.quantile(used, share)), "ms")
        for name, share in (("median", 0.5), ("p95", 0.95)):
            ratio = float(np.quantile(slow, share) / np.quantile(beside, share))
            yield Figure(f"  {name} of FTS5 over ours, {COMPARED} of them", ratio, "times", "at least", 1.0)
        yield Figure(
            "  share of the true best ten that is found", _recall(index, prominence, searches), "", "at least", 1.0
        )


def _texts(draw: np.random.Generator) -> list[str]:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(draw.choice(letters, draw.integers(2, 11))) for _ in range(VOCABULARY)]
    words = np.array(names)
    return [" ".join(words[_ranks(draw, int(size))]) for size in draw.integers(50, 400, DOCUMENTS)]


def _ranks(draw: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    """Ranks of words, as frequent as in a language."""
    return np.minimum((10 * draw.pareto(0.9, count)).astype(np.int64), VOCABULARY - 1)


def _ours(folder: Path, texts: Sequence[str]) -> IndexSearcher:
    folder.mkdir()
    files = IndexFiles(folder / "index", 1)
    with write_index(files, len(texts)) as writer:
        for page, text in enumerate(texts):
            writer.put(page, f"http://a.example/{page}", page + 1, float(page), PageText("html", text))
        writer.commit()
    return IndexSearcher(files, "centime index")


def _theirs(path: Path, texts: Sequence[str], importance: Importance) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(text, url, tokenize='unicode61')")
    database.execute("CREATE TABLE ledger(page INTEGER PRIMARY KEY, importance REAL)")
    rows = ((page, text, f"http://a.example/{page}") for page, text in enumerate(texts))
    database.executemany("INSERT INTO pages(rowid, text, url) VALUES (?, ?, ?)", rows)
    database.execute("INSERT INTO pages(pages) VALUES ('optimize')")
    database.executemany("INSERT INTO ledger VALUES (?, ?)", enumerate(importance.tolist()))
    database.commit()
    return database


def _by_fts5(database: sqlite3.Connection, words: str) -> list[object]:
    query = " AND ".join('"' + word.replace('"', "") + '"' for word in words.split())
    best = database.execute(
        "SELECT pages.rowid, -bm25(pages) * importance AS score FROM pages JOIN ledger ON page = pages.rowid "
        "WHERE pages MATCH ? ORDER BY score DESC LIMIT ?",
        (query, MOST),
    ).fetchall()
    numbers = ",".join(str(row[0]) for row in best)
    return database.execute(
        "SELECT url, snippet(pages, 0, '<b>', '</b>', '...', 30) FROM pages "
        f"WHERE pages MATCH ? AND rowid IN ({numbers})",
        (query,),
    ).fetchall()


def _cpu(work: Callable[[], Made]) -> tuple[float, Made]:
    """CPU seconds of all threads, and what was made."""
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def _spent(search: Callable[[str], object], searches: Sequence[str]) -> tuple[Importance, Importance]:
    """The seconds of each search, by the clock, and those of the CPU: on a machine that does other work, the clock
    counts that too. Each runs once, as a person searches.
    """
    gc.collect()
    spent = []
    for words in searches:
        began = time.perf_counter(), time.process_time()
        search(words)
        spent.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    clock, cpu = np.array(spent).T
    return clock, cpu


def _recall(index: IndexSearcher, prominence: Prominence, searches: Sequence[str]) -> float:
    """The share of the true best pages that are found, by their scores."""
    shares = []
    for words in searches[:: max(1, len(searches) // 50)]:
        found = [page.score for page in index.find(wanted(words), prominence, MOST)]
        every = index.products(wanted(words), prominence)[:MOST]
        shares.append(float(np.mean(np.isclose(found, every, rtol=1e-5))) if every else 1.0)
    return float(np.mean(shares))


PARTS: Benchmarks = {"documents": documents, "pages": pages}
ABOUT = {"documents": "100 000 synthetic texts", "pages": "documentation as HTML"}

if __name__ == "__main__":
    sys.exit(run_parts("bench.search", "What full-text search costs beside SQLite's FTS5", PARTS, ABOUT))
