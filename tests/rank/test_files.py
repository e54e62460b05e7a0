import gzip
from pathlib import Path

import pytest

from centime.model.errors import BadInput
from centime.rank.files import read_graph
from tests.rank.encoder import encode


@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".csv", ".dat", ".edges"])
def test_edge_lists_are_known_by_their_names_packed_or_not(tmp_path: Path, suffix: str) -> None:
    plain, packed = tmp_path / f"links{suffix}", tmp_path / f"links{suffix}.gz"
    plain.write_text("0,1\n1,0\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_graph(str(plain)).links == read_graph(packed).links == 2


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
        ("picture.png", "the name ends like no graph file"),
        ("picture.png.gz", "the name ends like no graph file"),
        ("no-suffix", "the name ends like no graph file"),
        ("a" * 400 + ".txt", "the file cannot be read"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            read_graph(tmp_path / name)
