"""`centime sensitivity`: how the order of pages depends on the damping factor."""

from typing import TYPE_CHECKING

import typer

from centime.cli.analyse.scored import Damping, GraphFile, Top, ranked, read_scored
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress

if TYPE_CHECKING:
    from centime.analyse.transition import Vector

SCORE_ERROR = 1e-8
"""A tenth of the resolution of the order."""


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("sensitivity")(_sensitivity)


def _sensitivity(
    graph: GraphFile, damping: Damping = 0.85, top: Top = 20, as_json: Json = False, as_csv: Csv = False
) -> None:
    """Shows how the order of pages depends on the damping.

    The damping goes from 0.5 to 0.95. Lists the best pages that change places.

    Examples:

    \b
      centime sensitivity crawl.parquet
      centime sensitivity cnr-2000.graph --damping 0.85 --top 50 --json
    """
    import numpy as np

    from centime.analyse.essential import components
    from centime.analyse.sensitivity import DAMPINGS, iterations_needed, sensitivity

    web = read_scored(graph, damping, quiet=as_json, error=SCORE_ERROR)
    parts = components(web.walk)
    has_dangling = bool(web.walk.dangling.any())
    essential: list[float] = []
    last = web.scores
    with progress(len(DAMPINGS) + 1.0, "ranking for each damping", quiet=as_json) as step:

        def solve(at: float) -> "Vector":
            nonlocal last
            last = web.scores if at == damping else ranked(web.graph, at, SCORE_ERROR, quiet=True, start=last)
            essential.append(float(last[parts.essential].sum() / last.sum()))
            step(1.0)
            return last

        found = sensitivity(solve, DAMPINGS, damping, best=max(100, top))
    shares = tuple(essential)
    with progress(1.0, "searching for crossings", quiet=as_json):
        crossed = found.crossings(
            top, lambda at: ranked(web.graph, at, SCORE_ERROR, quiet=True, start=last), SCORE_ERROR * web.graph.pages
        )
    by_damping = [
        {
            "damping": at,
            "kendall_tau": tau,
            "essential_energy_percent": 100 * share,
            "iterations_needed": iterations_needed(at, 1e-8, dangling=has_dangling),
        }
        for at, tau, share in zip(found.dampings, found.tau, shares, strict=True)
    ]
    here = found.dampings.index(damping)
    movers = np.argsort(-found.moves, kind="stable")[:top]
    moves = [
        {
            "page": web.names[int(found.pages[place])],
            f"rank_at_{found.dampings[0]}": found.ranks[0, place],
            f"rank_at_{damping}": found.ranks[here, place],
            f"rank_at_{found.dampings[-1]}": found.ranks[-1, place],
        }
        for place in movers
    ]
    crossings = [
        {
            "damping": crossing.damping,
            "better_above": web.names[crossing.above],
            "better_below": web.names[crossing.below],
        }
        for crossing in crossed
    ]
    facts = {
        "essential_pages": int(parts.essential.sum()),
        "closed_components": parts.closed,
        "components": parts.count,
    }
    show(
        {**web.facts(), **facts, "dampings": by_damping, "moves": moves, "crossings": crossings},
        as_json=as_json,
        as_csv=as_csv,
        table="moves",
    )
