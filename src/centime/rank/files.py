"""Graph files: which reader reads which.

| file | reader |
|---|---|
| `name.graph` with `name.properties` beside it | `webgraph`, WebGraph's BV format |
| `.txt`, `.tsv`, `.csv`, `.dat`, `.edges`, each also with `.gz` after it | `edges`, one link per line |
"""

import gzip
import zlib
from pathlib import Path

from centime.model.errors import BadInput
from centime.model.graph import Graph
from centime.rank.edges import parse_edges
from centime.rank.webgraph import read_webgraph

EDGE_SUFFIXES = (".txt", ".tsv", ".csv", ".dat", ".edges")


def read_graph(path: str | Path) -> Graph:
    """The graph in a file; its name tells the format."""
    path = Path(path)
    packed = path.suffix == ".gz"
    suffix = path.with_suffix("").suffix if packed else path.suffix
    if suffix not in EDGE_SUFFIXES and path.suffix != ".graph":
        raise BadInput(f"{path}: the name ends like no graph file; known are .graph and {', '.join(EDGE_SUFFIXES)}, these also with .gz")
    data = read_bytes(path)
    if path.suffix == ".graph":
        properties = path.with_suffix(".properties")
        return read_webgraph(data, read_bytes(properties).decode("latin-1"), str(path))
    return parse_edges(_unpacked(data, path) if packed else data, str(path))


def read_bytes(path: Path) -> bytes:
    """All of a file; a sentence if it is missing, empty, a directory or not to be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: this is a directory, not a graph file") from None
    except OSError as reason:
        raise BadInput(f"{path}: the file cannot be read ({reason.strerror})") from None
    if not data:
        raise BadInput(f"{path}: the file is empty")
    return data


def _unpacked(data: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the file is not gzip, or damaged") from None
