"""Graphs given as Python or NumPy values: pairs, mappings, arrays of links, columns.

| value | links |
|---|---|
| pairs or triples, in any iterable | (source, target), or (source, target, weight) |
| a mapping | each page to its targets, or to a mapping from targets to weights; keys without links are pages too |
| an array with two or three columns | source, target and weight |
| a tuple of two or three arrays | sources, targets and weights |

The pages are those that are mentioned. Whole numbers are in ascending order and stay numbers: if they are 0, 1, 2 ...
or 1, 2, 3 ... without gaps, the graph needs no names. Other values are in the order of their first mention; their
names are their `str`, or their `repr` if two of them have the same `str`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.graphs.names import NamedGraph, PageNames, PageNumbers
from centime.model.errors import BadGraph
from centime.model.graph import Weights, graph_from_links

LARGEST_EXACT = 2**53 - 1  # beyond it, floating point cannot represent every whole number

Ends = npt.NDArray[np.int64]


def from_pairs(pairs: Iterable[Any]) -> NamedGraph:
    """The graph of pairs (source, target) or triples (source, target, weight)."""
    sources: list[Hashable] = []
    targets: list[Hashable] = []
    weights: list[float] = []
    for place, pair in enumerate(pairs):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) not in (2, 3):
            raise BadGraph(
                f"link {place} of the graph must be (source, target) or (source, target, weight), not {pair!r:.80}"
            )
        source, target, *weight = pair
        sources.append(source)
        targets.append(target)
        weights.append(*weight) if weight else weights.append(1.0)
    return from_ends(sources, targets, weights)


def from_mapping(rows: Mapping[Any, Any]) -> NamedGraph:
    """The graph of a mapping from each page to its targets, or to a mapping from targets to weights."""
    sources: list[Hashable] = []
    targets: list[Hashable] = []
    weights: list[float] = []
    for page, links in rows.items():
        if isinstance(links, str | bytes) or not isinstance(links, Iterable):
            raise BadGraph(f"the links of page {page!r} must be a list of pages, not {links!r:.80}")
        ends = list(links)
        sources += [page] * len(ends)
        targets += ends
        weights += links.values() if isinstance(links, Mapping) else [1.0] * len(ends)
    return from_ends(sources, targets, weights, list(rows))


def from_array(links: npt.NDArray[Any]) -> NamedGraph:
    """The graph of an array with a row for each link."""
    if links.ndim != 2 or links.shape[1] not in (2, 3):
        raise BadGraph(
            "an array of links has two or three columns: source, target and weight; "
            f"the shape of this one is {links.shape}; for a matrix give scipy.sparse.csr_array(matrix)"
        )
    if links.dtype.kind not in "iuUSO" and not (links.dtype.kind == "f" and _exact(links[:, :2])):
        raise BadGraph(f"the pages of an array of links must be whole numbers or text, not {links.dtype}")
    return from_ends(links[:, 0], links[:, 1], links[:, 2] if links.shape[1] == 3 else None)


def from_ends(
    sources: Sequence[Any] | npt.NDArray[Any],
    targets: Sequence[Any] | npt.NDArray[Any],
    weights: Sequence[Any] | npt.NDArray[Any] | None = None,
    pages: Sequence[Any] = (),
) -> NamedGraph:
    """The graph of links from `sources` to `targets`; `pages` are there even without links."""
    if any(np.ma.is_masked(column) for column in (sources, targets, weights)):
        raise BadGraph("an array of links must have all its values, and some of this one are masked")
    if len(sources) != len(targets) or (weights is not None and len(weights) != len(sources)):
        raise BadGraph("sources, targets and weights of links must be columns of the same length")
    weight = None if weights is None else _weights(weights)
    numbered, linked, alone = (_whole_numbers(column) for column in (sources, targets, pages))
    if numbered is not None and linked is not None and alone is not None:
        return from_numbers(numbered, linked, weight, alone)
    number: dict[Hashable, int] = {}
    columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in (sources, targets, pages)]
    try:
        for ends in zip(*columns[:2], strict=True):
            for page in ends:
                number.setdefault(page, len(number))
        for page in columns[2]:
            number.setdefault(page, len(number))
    except TypeError as unhashable:
        raise BadGraph(f"a page must be a number, text or another hashable value: {unhashable}") from None
    if None in number:
        raise BadGraph("a page of the links is None; a page must be a number, text or another hashable value")
    starts, stops = (
        np.fromiter((number[page] for page in column), dtype=np.int64, count=len(column)) for column in columns[:2]
    )
    return _graph(starts, stops, weight, names_of(list(number)))


def from_numbers(sources: Ends, targets: Ends, weights: Weights | None, pages: Ends) -> NamedGraph:
    """The graph of links between the numbers that are mentioned."""
    mentioned = np.unique(np.concatenate([np.unique(column) for column in (sources, targets, pages)]))
    if not len(mentioned):
        raise BadGraph("the graph has no pages")
    least = int(mentioned[0])
    if least in (0, 1) and int(mentioned[-1]) == least + len(mentioned) - 1:
        graph = graph_from_links(len(mentioned), sources - least, targets - least, weights)
        return NamedGraph(graph, None, least)
    sources, targets = np.searchsorted(mentioned, sources), np.searchsorted(mentioned, targets)
    return _graph(sources, targets, weights, PageNumbers.numbered(mentioned.tolist()))


def names_of(nodes: Sequence[Any]) -> PageNames | None:
    """The names of pages given by other values; None if these are the numbers 0, 1, 2 ... in order."""
    if all(type(node) is int for node in nodes):
        if all(node == page for page, node in enumerate(nodes)):
            return None
        return PageNumbers.numbered(nodes)
    texts_of: tuple[Callable[[Any], str], ...] = (str, repr)
    for text_of in texts_of:
        texts = [text_of(node) for node in nodes]
        if len(set(texts)) == len(texts):
            return PageNames.of([text.encode("utf-8", "replace").decode() for text in texts])
    raise BadGraph("two nodes of the graph have the same str and the same repr")


def checked_weights(weights: Weights, what: Callable[[int], str]) -> Weights | None:
    """The weights of links, None if all are 1; `what(i)` names link i if its weight is not finite or negative."""
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        place = int(np.argmin(good))
        raise BadGraph(f"{what(place)} has the weight {weights[place]}; a weight must be a finite number, zero or more")
    return weights if (weights != 1).any() else None


def _graph(sources: Ends, targets: Ends, weights: Weights | None, names: PageNames | None) -> NamedGraph:
    if names is not None and not len(names):
        raise BadGraph("the graph has no pages")
    pages = len(names) if names is not None else 1 + max(int(sources.max()), int(targets.max()))
    return NamedGraph(graph_from_links(pages, sources, targets, weights), names)


def _weights(values: Sequence[Any] | npt.NDArray[Any]) -> Weights | None:
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadGraph("the weights of links must be numbers") from None
    return checked_weights(weights, lambda link: f"link {link} of the graph")


def _whole_numbers(values: Sequence[Any] | npt.NDArray[Any]) -> Ends | None:
    """The values as numbers of 64 bits; None if one of them is something else. Data frames may convert whole numbers to
    floating point: a number without a fraction counts as whole here too.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return None if values.dtype.kind == "u" and (values > np.uint64(2**63 - 1)).any() else values.astype(np.int64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values.astype(np.int64) if _exact(values) else None
    if (isinstance(values, np.ndarray) and values.dtype.kind != "O") or not all(map(_is_whole, values)):
        return None
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except OverflowError:
        return None


def _exact(values: npt.NDArray[np.floating[Any]]) -> bool:
    """Whether all floating-point numbers are whole; an infinite one has no fraction either."""
    return bool(((values == np.trunc(values)) & (np.abs(values) <= LARGEST_EXACT)).all())


def _is_whole(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer() and abs(value) <= LARGEST_EXACT
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
