"""Exports a crawl for other tools, in one of FORMATS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from centime.crawl.engine.state import CrawlState
from centime.files.replacement import STANDARD_OUTPUT, is_stream
from centime.graphs.sidecar import sidecar
from centime.model.errors import BadInput, BadSetting

FORMATS = {"parquet": ".parquet", "csv": ".csv", "edges": ".txt", "webgraph-text": ".graph-txt"}
ONE_FILE = ("parquet", "csv")


def export_path(folder: Path, form: str, output: Path | None) -> Path:
    """The file of an export: the given one, or the name of the crawl in the current folder. Refuses a bad one early."""
    if form not in FORMATS:
        raise BadSetting(
            f"the format of an export is {', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}, not {form!r}"
        )
    path = Path(f"{folder.resolve().name}{FORMATS[form]}") if output is None else output
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"{path}: {'this is a directory' if path.is_dir() else 'there is no such folder'}")
    if is_stream(path) and form not in ONE_FILE:
        raise BadInput(f"{path}: this is not a file, and the format {form} needs two; use {' or '.join(ONE_FILE)}")
    if path != STANDARD_OUTPUT and path.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{path}: this is inside the crawl's own folder; write to another folder")
    return path


def export(
    opened: CrawlState, form: str, path: Path, step: Callable[[float], None] = lambda done: None
) -> dict[str, Any]:
    """Writes the export; returns what was written. `step` receives each further share of the work."""
    pages = opened.shard.pages.count
    if not pages:
        raise BadInput(f"{opened.folder.path}: the crawl knows no page yet, so there is nothing to export")
    facts: dict[str, Any] = {"pages": pages}
    files = [path]
    if form in ONE_FILE:
        from centime.crawl.report.table import write_pages

        write_pages(opened, path, csv=form == "csv", step=lambda done: step(done / (2 * pages)))
    else:
        from centime.crawl.report.graph import write_ascii_graph, write_edge_list

        write = write_edge_list if form == "edges" else write_ascii_graph
        facts["links"] = write(opened, path, step)
        files.append(sidecar(path))
    size = None if is_stream(path) else sum(file.stat().st_size for file in files)
    return {**facts, "bytes": size, "files": [str(file) for file in files]}
