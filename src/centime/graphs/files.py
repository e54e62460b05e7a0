"""Graph files: the formats, and the reader of each.

| format | file | module |
|---|---|---|
| `edges` | `.txt`, `.tsv`, `.csv`, `.dat`, `.edges`, each also with `.gz` or `.zst` after it | `edges` |
| `parquet` | `.parquet` | `parquet` |
| `npz` | `.npz` | `npz` |
| `mtx` | `.mtx`, also with `.gz` or `.zst` after it | `matrix_market` |
| `webgraph` | `.graph`, with a `.properties` file next to it | `webgraph` |
| `graphml` | `.graphml`, also with `.gz` or `.zst` after it | `exchange/graphml` |
| `pajek` | `.net`, also with `.gz` or `.zst` after it | `exchange/pajek` |
| `gml` | `.gml`, also with `.gz` or `.zst` after it | `exchange/gml` |
| `dot` | `.dot` or `.gv`, also with `.gz` or `.zst` after it | `exchange/dot` |

A file of the format `edges` whose heading names the columns of the links among others is read by
`exchange/spreadsheet`.

If a format cannot hold the names of pages, they are in a second file next to it, see `sidecar.py`.
"""

from contextlib import suppress
from pathlib import Path

from centime.graphs.edges import EdgeList
from centime.graphs.exchange.dot import read_dot
from centime.graphs.exchange.gml import read_gml
from centime.graphs.exchange.graphml import read_graphml
from centime.graphs.exchange.named_links import NamedLinks, Reader
from centime.graphs.exchange.pajek import read_pajek
from centime.graphs.exchange.spreadsheet import has_named_columns, read_spreadsheet
from centime.graphs.link_blocks import LinkFile, collect
from centime.graphs.matrix_market import MatrixMarket
from centime.graphs.names import NamedGraph
from centime.graphs.npz import SparseArchive
from centime.graphs.sidecar import read_sidecar
from centime.graphs.webgraph.reader import WebGraph
from centime.model.errors import BadInput
from centime.model.graph import Graph

SUFFIXES = {
    "edges": (".txt", ".tsv", ".csv", ".dat", ".edges"),
    "parquet": (".parquet",),
    "npz": (".npz",),
    "mtx": (".mtx",),
    "webgraph": (".graph",),
    "graphml": (".graphml",),
    "pajek": (".net",),
    "gml": (".gml",),
    "dot": (".dot", ".gv"),
}
READERS: dict[str, Reader] = {"graphml": read_graphml, "pajek": read_pajek, "gml": read_gml, "dot": read_dot}
READ_ONLY = tuple(READERS)
PACKABLE = ("edges", "mtx", *READ_ONLY)
PACKED = (".gz", ".zst")


def read_graph(path: str | Path) -> Graph:
    """Reads the graph in a file; the file name gives the format."""
    return read_named(path).graph


def read_named(path: str | Path, form: str | None = None) -> NamedGraph:
    """Reads the graph in a file and the names of its pages, if any; by default the file name gives the format."""
    file = open_links(Path(path), form)
    return NamedGraph(file.graph(), file.names()) if isinstance(file, WebGraph) else collect(file)


def open_links(path: Path, form: str | None = None) -> LinkFile:
    """Opens a graph file, whose links can then be read block by block."""
    with suppress(OSError):  # an impossible name is reported when the file is opened
        if path.is_dir():
            raise BadInput(f"{path}: this is a directory")
    form = form or format_of(path)
    known = read_sidecar(path)
    match form:
        case "edges":
            return NamedLinks(path, read_spreadsheet, known) if has_named_columns(path) else EdgeList(path, known)
        case _ if form in READERS:
            return NamedLinks(path, READERS[form], known)
        case "mtx":
            return MatrixMarket(path, known)
        case "npz":
            return SparseArchive(path, known)
        case "webgraph":
            return WebGraph(path, known)
        case "parquet":
            # Arrow takes long to import, and the other formats do not need it.
            from centime.graphs.parquet import ParquetLinks

            return ParquetLinks(path, known)
    raise BadInput(f"there is no format {form!r}; the formats are {', '.join(SUFFIXES)}")


def format_of(path: Path) -> str:
    """The format that a file name implies."""
    packed = path.suffix in PACKED
    suffix = path.with_suffix("").suffix if packed else path.suffix
    for form, suffixes in SUFFIXES.items():
        if suffix in suffixes and (not packed or form in PACKABLE):
            return form
    plain = ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
    raise BadInput(
        f"{path}: not the name of a graph file; graph files end in {plain}, and text files also in .gz or .zst"
    )
