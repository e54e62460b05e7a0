"""Exports a crawl for other tools, in one of FORMATS."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.graph import LinkedPages
from centime.files.replacement import STANDARD_OUTPUT, is_stream
from centime.graphs.sidecar import sidecar
from centime.model.errors import BadInput, BadSetting

FORMATS = {
    "parquet": ".parquet",
    "csv": ".csv",
    "edges": ".txt",
    "webgraph-text": ".graph-txt",
    "jsonl": ".jsonl",
    "markdown": "-markdown",
    "git": ".fast-import",
    "warc": ".warc.gz",
    "wacz": ".wacz",
}
ONE_FILE = ("parquet", "csv", "jsonl", "git", "warc", "wacz")
BODIES = ("jsonl", "markdown", "git", "warc", "wacz")  # what stored bodies are exported as


def export_path(folder: Path, form: str, output: Path | None) -> Path:
    """The file of an export: the given one, or the name of the crawl in the current folder. Refuses a bad one early."""
    if form not in FORMATS:
        raise BadSetting(
            f"the format of an export is {', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}, not {form!r}"
        )
    path = Path(f"{folder.resolve().name}{FORMATS[form]}") if output is None else output
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no such folder")
    if form == "markdown" and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise BadInput(f"{path}: the format markdown needs a new or empty folder")
    if path.is_dir() and form != "markdown":
        raise BadInput(f"{path}: this is a directory")
    if is_stream(path) and form not in ONE_FILE:
        needs = "a folder" if form == "markdown" else "two"
        raise BadInput(f"{path}: this is not a file, and the format {form} needs {needs}; use {' or '.join(ONE_FILE)}")
    if path != STANDARD_OUTPUT and path.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{path}: this is inside the crawl's own folder; write to another folder")
    return path


def export(
    states: Sequence[CrawlState],
    linked: LinkedPages,
    form: str,
    path: Path,
    step: Callable[[float], None] = lambda done: None,
    *,
    text: bool = False,
    sites: Path | None = None,
) -> dict[str, Any]:
    """Writes the export of a crawl, or of all its partitions; returns what was written. `step` receives each further
    share of the work. `text` makes `parquet` the table of texts. `sites` is a file that names the sites of which stored
    pages are written.
    """
    if text and form != "parquet":
        raise BadSetting(f"--text is for the format parquet, not for {form}")
    if sites is not None and not (form in BODIES or text):
        raise BadSetting(f"--sites chooses stored pages, and the format {form} has all pages that are known")
    pages = linked.count
    if not pages:
        raise BadInput(f"{linked.name}: the crawl knows no page yet, so there is nothing to export")
    if form in BODIES or text:
        from centime.crawl.export.exporting import export_bodies

        return export_bodies(states, Path(linked.name).resolve().name, form, path, step, sites)
    facts: dict[str, Any] = {"pages": pages}
    files = [path]
    if form in ONE_FILE:
        from centime.crawl.report.table import write_pages

        write_pages(states, linked, path, csv=form == "csv", step=lambda done: step(done / (2 * pages)))
    else:
        from centime.crawl.report.graph import write_ascii_graph, write_edge_list

        write = write_edge_list if form == "edges" else write_ascii_graph
        facts["links"] = write(linked, path, step)
        files.append(sidecar(path))
    size = None if is_stream(path) else sum(file.stat().st_size for file in files)
    return {**facts, "bytes": size, "files": [str(file) for file in files]}
