"""A graph with the names of its pages and the scores of Eq. 2: the input of every analysis command."""

from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.progress import progress
from centime.cli.rank.source import read_graph
from centime.model.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from centime.analyse.community import Community, Names
    from centime.analyse.transition import Pages, Transition, Vector
    from centime.model.graph import Graph

GraphFile = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="A graph file, see docs/formats.md, or the folder of a crawl.")
]
Damping = Annotated[float, typer.Option(help="The damping d, at least 0 and below 1.")]
Error = Annotated[
    float, typer.Option(metavar="X", help="The error of the scores to certify, as a mean over the pages; above 0.")
]
Top = Annotated[int, typer.Option(min=1, help="The number of rows of each table.")]
Communities = Annotated[
    list[str] | None,
    typer.Option(
        "--community",
        metavar="NAME=SOURCE",
        help="A community: SOURCE is a file of page names, host:.., domain:.., pattern:REGEX or cluster:PAGE.",
    ),
]

SCALE = "plain"
"""The scale of all scores in the reports: Eq. 2 itself, as in `centime rank --normalise plain`."""
SCORE_ERROR = 1e-9
"""The certified error, as a mean over the pages."""


def check_figure(figure: Path | None) -> None:
    """Raises BadInput if a figure cannot be written to this path; call it before the work starts."""
    if figure is not None and (figure.suffix != ".png" or not figure.parent.is_dir() or figure.is_dir()):
        raise BadInput(
            f"{figure}: the name of a figure must end in .png, in an existing folder, and must not be a folder"
        )


@dataclass(frozen=True)
class Scored:
    """A graph, the names of its pages and their scores."""

    graph: "Graph"
    names: "Names"
    damping: float
    scores: "Vector"

    @cached_property
    def walk(self) -> "Transition":
        """The transition matrix W."""
        from centime.analyse.transition import transition

        return transition(self.graph)

    @cached_property
    def error(self) -> float:
        """An upper bound on |x - x*|_1 for the scores."""
        from centime.analyse.transition import error_bound

        return error_bound(self.walk, self.scores, self.damping)

    @cached_property
    def sites(self) -> "tuple[npt.NDArray[np.integer[Any]], Names]":
        """The number of the host of each page, and the hosts."""
        from centime.graphs.names import PageNames
        from centime.rank.site import sites_of

        if not isinstance(self.names, PageNames):
            raise BadInput("the pages of the graph have no names, so their sites are unknown")
        return sites_of(self.names, "host")

    def community(self, choice: str) -> "Community":
        """The community that NAME=SOURCE describes."""
        from centime.analyse.community import chosen_community

        return chosen_community(choice, self.names, lambda: self.sites, self.cluster)

    def cluster(self, page: int) -> "Pages":
        """The cluster around a page."""
        from centime.analyse.cluster import cluster

        return cluster(self.graph, page)

    def facts(self) -> dict[str, object]:
        """The part of every report about the graph and its scores."""
        dangling = int(self.walk.dangling.sum())
        facts = {"pages": self.graph.pages, "links": self.graph.links, "dangling": dangling, "damping": self.damping}
        return {**facts, "scale": SCALE, "energy": float(self.scores.sum()), "certified_error": self.error}


def read_scored(path: Path, damping: float, *, quiet: bool, error: float) -> Scored:
    """Reads a graph and computes its scores to a certified error."""
    from centime.analyse.community import Numbers

    with progress(1.0, f"reading {path.name}", quiet=quiet):
        named = read_graph(path)
    if not named.graph.pages:
        raise BadInput(f"{path}: the graph has no pages")
    names = Numbers(named.graph.pages, named.first) if named.names is None else named.names
    return Scored(named.graph, names, damping, ranked(named.graph, damping, error, quiet=quiet))


def ranked(graph: "Graph", damping: float, error: float, *, quiet: bool, start: "Vector | None" = None) -> "Vector":
    """Computes the scores of Eq. 2."""
    from centime.rank.pagerank import pagerank

    done = 0.0
    with progress(1.0, "ranking", quiet=quiet) as step:

        def show(so_far: float) -> None:
            nonlocal done
            share = min(1.0, max(done, log(max(so_far, error)) / log(error)))
            step(share - done)
            done = share

        return pagerank(graph, damping=damping, error=error, normalisation="plain", start=start, progress=show).scores
