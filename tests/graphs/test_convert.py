import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.graphs.convert import convert, write_graph
from centime.graphs.files import read_named
from centime.graphs.link_blocks import Links
from centime.graphs.names import NamedGraph, PageNames
from centime.graphs.survey import GraphLinks
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import graph_from_links
from tests.graphs.drawn import graphs, links_of, named_links, same

FILES = ["a.txt", "a.tsv.gz", "a.csv", "a.csv.zst", "a.edges", "a.parquet", "a.npz", "a.mtx", "a.mtx.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("convert")


@given(graphs(), st.lists(st.sampled_from(FILES), min_size=1, max_size=4))
@settings(max_examples=150)
def test_a_graph_survives_any_chain_of_formats(folder: Path, graph: NamedGraph, names: list[str]) -> None:
    last = folder / f"0-{names[0]}"
    write_graph(graph, last)
    assert same(read_named(last), graph)
    for step, name in enumerate(names[1:], 1):
        convert(last, folder / f"{step}-{name}")
        last = folder / f"{step}-{name}"
        assert same(read_named(last), graph)


@given(graphs(simple=True), st.sampled_from(FILES))
@settings(max_examples=80)
def test_a_graph_without_weights_survives_webgraph(folder: Path, graph: NamedGraph, name: str) -> None:
    write_graph(graph, folder / name)
    done = convert(folder / name, folder / "b.graph")
    assert (done.pages, done.links, done.weighted, done.named) == (
        graph.graph.pages,
        graph.graph.links,
        False,
        graph.names is not None,
    )
    assert same(read_named(folder / "b.graph"), graph)
    convert(folder / "b.graph", folder / name)
    assert same(read_named(folder / name), graph)


@given(graphs(named=False))
def test_scipy_reads_what_was_written(folder: Path, graph: NamedGraph) -> None:
    write_graph(graph, folder / "s.npz")
    write_graph(graph, folder / "s.mtx")
    links = links_of(graph.graph)
    dense = np.zeros((graph.graph.pages, graph.graph.pages))
    for source, target, weight in links:
        with np.errstate(over="ignore"):
            dense[source, target] += weight
    for matrix in (scipy.sparse.load_npz(folder / "s.npz"), scipy.io.mmread(folder / "s.mtx")):
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(matrix.toarray(), dense)


@given(graphs(named=True))
def test_arrow_reads_what_was_written(folder: Path, graph: NamedGraph) -> None:
    write_graph(graph, folder / "s.parquet")
    columns = pq.read_table(folder / "s.parquet").to_pydict()
    weights = columns.get("weight", [1.0] * graph.graph.links)
    assert sorted(zip(columns["source"], columns["target"], weights, strict=True)) == named_links(graph)


def test_an_archive_has_no_date_so_that_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    write_graph(NamedGraph(graph_from_links(2, [0, 1], [1, 0])), tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {(entry.date_time, entry.compress_type) for entry in archive.infolist()} == {
            ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED)
        }


def test_links_in_no_order_are_written_to_every_format(tmp_path: Path) -> None:
    pages = 300
    text = "".join(f"{page * 7 % pages} {page * page % pages}\n" for page in range(pages))
    (tmp_path / "a.txt").write_text(text)
    expected = sorted((page * 7 % pages, page * page % pages, 1.0) for page in range(pages))
    for name in [*FILES[1:], "a.graph"]:
        convert(tmp_path / "a.txt", tmp_path / name)
        assert sorted(links_of(read_named(tmp_path / name).graph)) == expected
    assert scipy.sparse.load_npz(tmp_path / "a.npz").format == "coo"


def test_a_format_can_be_given_where_the_name_tells_none(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("0 1\n1 0\n")
    done = convert(tmp_path / "dump", tmp_path / "matrix", "edges", "mtx")
    assert done.files == (str(tmp_path / "matrix"),)
    assert read_named(tmp_path / "matrix", "mtx").graph.links == 2
    for from_, to in [("morse", "mtx"), ("edges", "morse")]:
        with pytest.raises(BadInput, match="no format 'morse'; the formats are edges, parquet, npz, mtx, webgraph"):
            convert(tmp_path / "dump", tmp_path / "a.txt", from_, to)


def test_names_that_a_format_cannot_hold_go_beside_it_and_old_ones_go(tmp_path: Path) -> None:
    named = NamedGraph(graph_from_links(3, [0, 1], [1, 0]), PageNames.of(["http://a/", "http://b/", "lonely"]))
    done = write_graph(named, tmp_path / "a.npz")
    assert (tmp_path / "a.npz.names").read_text() == "http://a/\nhttp://b/\nlonely\n"
    assert done.files == (str(tmp_path / "a.npz"), str(tmp_path / "a.npz.names"))
    write_graph(named, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "# centime: names, 3 pages\nhttp://a/\thttp://b/\nhttp://b/\thttp://a/\n"
    assert read_named(tmp_path / "a.txt").names is not None
    write_graph(NamedGraph(named.graph), tmp_path / "a.npz")
    assert not (tmp_path / "a.npz.names").exists()


@pytest.mark.parametrize(
    ("names", "file", "sentence"),
    [
        (["a\tb", "c"], "a.txt", r"'a\\tb' cannot be written to an edge list .*; write to .csv or to Parquet"),
        (["#a", "c"], "a.tsv", "'#a' cannot be written"),
        (["a", " c"], "a.tsv", "' c' cannot be written"),
        (["a\nb", "c"], "a.csv", r"'a\\nb' cannot be written to an edge list of this kind; write to Parquet"),
        (["a\nb", "c"], "a.npz", "does not fit on one line; write to Parquet"),
    ],
)
def test_names_that_would_not_come_back_are_refused(tmp_path: Path, names: list[str], file: str, sentence: str) -> None:
    named = NamedGraph(graph_from_links(2, [0], [1]), PageNames.of(names))
    with pytest.raises(BadInput, match=sentence):
        write_graph(named, tmp_path / file)
    assert list(tmp_path.iterdir()) == []
    write_graph(named, tmp_path / "a.parquet")
    assert same(read_named(tmp_path / "a.parquet"), named)


def test_odd_names_come_back_from_csv(tmp_path: Path) -> None:
    names = ['say "no"', "a,b", "#1", "%2", " x ", '"', "12", "source", "target"]
    named = NamedGraph(graph_from_links(9, range(9), [8, 7, 6, 5, 4, 3, 2, 1, 0]), PageNames.of(names))
    write_graph(named, tmp_path / "a.csv")
    assert same(read_named(tmp_path / "a.csv"), named)


def test_numbers_as_names_stay_names(tmp_path: Path) -> None:
    named = NamedGraph(graph_from_links(2, [0, 1], [1, 0]), PageNames.of(["7", "5"]))
    for name in ["a.txt", "a.csv", "a.parquet"]:
        write_graph(named, tmp_path / name)
        assert same(read_named(tmp_path / name), named)


@given(graphs(), st.integers(1, 3))
def test_repeated_links_are_merged_in_a_webgraph_and_counted(folder: Path, weighted: NamedGraph, rows: int) -> None:
    graph = NamedGraph(weighted.graph.unweighted(), weighted.names)
    links = sorted(set(links_of(graph.graph)))
    with pytest.MonkeyPatch.context() as patched:
        # With small blocks, rows refer to rows of the block before.
        patched.setattr("centime.graphs.webgraph.writer.BLOCK_ROWS", rows)
        done = write_graph(graph, folder / "m.graph")
    assert (done.links, done.merged_links) == (len(links), graph.graph.links - len(links))
    assert links_of(read_named(folder / "m.graph").graph) == links


def test_weights_are_more_than_a_webgraph_can_hold(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 1 2\n")
    with pytest.raises(BadGraph, match=r"a\.txt: .* a WebGraph cannot hold"):
        convert(tmp_path / "a.txt", tmp_path / "a.graph")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", [*FILES, "a.graph"])
def test_nothing_is_left_behind_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, failure: type[BaseException]
) -> None:
    named = NamedGraph(graph_from_links(2, [0, 1], [1, 0]))
    write_graph(named, tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    passes = 0

    def failing(self: GraphLinks) -> Iterator[Links]:
        nonlocal passes
        passes += 1
        yield Links(np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
        if passes > 1:
            raise failure
        yield Links(np.array([1], dtype=np.int32), np.array([1], dtype=np.int32))

    monkeypatch.setattr(GraphLinks, "blocks", failing)
    with pytest.raises(failure):
        write_graph(named, tmp_path / name)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_source_that_changes_while_it_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = NamedGraph(graph_from_links(2, [0, 1], [1, 0]))
    passes = 0

    def changing(self: GraphLinks) -> Iterator[Links]:
        nonlocal passes
        passes += 1
        yield Links(np.array([0] * passes, dtype=np.int32), np.array([1] * passes, dtype=np.int32))

    monkeypatch.setattr(GraphLinks, "blocks", changing)
    with pytest.raises(BadGraph, match="changed while it was read"):
        write_graph(named, tmp_path / "a.txt")


def test_the_target_must_be_a_file_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 1\n")
    (tmp_path / "b.txt").mkdir()
    with pytest.raises(BadInput, match="this is a directory"):
        convert(tmp_path / "a.txt", tmp_path / "b.txt")
    with pytest.raises(BadInput, match="there is no such folder"):
        convert(tmp_path / "a.txt", tmp_path / "nowhere" / "b.txt")
    with pytest.raises(BadInput, match="not the name of a graph file"):
        convert(tmp_path / "a.txt", tmp_path / "b.png")


def test_a_file_can_be_converted_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 2\n2 1\n")
    convert(path, path)
    convert(path, path)  # and keeps its numbers
    assert path.read_text() == "# centime: numbers from 1, 2 pages\n1\t2\n2\t1\n"


@pytest.mark.parametrize(
    ("name", "first"), [("b.parquet", 1), ("b.csv", 1), ("b.npz", 0), ("b.mtx", 1), ("b.graph", 0)]
)
def test_numbers_are_kept_where_the_format_can(tmp_path: Path, name: str, first: int) -> None:
    (tmp_path / "a.txt").write_text("1 2\n3 1\n")
    assert convert(tmp_path / "a.txt", tmp_path / name).numbered_from == first
    named = read_named(tmp_path / name)
    assert (named.first, links_of(named.graph)) == (first, [(0, 1, 1.0), (2, 0, 1.0)])


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{page} {page + 1}\n" for page in range(100_000)))
    last = tmp_path / "a.txt"
    for name in ["b.parquet", "b.npz", "b.mtx.gz", "b.csv.zst", "b.graph", "c.txt"]:
        steps: list[float] = []
        convert(last, tmp_path / name, step=steps.append)
        assert sum(steps) == pytest.approx(1.0)
        assert min(steps) >= 0
        last = tmp_path / name
