"""Targets of fuzzing for graphs in all formats, and the names of their pages."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
from backports import zstd

from bench.fuzz_target import InputFile, Target, must, own
from centime.graphs.convert import write_graph
from centime.graphs.files import read_named
from centime.graphs.names import NamedGraph
from centime.graphs.sidecar import read_sidecar
from centime.graphs.webgraph.reader import read_webgraph
from centime.model.errors import BadInput
from centime.model.graph import Graph

EDGES = [b"a,b\nb,c\n", b"0 1 2.5\n1 0 1\n", b"# x\n\xff\t\xfe\n", b"source,target,weight\n1,2,0.5\n2,1,1\n"]
MATRICES = [
    b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.5\n3 1 2\n",
    b"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 1\n",
]
SHEETS = [b'Source,Anchor,Destination,Weight\na,"x\ny",b,1\n', b"Follow;from;to\nno;a;b\n"]
GRAPHML = [
    b"<graphml><key id='w' for='edge' attr.name='weight'/><graph edgedefault='undirected'><node id='a'/>"
    b"<edge source='a' target='b'>\n<data key='w'>2</data></edge></graph></graphml>"
]
PAJEK = [b'*Vertices 2\n1 "a b"\n2 c\n*Arcs\n1 2 0.5\n*Edges\n2 1\n*Arcslist\n1 2 2\n']
GML = [
    b'graph [\n directed 1\n node [ id 0 label "a &amp; b" ]\n node [ id 1 ]\n edge [ source 0 target 1 weight 2 ]\n]\n'
]
DOT = [b'digraph "g" { // c\n a -> "b c" -> d:n [weight=2, x="y"]; /* c\n */ subgraph s { e }\n f -- a; k=v }\n']
PARTS = (b",", b"\n", b"\t", b" ", b"1e309", b"nan", b"-", b'"', b"#", b"\xef\xbb\xbf")


def graph_targets(folder: Path) -> dict[str, Target]:
    """The targets by name; each writes into a folder of its own inside this one."""
    return {
        "bv graph": Target(_bv(own(folder, "bv")), _read_bv, (), 2),
        "npz": Target(_npz(own(folder, "npz")), _graph(folder / "npz/x.npz"), (b"<i4", b"'shape': (", b"PK\1\2")),
        "parquet": Target(_parquet(own(folder, "parquet")), _graph(folder / "parquet/x.parquet")),
        "edges": Target(EDGES, _graph(own(folder, "edges") / "x.csv"), PARTS),
        "packed edges": Target(_packed(EDGES[3] * 3), _packed_graph(own(folder, "packed"))),
        "matrix market": Target(MATRICES, _graph(own(folder, "matrix") / "x.mtx"), (b"3", b"complex", *PARTS)),
        "spreadsheet": Target(SHEETS, _graph(own(folder, "sheet") / "x.csv"), (b";", b"weight", *PARTS)),
        "graphml": Target(GRAPHML, _graph(own(folder, "graphml") / "x.graphml"), (b"<edge ", b"]]>", b"&#0;", *PARTS)),
        "pajek": Target(PAJEK, _graph(own(folder, "pajek") / "x.net"), (b"*arcs\n", b"*edgeslist\n", *PARTS)),
        "gml": Target(GML, _graph(own(folder, "gml") / "x.gml"), (b"edge [", b"]", b"node [ id 1 ]", *PARTS)),
        "dot": Target(DOT, _graph(own(folder, "dot") / "x.dot"), (b"->", b"{", b"}", b"[", b"]", b"/*", *PARTS)),
        "names": Target([b"a\nb\r\n\xc3\xa4\n"], _names(own(folder, "names")), PARTS),
    }


def _bv(folder: Path) -> list[bytes]:
    small = Graph(np.array([0, 3, 4, 6, 7]), np.array([1, 2, 3, 0, 1, 3, 3], dtype=np.int32))
    alike = Graph(np.arange(0, 33, 4), np.tile(np.array([0, 1, 2, 7], dtype=np.int32), 8))
    seeds = []
    for graph in (small, alike):
        write_graph(NamedGraph(graph, None), folder / "x.graph")
        properties = (folder / "x.properties").read_bytes()
        seeds.append(len(properties).to_bytes(2, "big") + properties + (folder / "x.graph").read_bytes())
    return seeds


def _read_bv(data: bytes) -> None:
    length = int.from_bytes(data[:2], "big")
    with suppress(BadInput):
        _sound(read_webgraph(data[2 + length :], data[2 : 2 + length].decode("latin-1"), "x.graph"))


def _npz(folder: Path) -> list[bytes]:
    made = []
    for form in ("csr", "csc", "coo"):
        matrix = scipy.sparse.coo_array(np.eye(4) + np.eye(4, k=1)).asformat(form)
        scipy.sparse.save_npz(folder / "made.npz", matrix, compressed=form == "csc")
        made.append((folder / "made.npz").read_bytes())
    return made


def _parquet(folder: Path) -> list[bytes]:
    made = []
    for columns in (
        {"source": [0, 1, 2], "target": [1, 2, 0], "weight": [1.0, 0.5, 2.0]},
        {"from": ["a", "b", "a"], "to": ["b", "c", "\u00e4"]},
    ):
        for compression in ("none", "snappy", "zstd"):
            pq.write_table(pa.table(columns), folder / "made.parquet", compression=compression)
            made.append((folder / "made.parquet").read_bytes())
    return made


def _graph(path: Path) -> Callable[[bytes], object]:
    file = InputFile(path)

    def read(data: bytes) -> None:
        with suppress(BadInput):
            _sound(read_named(file.take(data)).graph)

    return read


def _packed(edges: bytes) -> list[bytes]:
    return [gzip.compress(edges, mtime=0), zstd.compress(edges), gzip.compress(edges[:9], mtime=0) * 2]


def _packed_graph(folder: Path) -> Callable[[bytes], object]:
    packed_by_gzip, packed_by_zstd = _graph(folder / "x.csv.gz"), _graph(folder / "x.csv.zst")
    return lambda data: packed_by_gzip(data) if data[:1] == b"\x1f" else packed_by_zstd(data)


def _names(folder: Path) -> Callable[[bytes], object]:
    file = InputFile(folder / "x.npz.names")

    def read(data: bytes) -> None:
        file.take(data)
        with suppress(BadInput):
            table = read_sidecar(folder / "x.npz")
            must(table is not None and len(table) <= data.count(b"\n") + 1, "a line is a name")

    return read


def _sound(graph: Graph) -> None:
    must(len(graph.targets) == graph.offsets[-1], "every link has a place")
    must(bool((np.diff(graph.offsets) >= 0).all()), "rows do not overlap")
    must(not len(graph.targets) or 0 <= graph.targets.min() <= graph.targets.max() < graph.pages, "links lead to pages")
