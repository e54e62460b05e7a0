"""What NetworkX writes is read with the same links; what is wrong in a file is named with its line."""

import gzip
from pathlib import Path

import networkx as nx
import pytest

from centime.graphs.convert import convert
from centime.graphs.files import read_named
from centime.model.errors import BadInput
from tests.graphs.drawn import named_links

SHEET = 'Source;"Anchor";Destination;Follow\r\na;"x;\ny";b;true\r\n\r\nb;;c;false\r\n'


@pytest.mark.parametrize("directed", [True, False])
def test_graphml_pajek_and_gml_of_networkx_keep_links_weights_and_lonely_pages(tmp_path: Path, directed: bool) -> None:
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_edge("a", "b c", weight=2.5)
    graph.add_edge("b c", "b c", weight=1.0)
    graph.add_node("lonely")
    nx.write_graphml_xml(graph, tmp_path / "x.graphml")
    nx.write_pajek(graph, tmp_path / "x.net")
    nx.write_gml(graph, tmp_path / "x.gml")
    links = [("a", "b c", 2.5), ("b c", "b c", 1.0)]
    links += [] if directed else [("b c", "a", 2.5)]
    for name in ("x.graphml", "x.net", "x.gml"):
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


@pytest.mark.parametrize(
    "heading",
    [
        "Source URL,Target URL",
        "source_id,targetId",
        "From,To",
        "url_from,url_to",
        "Anchor,Referring page URL,Target URL",
    ],
)
def test_a_heading_may_say_more_than_source_and_target(tmp_path: Path, heading: str) -> None:
    anchor = "x," * heading.startswith("Anchor")
    (tmp_path / "x.csv").write_text(f"{heading}\n{anchor}a,b\n{anchor}b,c\n")
    assert named_links(read_named(tmp_path / "x.csv")) == [("a", "b", 1.0), ("b", "c", 1.0)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_what_spreadsheets_write_is_read(tmp_path: Path, encoding: str) -> None:
    sheet = 'sep=;\r\n"Type";"Source";"Target";"Weight"\r\nx;https://münchen.example/;b;2,5\r\nx;b;c;1\r\n'
    mark = "\ufeff" * (encoding == "utf-16-be")
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write((mark + sheet).encode(encoding))
    assert named_links(read_named(tmp_path / "x.csv.gz")) == [("b", "c", 1.0), ("https://münchen.example/", "b", 2.5)]
    (tmp_path / "y.txt").write_bytes((mark + "a b\nb ü\n").encode(encoding))
    assert named_links(read_named(tmp_path / "y.txt")) == [("a", "b", 1.0), ("b", "ü", 1.0)]


def test_vertices_of_pajek_may_only_be_counted(tmp_path: Path) -> None:
    (tmp_path / "x.net").write_text('*Vertices 4\n1 "3"\n*Arcs\n1 2\n3 4\n*Partition p\n1\n')
    named = read_named(tmp_path / "x.net")
    assert named_links(named) == [("3", "2", 1.0), ("vertex 3", "4", 1.0)]
    assert named.graph.pages == 4


def test_lists_of_pajek_have_a_source_and_its_targets(tmp_path: Path) -> None:
    (tmp_path / "x.net").write_text('% c\n*Vertices 3\n1 "a"\n2 b\n3\n*Arcslist\n1 2 3\n*Arcs\n2 9\n')
    assert named_links(read_named(tmp_path / "x.net")) == [("a", "3", 1.0), ("a", "b", 1.0), ("b", "9", 1.0)]


def test_edges_of_dot_are_links_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "x.dot").write_text(
        'strict digraph "my graph" { // links\n rank = same; node [shape=box]\n a -> "b c" -> d:n:w [weight=2.5 x="]"];'
        '\n/* a -> z\n */ subgraph s { e; f -> a }\n # a -> y\n g -- a, -1.5 -> a; "l\\"" + "m" }\n'
    )
    named = read_named(tmp_path / "x.dot")
    assert sorted(named.names or []) == ["-1.5", "a", "b c", "d", "e", "f", "g", 'l"m']
    links = [("-1.5", "a", 1.0), ("a", "b c", 2.5), ("a", "g", 1.0), ("b c", "d", 2.5), ("f", "a", 1.0)]
    assert named_links(named) == [*links, ("g", "a", 1.0)]


