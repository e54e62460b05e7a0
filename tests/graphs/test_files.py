import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centime.graphs.convert import convert
from centime.graphs.files import read_graph
from centime.model.errors import BadInput
from tests.graphs.webgraph.encoder import encode


@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".csv", ".dat", ".edges"])
def test_edge_lists_are_known_by_their_names_packed_or_not(tmp_path: Path, suffix: str) -> None:
    plain, packed = tmp_path / f"links{suffix}", tmp_path / f"links{suffix}.gz"
    plain.write_text("0,1\n1,0\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_graph(str(plain)).links == read_graph(packed).links == 2


def test_an_edge_list_packed_with_zstd_is_read_and_a_cut_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv.zst"
    with pa.output_stream(path, compression="zstd") as file:
        file.write(b"".join(b"%d\t%d\n" % (page, page * page % 70_000) for page in range(70_000)))
    assert read_graph(path).links == 70_000
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BadInput, match="not zstd, or damaged"):
        read_graph(path)


def test_what_is_neither_file_nor_directory_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadInput, match="this is not a regular file"):
        read_graph(tmp_path / "pipe.txt")


def test_a_small_file_that_unpacks_to_much_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(bytes(100_000_000)))
    tracemalloc.start()
    with pytest.raises(BadInput, match="byte 0: the line is longer than"):
        read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "name", ["in-order.txt", "mixed.txt", "mixed.txt.gz", "mixed.npz", "mixed.mtx", "mixed.parquet", "ordered.graph"]
)
def test_reading_takes_little_more_than_the_graph(tmp_path: Path, name: str) -> None:
    pages, links = 10_000, 1_000_000
    order = np.arange(links)
    sources = order // 100 if name in ("in-order.txt", "ordered.graph") else order * 7919 % pages
    targets = (order * 31 + order // 100) % pages
    path = tmp_path / name
    if name == "mixed.npz":
        np.savez(path, format=b"coo", shape=[pages, pages], row=sources, col=targets, data=np.ones(links))
    else:
        (tmp_path / "plain.txt").write_bytes(b"".join(b"%d %d\n" % link for link in zip(sources, targets, strict=True)))
        convert(tmp_path / "plain.txt", path)
    read_graph(path)  # so that everything is loaded and compiled
    tracemalloc.start()
    graph = read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert graph.links == links
    assert peak < 4 * links + 32 * pages + 5_000_000


def test_a_webgraph_is_read_with_the_properties_beside_it(tmp_path: Path) -> None:
    data, properties = encode([[1], [0, 1]], [0, 1])
    (tmp_path / "small.graph").write_bytes(data)
    (tmp_path / "small.properties").write_text(properties)
    assert read_graph(tmp_path / "small.graph").targets.tolist() == [1, 0, 1]


def test_a_webgraph_without_properties_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.graph").write_bytes(b"x")
    with pytest.raises(BadInput, match=r"small\.properties: there is no such file"):
        read_graph(tmp_path / "small.graph")


def test_what_is_no_graph_file_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "empty.txt").touch()
    (tmp_path / "false.txt.gz").write_bytes(b"0 1\n")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"0 1\n")[:-9])
    for name, sentence in [
        ("folder.txt", "this is a directory"),
        ("missing.txt", "there is no such file"),
        ("empty.txt", "the file is empty"),
        ("false.txt.gz", "not gzip, or damaged"),
        ("cut.txt.gz", "not gzip, or damaged"),
        ("picture.png", "not the name of a graph file"),
        ("picture.png.gz", "not the name of a graph file"),
        ("no-suffix", "not the name of a graph file"),
        ("a" * 400 + ".txt", "the file cannot be read"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            read_graph(tmp_path / name)
