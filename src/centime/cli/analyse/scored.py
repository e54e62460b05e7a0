"""A graph file with the names of its pages and the scores of Eq. 2: what every command of analysis starts from."""

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
    Path, typer.Argument(metavar="GRAPH", help="A graph file, as in docs/formats.md, or a crawl's folder.")
]
Damping = Annotated[float, typer.Option(help="The damping d, at least 0 and below 1.")]
Top = Annotated[int, typer.Option(min=1, help="Rows of each table.")]
Communities = Annotated[
    list[str] | None,
    typer.Option(
        "--community",
        metavar="NAME=SOURCE",
        help="A community: SOURCE is a file of page names, host:.., domain:.., pattern:REGEX or cluster:PAGE.",
    ),
]

SCALE = "plain"
"""Of all scores in the reports: Eq. 2 as it stands, as `centime rank --normalise plain` gives it."""
SCORE_ERROR = 1e-9
"""Certified, on average over the pages."""


def check_figure(figure: Path | None) -> None:
    """Refuses, before any work is done, a name that cannot become a picture."""
    if figure is not None and (figure.suffix != ".png" or not figure.parent.is_dir() or figure.is_dir()):
        raise BadInput(
            f"{figure}: a figure needs a name that ends in .png, in a folder that exists, and not that of a folder"
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
        """W."""
        from centime.analyse.transition import transition

        return transition(self.graph)

    @cached_property
    def error(self) -> float:
        """An upper bound on |x - x*|_1 of the scores."""
        from centime.analyse.transition import error_bound

        return error_bound(self.walk, self.scores, self.damping)

    @cached_property
    def sites(self) -> "tuple[npt.NDArray[np.integer[Any]], Names]":
        """The number of every page's host, and the hosts."""
        from centime.graphs.names import PageNames
        from centime.rank.site import sites_of

        if not isinstance(self.names, PageNames):
            raise BadInput("the pages of the graph have no names, so their sites are not known")
        return sites_of(self.names, "host")

    def community(self, choice: str) -> "Community":
        """The community of NAME=SOURCE."""
        from centime.analyse.community import chosen_community

        return chosen_community(choice, self.names, lambda: self.sites, self.cluster)

    def cluster(self, page: int) -> "Pages":
        """The pages around one."""
        from centime.analyse.cluster import cluster

        return cluster(self.graph, page)

    def facts(self) -> dict[str, object]:
        """What every report says of the graph and its scores."""
        dangling = int(self.walk.dangling.sum())
        facts = {"pages": self.graph.pages, "links": self.graph.links, "dangling": dangling, "damping": self.damping}
        return {**facts, "scale": SCALE, "energy": float(self.scores.sum()), "certified_error": self.error}


def read_scored(path: Path, damping: float, *, quiet: bool, error: float = SCORE_ERROR) -> Scored:
    """The graph in a file, ranked to a certified error."""
    from centime.analyse.community import Numbers

    with progress(1.0, f"reading {path.name}", quiet=quiet):
        named = read_graph(path)
    if not named.graph.pages:
        raise BadInput(f"{path}: the graph has no pages")
    names = Numbers(named.graph.pages, named.first) if named.names is None else named.names
    return Scored(named.graph, names, damping, ranked(named.graph, damping, error, quiet=quiet))


def ranked(graph: "Graph", damping: float, error: float, *, quiet: bool, start: "Vector | None" = None) -> "Vector":
    """The scores of Eq. 2."""
    from centime.rank.pagerank import pagerank

    done = 0.0
    with progress(1.0, "ranking", quiet=quiet) as step:

        def show(so_far: float) -> None:
            nonlocal done
            share = min(1.0, max(done, log(max(so_far, error)) / log(error)))
            step(share - done)
            done = share

        return pagerank(graph, damping=damping, error=error, normalisation="plain", start=start, progress=show).scores