def test_a_label_of_gml_may_have_several_lines_and_entities(tmp_path: Path) -> None:
    (tmp_path / "x.gml").write_text(
        'Creator "x ]"\ngraph [ # c\n node [ id 7 label "a\n&#228;" graphics [ x 1 id 9 ] ]\n node [ id 8 ]\n'
        " edge [ source 7 target 8 value 3 ] ]\n"
    )
    assert named_links(read_named(tmp_path / "x.gml")) == [("8", "a\nä", 3.0), ("a\nä", "8", 3.0)]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("x.gml", "node [ id 1 ]\n", "line 1: expected 'graph \\['"),
        ("x.gml", "graph [\n edge [ source 1 ] ]", "line 2: an edge has no source or no target"),
        ("x.gml", "graph [\n node [ label a ] ]", "line 2: a node has no id"),
        ("x.gml", "graph [ node [ id 1 label a ]\nnode [ id 2 label a ] ]", "line 2: two nodes are called 'a'"),
        ("x.gml", "graph [\n node [ id 1 ]", "line 2: the file is cut off"),
        ("x.gml", "graph [ ] ]", "line 1: unexpected ']'"),
        ("x.gml", "graph [ [ ] ]", "line 1: expected a key, not '\\['"),
        ("x.gml", 'graph [ label "' + "\n" * 300, "line 1: a text in quotes has more than 256 lines"),
        ("x.gml", 'graph [\n label "x', "line 2: a text in quotes is not closed"),
        ("x.dot", "graph { /* x\n", "line 1: a comment is not closed"),
        ("x.dot", "a -> b\n", "line 1: expected 'digraph {' or 'graph {'"),
        ("x.dot", "digraph {\n a -> {b c} }", "line 2: an edge of a group of nodes is not read"),
        ("x.dot", "digraph {\n {b c} -> a }", "line 2: an edge of a group of nodes is not read"),
        ("x.dot", "digraph {\n a -> ;}", "line 2: expected a node, not ';'"),
        ("x.dot", "digraph {\n a [x=<b>] }", "line 2: unexpected '<'"),
        ("x.dot", "digraph {\n a -> b\n", "line 2: expected a node, not the end"),
        ("x.dot", "digraph { } x", "line 1: something follows the graph"),
        ("x.dot", "digraph { a -> b [weight=x] }", "line 1: a weight must be a number, not 'x'"),
        ("x.csv", "Source,Anchor,Destination\na,b\n", "line 2: expected 3 columns as in the heading, not 2"),
        ("x.csv", 'Source,Anchor,Destination\na,b,c\na,"b', "line 3: unexpected end of data"),
        ("x.csv", "Source,Anc\rhor,Destination\na,b,c\n", "line 1: new-line character seen in unquoted field$"),
        ("x.csv", "Source,Anchor,Destination\na,b,\n", "line 2: a page has no name"),
        ("x.csv", "Source,Anchor,Destination,Weight\na,b,c,much\n", "line 2: a weight must be a number, not 'much'"),
        ("x.csv", "Source,Anchor,Destination,Weight\na,b,c,nan\n", "line 2: a weight must be a finite number"),
        ("x.csv", "Source,Anchor,Destination\n\udcff,b,c\n", "line 2: the line is not UTF-8"),
        ("x.csv", "\udcff\udcfea", "it begins as UTF-16 text does, and is not"),
        ("x.net", "1 2\n", "line 1: expected \\*Vertices"),
        ("x.net", "*arcs\n1\n", "line 2: expected two vertices"),
        ("x.net", "*Vertices 2\n*Matrix\n0 1\n", "line 2: \\*Matrix is not read"),
        ("x.net", "*Vertices 2\n1 a\n2 a\n", "line 3: two vertices are called 'a'"),
        ("x.net", "*Vertices 99999999999\n", "line 1: more than 10000000 vertices are counted"),
        ("x.graphml", "<graphml>\n<graph>\n</x>", "line 3: mismatched tag"),
        ("x.graphml", "<graphml>\n<graph><edge source='a'/></graph></graphml>", "line 2: a page has no name"),
        ("x.graphml", "<!DOCTYPE a [<!ENTITY b 'c'>]><graphml/>", "line 1: a document type is not read"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=sentence):
        read_named(tmp_path / name)


def test_nodes_of_igraph_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "x.graphml").write_text(
        '<graphml><key id="v_name" for="node" attr.name="name" attr.type="string"/><graph edgedefault="directed">'
        '<node id="n0"><data key="v_name">a</data></node><node id="n1"><data key="v_name">b</data></node>'
        '<node id="n2"/><edge source="n0" target="n1"/><edge source="n1" target="n2"/></graph></graphml>'
    )
    (tmp_path / "x.gml").write_text(
        'graph [ directed 1 node [ id 0 name "a" ] node [ id 1 name "b" ] node [ id 2 ]\n'
        "edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]"
    )
    for name, last in (("x.graphml", "n2"), ("x.gml", "2")):
        found = read_named(tmp_path / name)
        assert [found.label(page) for page in range(3)] == ["a", "b", last]
        assert found.graph.targets.tolist() == [1, 2]


def test_formats_that_are_only_read_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(BadInput, match="graphml can be read, but not written; the formats to write are edges"):
        convert(tmp_path / "a.csv", tmp_path / "x.graphml")
