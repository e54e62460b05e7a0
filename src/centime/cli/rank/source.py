"""The graph that a command reads: a graph file, or the currently known links of a crawl."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from centime.graphs.names import NamedGraph


def is_crawl_folder(path: Path) -> bool:
    """Whether the path is the folder of a crawl."""
    if not path.is_dir():
        return False
    from centime.cluster.folder import is_cluster
    from centime.store.folder import is_crawl

    return is_crawl(path) or is_cluster(path)


def read_graph(path: Path) -> "NamedGraph":
    """Reads the graph of a file or of a crawl; the crawl may be running."""
    if not is_crawl_folder(path):
        from centime.graphs.files import read_named

        return read_named(path)
    from centime.cluster.report.parts import parts_of
    from centime.crawl.report.graph import crawl_graph

    parts = parts_of(path)
    try:
        return crawl_graph(parts.linked)
    finally:
        parts.close()
