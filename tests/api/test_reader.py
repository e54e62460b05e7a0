"""A crawl read by a Python program: as values, and as Arrow tables that other libraries take as they are."""

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centime import Reader, as_graph, open_crawl, pagerank
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.graph import linked_pages
from centime.crawl.sites.ranked import top_sites
from centime.model.errors import BadInput, UnknownPage
from tests.crawl.report.made import NOW, ROOT, A


@pytest.fixture
def reader(small_folder: Path) -> Reader:
    return open_crawl(small_folder)


def test_pages_as_values_and_as_a_table_are_the_same(reader: Reader) -> None:
    table = reader.pages.to_arrow()
    pages = list(reader.pages)
    assert len(pages) == len(reader.pages) == table.num_rows
    assert table["url"].to_pylist() == [page.url for page in pages]
    assert table["importance"].to_pylist() == pytest.approx([page.importance for page in pages])
    assert table["kind"].to_pylist() == [page.kind for page in pages]
    assert [(one or 0) for one in table["status"].to_pylist()] == [page.status for page in pages]
    assert sum(page.importance for page in pages) == pytest.approx(len(pages))
    assert {page.outcome for page in pages if not page.visits} <= {""}


def test_links_as_values_and_as_a_table_are_the_same(reader: Reader) -> None:
    urls = [page.url for page in reader.pages]
    table = reader.links.to_arrow()
    found = {
        (urls[source], urls[target])
        for source, target in zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)
    }
    assert {(link.source, link.target) for link in reader.links} == found
    assert len(reader.links) == table.num_rows == reader.statistics()["links"]
    assert (ROOT, f"{A}/one") in found


def test_a_crawl_can_be_ranked_by_page_and_by_site(reader: Reader) -> None:
    ranking = pagerank(reader, error=1e-9)
    apart = sum(abs(ranking[page.url] - page.importance) for page in reader.pages)
    assert reader.certified_error is not None
    assert 0 < apart / len(reader.pages) <= reader.certified_error + 1e-9
    sites = pagerank(reader.links, by="site", error=1e-9).to_dict()
    shown = top_sites(linked_pages(read_crawl(reader.folder)), 0.85, len(sites))
    assert sites == pytest.approx({row["site"]: row["site_importance"] for row in shown["top"]})
    assert as_graph(reader, weight=None).graph.links == len(reader.links)
    with pytest.raises(BadInput, match="have the weights of the crawl, and no attribute 'w'"):
        as_graph(reader, weight="w")
    with pytest.raises(BadInput, match=r"this is a directory; of the folder of a crawl, give centime.open_crawl"):
        pagerank(reader.folder)


def test_readers_and_views_say_what_they_are(reader: Reader) -> None:
    count = len(reader.pages)
    assert repr(reader) == f"<crawl {reader.folder}: {count} pages>"
    assert repr(reader.pages) == f"<{count} pages of {reader.folder}>"
    assert repr(reader.changes()) == f"<changes of {reader.folder}>"


def test_changes_come_newest_first_and_can_be_chosen(small_folder: Path) -> None:
    with open_crawl(small_folder) as reader:
        changes = list(reader.changes())
        assert {change.change for change in changes} == {"new"}
        assert [change.seen for change in changes] == sorted((change.seen for change in changes), reverse=True)
        assert {change.url for change in reader.changes(match="/one$")} == {f"{A}/one"}
        assert list(reader.changes(since=NOW + 1e6)) == []
        assert reader.changes().to_arrow()["url"].to_pylist() == [change.url for change in changes]
        assert reader.changes(since=NOW + 1e6).to_arrow().num_rows == 0


def test_bodies_are_those_that_were_served(box: Path) -> None:
    with open_crawl(box) as reader:
        bodies = list(reader.bodies)
        assert bodies
        first = bodies[0]
        assert first.status == 200
        assert first.read()
        assert first.content_type.startswith("text/html")
        table = reader.bodies.to_arrow()
        assert table.num_rows == len(bodies)
        assert table["content"][0].as_py() == first.read()


def test_arguments_of_the_wrong_kind_are_refused_in_a_sentence(reader: Reader) -> None:
    for wrong in ({"since": "x"}, {"until": None}, {"since": np.nan}, {"match": 3}, {"match": "("}):
        with pytest.raises(BadInput):
            reader.changes(**wrong)
    for url in (None, b"http://a.example/", "\udcff", "http://a.example/\udcff"):
        with pytest.raises((BadInput, UnknownPage)):
            reader.page(url)  # type: ignore[arg-type]
        with pytest.raises((BadInput, UnknownPage)):
            reader.importance(url)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="count must be"):
        reader.top("3")  # type: ignore[arg-type]


def test_one_page_is_explained(reader: Reader) -> None:
    assert reader.page(ROOT)["url"] == ROOT
    best = reader.top(1)[0]
    assert best.importance == max(page.importance for page in reader.pages) == reader.importance(best.url)
    with pytest.raises(UnknownPage):
        reader.importance("http://elsewhere.example/")
    assert reader.check() == []
    assert reader.settings["scope"] == "any"


def test_tables_reach_pandas_like_libraries_without_a_copy(reader: Reader) -> None:
    column = reader.links.to_arrow()["source"].combine_chunks()
    assert isinstance(column, pa.Int64Array)
    view = column.to_numpy(zero_copy_only=True)
    assert np.shares_memory(view, np.frombuffer(column.buffers()[1], dtype=np.int64))


def test_without_pyarrow_the_error_says_what_to_install(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for view in (reader.pages, reader.links, reader.changes(), reader.bodies):
        with pytest.raises(BadInput, match=r"centime\[arrow\]"):
            view.to_arrow()


def test_a_program_searches_a_crawl(box: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(box, tmp_path / "copy"))
    with open_crawl(folder) as crawl:
        with pytest.raises(BadInput, match="there is no index yet: run centime index"):
            crawl.search("honey")
        assert crawl.update_index()["pages"] > 100
        matches = crawl.search("honey", kind="html", most=5)
        assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
        for match in matches:
            assert match.importance == crawl.importance(match.url)
            assert all(match.snippet[begin:end].lower() == "honey" for begin, end in match.marks)
        assert crawl.search("honey", since=time.time()) == []
        assert crawl.search("honey", site="nobody.example") == []
        for wrong in ({"most": 0}, {"kind": "doc"}, {"since": "x"}, {"site": 7}):
            with pytest.raises(BadInput):
                crawl.search("honey", **wrong)
