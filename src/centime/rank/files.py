"""Graph files: which reader reads which.

| file | reader |
|---|---|
| `name.graph` with `name.properties` beside it | `webgraph`, WebGraph's BV format |
| `.txt`, `.tsv`, `.csv`, `.dat`, `.edges`, each also with `.gz` or `.zst` after it | `edges`, one link per line |
"""

from pathlib import Path

from centime.model.errors import BadInput
from centime.model.graph import Graph
from centime.rank.edges import EdgeList
from centime.rank.links import collect
from centime.rank.names import NamedGraph
from centime.rank.packed import check_file
from centime.rank.webgraph import read_webgraph

EDGE_SUFFIXES = (".txt", ".tsv", ".csv", ".dat", ".edges")


def read_graph(path: str | Path) -> Graph:
    """The graph in a file; its name tells the format."""
    return read_named(path).graph


def read_named(path: str | Path) -> NamedGraph:
    """The graph in a file and the names of its pages, if they have some; the file's name tells the format."""
    path = Path(path)
    suffix = path.with_suffix("").suffix if path.suffix in (".gz", ".zst") else path.suffix
    if suffix in EDGE_SUFFIXES:
        return collect(EdgeList(path))
    if path.suffix != ".graph":
        known = f".graph and {', '.join(EDGE_SUFFIXES)}, these also with .gz or .zst"
        raise BadInput(f"{path}: the name ends like no graph file; known are {known}")
    properties = path.with_suffix(".properties")
    check_file(path)
    check_file(properties)
    return NamedGraph(read_webgraph(path.read_bytes(), properties.read_bytes().decode("latin-1"), str(path)))
