"""`centime.pagerank`: takes a graph of any kind and returns a ranking with its error, method and timings.

    >>> from centime import pagerank
    >>> from centime.model.graph import graph_from_links
    >>> ranking = pagerank(graph_from_links(3, [0, 0, 1], [1, 2, 2]))
    >>> [f"{page}: {score:.6f}" for page, score in ranking.top(2)]
    ['2: 1.562608', '1: 0.844653']

The vectors are defined in `pagerank` (importance), `interest` (PR' and PR'') and `spectral` (hubs, authorities,
all-ones, undirected).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from centime.graphs.foreign import as_graph
from centime.graphs.names import NamedGraph, PageNames
from centime.model.counts import whole_number
from centime.model.errors import BadSetting, UnknownPage
from centime.model.graph import Graph, Offsets, Weights
from centime.model.kernel import Whole, kernel
from centime.rank.bias import Bias, Page, bias_vector
from centime.rank.interest import Options, interest, interest_by_importance
from centime.rank.link_weight import check_weights, weighed
from centime.rank.pagerank import Method, Norm, Normalisation, check_settings
from centime.rank.pagerank import pagerank as importance
from centime.rank.peak import peak_memory_bytes
from centime.rank.scores import Scores, Vector
from centime.rank.spectral import Eigenvector, eigenvector

if TYPE_CHECKING:
    import pyarrow as pa

VectorName = Literal[
    "importance", "interest", "interest-by-importance", "hubs", "authorities", "all-ones", "undirected"
]
By = Literal["page", "site", "domain"]
LINES_SHOWN = 5


class RankedPage(NamedTuple):
    """A page (its name, or its number if it has no name) and its score."""

    page: Page
    score: float


class Seconds(NamedTuple):
    """The time to read the graph, to build the graph to rank, and to solve."""

    read: float
    build: float
    solve: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking:
    """A score for each page, and how it was computed.

    `certified_error` bounds |x - x*|_1 / N (for scores that add up to 1: |x - x*|_1). Eigenvectors have no such bound;
    they have an `eigenvalue` and a `residual` instead. `ranking[page]` is the score of the page with this name or
    number. Iteration, `to_dict`, `to_arrow` and `to_frame` give the best page first.
    """

    scores: Vector
    named: NamedGraph
    vector: VectorName
    method: str
    iterations: int
    certified_error: float | None
    eigenvalue: float | None
    residual: float | None
    dangling: int
    seconds: Seconds
    peak_memory_bytes: int

    @property
    def pages(self) -> int:
        """The number of ranked pages."""
        return self.named.graph.pages

    @property
    def links(self) -> int:
        """The number of links of the ranked pages."""
        return self.named.graph.links

    @property
    def names(self) -> PageNames | None:
        """The names of the pages, None if they have only numbers."""
        return self.named.names

    def __len__(self) -> int:
        return self.pages

    def __iter__(self) -> Iterator[RankedPage]:
        for page in self._best(self.pages).tolist():
            yield RankedPage(self.named.label(page), float(self.scores[page]))

    def __contains__(self, page: object) -> bool:
        return self.named.find(page) is not None

    def __getitem__(self, page: Page) -> float:
        number = self.named.find(page)
        if number is None:
            raise UnknownPage(f"the graph has no page {page}")
        return float(self.scores[number])

    def top(self, count: int = 20) -> list[RankedPage]:
        """The `count` pages with the highest scores, best first."""
        best = self._best(whole_number(count, "count")).tolist()
        return [RankedPage(self.named.label(page), float(self.scores[page])) for page in best]

    def to_dict(self) -> dict[Page, float]:
        """The score of each page."""
        return dict(self)

    def to_arrow(self) -> "pa.Table":
        """The columns `page` and `score` as a table of pyarrow."""
        from centime.rank.table import score_table

        return score_table(self.scores, self.names, self.named.first, self._best(self.pages))

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """The columns `page` and `score` as a data frame of pandas or polars, which must be installed."""
        if library not in ("pandas", "polars"):
            raise BadSetting(f"a data frame is one of pandas or polars, not {library!r}")
        best = self._best(self.pages)
        try:
            frame = import_module(library).DataFrame
        except ImportError:
            raise BadSetting(f"{library} is not installed; to_dict and to_arrow do not need it") from None
        return frame({"page": [self.named.label(page) for page in best.tolist()], "score": self.scores[best]})

    def _best(self, count: int) -> npt.NDArray[np.int64]:
        return Scores(self.scores, self.method, self.iterations, 0.0, 0.0, 0.0).top(count)

    def facts(self, top: int = 20) -> dict[str, Any]:
        """Everything but the scores, in types of JSON, with the `top` best pages."""
        spectral = (
            {} if self.certified_error is not None else {"eigenvalue": self.eigenvalue, "residual": self.residual}
        )
        return {
            "pages": self.pages,
            "links": self.links,
            "dangling": self.dangling,
            "vector": self.vector,
            "method": self.method,
            "iterations": self.iterations,
            "seconds": {name: round(value, 6) for name, value in self.seconds._asdict().items()},
            "certified_error": self.certified_error,
            **spectral,
            "peak_memory_bytes": self.peak_memory_bytes,
            "top": [page._asdict() for page in self.top(top)],
        }

    def __repr__(self) -> str:
        error = (
            f"residual {self.residual:.1e}"
            if self.certified_error is None
            else f"certified error {self.certified_error:.1e}"
        )
        size = f"{self.vector} of {self.pages} pages with {self.links} links"
        lines = [f"{size}, {error}, {self.method}, {self.iterations} iterations"]
        lines += [f"{score:14.6g}  {page}" for page, score in self.top(LINES_SHOWN)]
        return "\n".join([*lines, *([f"{'...':>14}"] if self.pages > LINES_SHOWN else [])])


def pagerank(
    graph: object,
    *,
    damping: float = 0.85,
    error: float = 1e-8,
    method: Method = "auto",
    vector: VectorName = "importance",
    bias: Bias | None = None,
    by: By = "page",
    link_weight: str | Mapping[str, float] | None = None,
    normalise: Normalisation = "mean",
    stop_change: float | None = None,
    change_norm: Norm = "l1",
    stable_top: int | None = None,
    start: npt.ArrayLike | None = None,
    threads: int | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = "weight",
    progress: Callable[[float], None] | None = None,
) -> Ranking:
    """Ranks a graph: the name of a graph file, a data frame, pairs, a mapping, an array, or a graph of another library.

    `bias` personalises importance, and is the set of pages that interest leads to. `by` ranks sites (hosts) or
    registrable domains instead of pages. `link_weight` weighs links by kind (`rank/link_weight.py`). `start` is the
    vector to start from, such as yesterday's scores. `source`,
    `target` and `weight` are the columns of a table; `weight` is also the edge attribute of NetworkX and igraph.
    """
    # Settings are checked before a large file is read.
    check_settings(damping, error, method, normalise, stop_change, stable_top, change_norm)
    _check(vector, by, method, bias, normalise, (stop_change, stable_top, start))
    weights = None if link_weight is None else check_weights(link_weight, by)
    began = time.perf_counter()
    named = as_graph(graph, weight, source=source, target=target)
    read = time.perf_counter()
    if weights is not None:
        named = weighed(named, weights, by)
    elif by != "page":
        # The list of public suffixes takes long to load, and ranking pages does not need it.
        from centime.rank.site import site_graph

        named = site_graph(named, "host" if by == "site" else by)
    emphasis = None if bias is None else bias_vector(bias, named)
    dangling = int(
        count_dangling(named.graph.offsets, np.empty(0) if named.graph.weights is None else named.graph.weights)
    )
    built = time.perf_counter()
    options: Options = {
        "damping": damping,
        "error": error,
        "method": method,
        "start": start,
        "normalisation": normalise,
        "stop_change": stop_change,
        "change_norm": change_norm,
        "stable_top": stable_top,
        "threads": threads,
        "progress": progress,
    }
    found = _solve(named.graph, vector, emphasis, options)
    seconds = Seconds(read - began, built - read, time.perf_counter() - built)
    if isinstance(found, Eigenvector) and normalise == "sum":
        found.scores[:] /= max(1, named.graph.pages)
    return Ranking(
        found.scores,
        named,
        vector,
        found.method if isinstance(found, Scores) else "power",
        found.iterations,
        found.certified_error if isinstance(found, Scores) else None,
        found.eigenvalue if isinstance(found, Eigenvector) else None,
        found.residual if isinstance(found, Eigenvector) else None,
        dangling,
        seconds,
        peak_memory_bytes(),
    )


def _solve(graph: Graph, vector: VectorName, emphasis: Vector | None, options: Options) -> Scores | Eigenvector:
    match vector:
        case "importance":
            return importance(graph, personalisation=emphasis, **options)
        case "interest" | "interest-by-importance":
            assert emphasis is not None
            return (
                interest(graph, emphasis, **options)
                if vector == "interest"
                else interest_by_importance(graph, emphasis, **options)
            )
        case _:
            return eigenvector(
                graph, vector, error=options["error"], threads=options["threads"], progress=options["progress"]
            )


def _check(vector: str, by: str, method: str, bias: object, normalise: str, others: tuple[object, ...]) -> None:
    if vector not in get_args(VectorName):
        raise BadSetting(f"unknown vector {vector!r}; the vectors are {', '.join(get_args(VectorName))}")
    if by not in get_args(By):
        raise BadSetting(f"unknown kind of ranking {by!r}; the kinds are {', '.join(get_args(By))}")
    if vector.startswith("interest") and bias is None:
        raise BadSetting("interest needs a bias: the pages that it leads to")
    if vector in ("importance", "interest", "interest-by-importance"):
        return
    if bias is not None or method != "auto" or normalise == "plain" or any(other is not None for other in others):
        raise BadSetting(
            f"{vector} is an eigenvector: it takes no bias, no method, no start, no other stop rule and no plain scale"
        )


@kernel
def count_dangling(offsets: Offsets, weights: Weights) -> Whole:
    """The number of pages without a link of a weight above 0."""
    dangling = 0
    for page in range(len(offsets) - 1):
        carries = len(weights) == 0 and offsets[page] < offsets[page + 1]
        for link in range(offsets[page], offsets[page + 1] if len(weights) > 0 else offsets[page]):
            carries = carries or weights[link] > 0.0
        dangling += 0 if carries else 1
    return dangling
