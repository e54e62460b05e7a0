"""Graph files: which reader reads which.

| format | file | module |
|---|---|---|
| `edges` | `.txt`, `.tsv`, `.csv`, `.dat`, `.edges`, each also with `.gz` or `.zst` after it | `edges` |
| `parquet` | `.parquet` | `parquet` |
| `npz` | `.npz` | `npz` |
| `mtx` | `.mtx`, also with `.gz` or `.zst` after it | `matrix_market` |
| `webgraph` | `.graph`, with `.properties` beside it | `webgraph` |

Names of pages that a format cannot hold are in a file beside it, `sidecar.py`.
"""

from contextlib import suppress
from pathlib import Path

from centime.graphs.edges import EdgeList
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
}
PACKABLE = ("edges", "mtx")
PACKED = (".gz", ".zst")


def read_graph(path: str | Path) -> Graph:
    """The graph in a file; its name tells the format."""
    return read_named(path).graph


def read_named(path: str | Path, form: str | None = None) -> NamedGraph:
    """The graph in a file and the names of its pages, if they have some; the file's name tells the format unless it
    is given.
    """
    file = open_links(Path(path), form)
    return NamedGraph(file.graph(), file.names()) if isinstance(file, WebGraph) else collect(file)


def open_links(path: Path, form: str | None = None) -> LinkFile:
    """The links of a graph file, to be gone through block by block."""
    with suppress(OSError):  # a name that no file can have is said by whoever opens it
        if path.is_dir():
            raise BadInput(f"{path}: this is a directory")
    form = form or format_of(path)
    known = read_sidecar(path)
    match form:
        case "edges":
            return EdgeList(path, known)
        case "mtx":
            return MatrixMarket(path, known)
        case "npz":
            return SparseArchive(path, known)
        case "webgraph":
            return WebGraph(path, known)
        case "parquet":
            # Arrow takes a while to load, and the other formats do without it.
            from centime.graphs.parquet import ParquetLinks

            return ParquetLinks(path, known)
    raise BadInput(f"there is no format {form!r}; known are {', '.join(SUFFIXES)}")


def format_of(path: Path) -> str:
    """The format that the name of a file tells."""
    packed = path.suffix in PACKED
    suffix = path.with_suffix("").suffix if packed else path.suffix
    for form, suffixes in SUFFIXES.items():
        if suffix in suffixes and (not packed or form in PACKABLE):
            return form
    plain = ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
    raise BadInput(f"{path}: the name ends like no graph file; known are {plain}, and text also with .gz or .zst")
