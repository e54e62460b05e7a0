"""A bias towards some pages: it personalises importance, and it is the set of pages that interest leads to.

A bias is a list of pages (each has weight 1), a mapping from pages to weights, an array with one weight for each page,
or a file with one page per line, optionally followed by a tab and a weight. Empty lines and lines that start with # are
ignored. A page is given by its name, or by its number in the graph file if pages have no names.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from centime.graphs.names import NamedGraph, PageNames, find_page
from centime.graphs.packed import TextFile
from centime.model.errors import BadInput
from centime.rank.scores import Vector

Page: TypeAlias = str | int
Bias: TypeAlias = (
    str | Path | Mapping[Page, float] | Iterable[Page] | npt.NDArray[np.floating] | npt.NDArray[np.integer]
)


def bias_vector(bias: Bias, named: NamedGraph) -> Vector:
    """The weight of each page of a graph in a bias."""
    pages = named.graph.pages
    if isinstance(bias, np.ndarray):
        if bias.shape != (pages,):
            raise BadInput(f"a bias needs one number for each of the {pages} pages, its shape is {bias.shape}")
        return bias.astype(np.float64)
    vector = np.zeros(pages)
    for number, counts in chosen_pages(bias, named.names, named.first, pages).items():
        vector[number] = counts
    return vector


def chosen_pages(
    bias: str | Path | Mapping[Page, float] | Iterable[Page], names: PageNames | None, first: int, pages: int
) -> dict[int, float]:
    """The weights of the pages of a bias, by page number; at least one weight is positive."""
    chosen = {}
    for where, page, counts in _entries(bias):
        number = find_page(page, names, first, pages)
        if number is None:
            raise BadInput(f"{where}the graph has no page {page}")
        if not 0 <= counts < np.inf:
            raise BadInput(f"{where}page {page} has the weight {counts}; it must be a finite number, zero or more")
        chosen[number] = counts
    if not any(chosen.values()):
        raise BadInput(
            f"{f'{bias}: ' if isinstance(bias, str | Path) else ''}the bias has no page with a weight above 0"
        )
    return chosen


def _entries(bias: str | Path | Mapping[Page, float] | Iterable[Page]) -> Iterator[tuple[str, Page, float]]:
    """The place of each entry, for error messages, with the page and its weight."""
    if isinstance(bias, str | Path):
        yield from _lines(Path(bias))
    elif isinstance(bias, Mapping):
        yield from (("", page, counts) for page, counts in bias.items())
    else:
        yield from (("", page, 1.0) for page in bias)


def _lines(path: Path) -> Iterator[tuple[str, Page, float]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        name, tab, counts = line.strip().partition("\t")
        where = f"{path}, line {number}: "
        if not name or name.startswith("#"):
            continue
        try:
            yield where, name, float(counts) if tab else 1.0
        except ValueError:
            raise BadInput(f"{where}{counts!r} after the tab is not a number") from None


def _text(path: Path) -> str:
    try:
        return b"".join(block.tobytes() for block in TextFile(path).blocks()).decode()
    except UnicodeDecodeError as wrong:
        raise BadInput(f"{path}, byte {wrong.start}: the file is not text in UTF-8") from None
