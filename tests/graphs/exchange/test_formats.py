"""What NetworkX writes is read with the same links; what is wrong in a file is named with its line."""

from pathlib import Path

import networkx as nx
import pytest

from centime.graphs.convert import convert
from centime.graphs.files import read_named
from centime.model.errors import BadInput
from tests.graphs.drawn import named_links

SHEET = 'Source;"Anchor";Destination;Follow\r\na;"x;\ny";b;true\r\n\r\nb;;c;false\r\n'


@pytest.mark.parametrize("directed", [True, False])
def test_graphml_and_pajek_of_networkx_keep_links_weights_and_lonely_pages(tmp_path: Path, directed: bool) -> None:
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_edge("a", "b c", weight=2.5)
    graph.add_edge("b c", "b c", weight=1.0)
    graph.add_node("lonely")
    nx.write_graphml_xml(graph, tmp_path / "x.graphml")
    nx.write_pajek(graph, tmp_path / "x.net")
    links = [("a", "b c", 2.5), ("b c", "b c", 1.0)]
    links += [] if directed else [("b c", "a", 2.5)]
    for name in ("x.graphml", "x.net"):
        named = read_named(tmp_path / name)
        assert named_links(named) == sorted(links)
        assert sorted(named.names or []) == ["a", "b c", "lonely"]
        done = convert(tmp_path / name, tmp_path / "x.csv")
        assert (done.pages, done.links) == (3, len(links))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_links_are_found_by_the_names_of_columns(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(SHEET.replace("x;", "x").replace(";", separator), newline="")
    assert named_links(read_named(path)) == [("a", "b", 1.0), ("b", "c", 1.0)]


def test_a_column_of_weights_and_an_edge_list_are_still_what_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Type,Source,Target,Weight\nx,a,b,0.5\n")
    assert named_links(read_named(tmp_path / "a.csv")) == [("a", "b", 0.5)]
    (tmp_path / "b.csv").write_text("source,target,count\n0,1,0.5\n")
    assert read_named(tmp_path / "b.csv").names is None
    assert named_links(read_named(tmp_path / "b.csv")) == [("0", "1", 0.5)]
    (tmp_path / "c.csv").write_text("Source,Target,Anchor\na,b,more\n")
    assert named_links(read_named(tmp_path / "c.csv")) == [("a", "b", 1.0)]


def test_lists_of_pajek_have_a_source_and_its_targets(tmp_path: Path) -> None:
    (tmp_path / "x.net").write_text('% c\n*Vertices 3\n1 "a"\n2 b\n3\n*Arcslist\n1 2 3\n*Arcs\n2 9\n')
    assert named_links(read_named(tmp_path / "x.net")) == [("a", "3", 1.0), ("a", "b", 1.0), ("b", "9", 1.0)]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("x.csv", "Source,Anchor,Destination\na,b\n", "line 2: expected 3 columns as in the heading, not 2"),
        ("x.csv", 'Source,Anchor,Destination\na,b,c\na,"b', "line 3: unexpected end of data"),
        ("x.csv", "Source,Anc\rhor,Destination\na,b,c\n", "line 1: new-line character seen in unquoted field$"),
        ("x.csv", "Source,Anchor,Destination\na,b,\n", "line 2: a page has no name"),
        ("x.csv", "Source,Anchor,Destination,Weight\na,b,c,much\n", "line 2: a weight must be a number, not 'much'"),
        ("x.csv", "Source,Anchor,Destination,Weight\na,b,c,nan\n", "line 2: a weight must be a finite number"),
        ("x.csv", "Source,Anchor,Destination\n\udcff,b,c\n", "line 2: the line is not UTF-8"),
        ("x.net", "1 2\n", "line 1: expected \\*Vertices"),
        ("x.net", "*arcs\n1\n", "line 2: expected two vertices"),
        ("x.graphml", "<graphml>\n<graph>\n</x>", "line 3: mismatched tag"),
        ("x.graphml", "<graphml>\n<graph><edge source='a'/></graph></graphml>", "line 2: a page has no name"),
        ("x.graphml", "<!DOCTYPE a [<!ENTITY b 'c'>]><graphml/>", "line 1: a document type is not read"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=sentence):
        read_named(tmp_path / name)


def test_formats_that_are_only_read_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(BadInput, match="graphml can be read, but not written; the formats to write are edges"):
        convert(tmp_path / "a.csv", tmp_path / "x.graphml")
