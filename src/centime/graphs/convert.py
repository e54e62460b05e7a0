"""Converts a graph file to another format, block by block; the modules of the formats state how much memory they need.

The source is read once to survey it (`survey.py`), then once or a few times more to write it. Only one conversion holds
the whole graph in memory: to a WebGraph, from links that are not sorted by source.

Guaranteed: the new file replaces an older one only when it is complete; a failure or Ctrl-C leaves nothing behind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from centime.files.replacement import replacing_files
from centime.graphs.files import READ_ONLY, SUFFIXES, format_of, open_links
from centime.graphs.link_blocks import LinkFile, collect
from centime.graphs.names import NamedGraph
from centime.graphs.npz_writer import write_archive
from centime.graphs.sidecar import sidecar, write_sidecar
from centime.graphs.survey import GraphLinks, Step, Survey
from centime.graphs.text_writer import write_edges, write_matrix_market
from centime.graphs.webgraph.writer import properties_of, write_webgraph
from centime.model.errors import BadInput

HOLD_NAMES = ("edges", "parquet")
SHARE_OF_SURVEY = 0.4

Writer = Callable[[Survey, Path, list[str]], None]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of a conversion: the pages and links of the new file."""

    pages: int
    links: int
    merged_links: int
    """Repeated links that the new file lacks, because a WebGraph holds each link once."""
    weighted: bool
    named: bool
    numbered_from: int
    """The number of the first page in the new file; without names, numbers identify pages."""
    files: tuple[str, ...]


def convert(
    source: Path, target: Path, from_: str | None = None, to: str | None = None, step: Step = lambda done: None
) -> Conversion:
    """Converts one graph file to another; `step` receives the share of the work done since its last call."""
    form = to or format_of(target)
    return _write(open_links(source, from_), target, form, step)


def write_graph(named: NamedGraph, target: Path, form: str | None = None) -> Conversion:
    """Writes a graph in memory to a file; by default the file name gives the format."""
    return _write(GraphLinks(named), target, form or format_of(target), lambda done: None)


def _write(file: LinkFile, target: Path, form: str, step: Step) -> Conversion:
    if form not in SUFFIXES:
        raise BadInput(f"there is no format {form!r}; the formats are {', '.join(SUFFIXES)}")
    if form in READ_ONLY:
        writable = ", ".join(known for known in SUFFIXES if known not in READ_ONLY)
        raise BadInput(f"{target}: {form} can be read, but not written; the formats to write are {writable}")
    if target.is_dir() or not target.parent.is_dir():
        raise BadInput(f"{target}: {'this is a directory' if target.is_dir() else 'there is no such folder'}")
    survey = Survey(file, step, SHARE_OF_SURVEY)
    if form == "webgraph" and not survey.in_order:
        survey = Survey(GraphLinks(collect(file), file.name), step, 0.0)
    lonely = form in HOLD_NAMES and survey.names is not None and _some_page_has_no_link(survey)
    survey.share = (1.0 - SHARE_OF_SURVEY) / (1 if form != "npz" else 2 if survey.in_order else 3)
    with replacing_files(target) as files:
        merged = 0
        if form == "webgraph":
            merged = write_webgraph(survey, files.new(target))
            files.new(target.with_suffix(".properties")).write_text(properties_of(survey.pages, survey.links - merged))
        else:
            _writer(form)(survey, files.new(target), ["", *target.suffixes])
        if survey.names is not None and (lonely or form not in HOLD_NAMES):
            write_sidecar(files.new(sidecar(target)), survey.names)
        elif sidecar(target).exists():
            files.remove(sidecar(target))
    named = survey.names is not None
    numbered_from = 1 if form == "mtx" else survey.first if form in HOLD_NAMES and not named else 0
    written = tuple(str(path) for path in files.paths)
    return Conversion(survey.pages, survey.links - merged, merged, survey.weighted, named, numbered_from, written)


def _writer(form: str) -> Writer:
    if form == "parquet":
        from centime.graphs.parquet_writer import write_parquet

        return write_parquet
    return {"edges": write_edges, "mtx": write_matrix_market, "npz": write_archive}[form]


def _some_page_has_no_link(survey: Survey) -> bool:
    """Whether a list of links would omit a page."""
    survey.share = 0.0
    linked = np.diff(survey.offsets()) > 0
    for block in survey.blocks():
        linked[block.targets] = True
    return not linked.all()
