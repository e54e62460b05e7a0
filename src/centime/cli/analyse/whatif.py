"""`centime whatif`: the effect of a change of links on the scores."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from centime.cli.analyse.scored import Damping, GraphFile, Top, read_scored
from centime.cli.output import Csv, Json, show
from centime.model.errors import BadInput

SCORE_ERROR = 1e-11
"""Smaller than for other commands, because the change of a few pages is small."""
TOLERATED = 0.01
"""The error, as a share of the sum of all scores, at which they should be computed again."""


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("whatif")(_whatif)


def _whatif(
    graph: GraphFile,
    add: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Links to add: two pages per line, optionally a weight.")
    ] = None,
    remove: Annotated[Path | None, typer.Option(metavar="FILE", help="Links to remove: two pages per line.")] = None,
    damping: Damping = 0.85,
    top: Top = 10,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows the effect of adding and removing links.

    Lists new scores, the pages that gain and lose most, and changes of the order. Only the differences are computed,
    starting from the changed pages, so the cost depends on the change and not on the graph.

    Examples:

    \b
      centime whatif crawl.parquet --add new.txt --remove old.txt
      centime whatif cnr-2000.graph --remove dead-links.txt --top 50 --json
    """
    import numpy as np

    from centime.analyse.link_change import change, read_links
    from centime.analyse.sensitivity import rank_of
    from centime.analyse.whatif import effect, pages_until

    if add is None and remove is None:
        raise BadInput("give links to --add or to --remove, each in a file with two pages per line")
    web = read_scored(graph, damping, quiet=as_json, error=SCORE_ERROR)
    added = [] if add is None else read_links(add, web.names)
    removed = [] if remove is None else read_links(remove, web.names)
    if not added and not removed:
        files = " and ".join(str(file) for file in (add, remove) if file is not None)
        raise BadInput(f"{files}: no links to add or to remove")
    proposed = change(web.graph, web.names, added, removed)
    scores_error = web.error
    started = perf_counter()
    found = effect(web.walk, web.scores, damping, proposed, scores_error=scores_error)
    seconds = perf_counter() - started
    new = web.scores.copy()
    new[found.pages] += found.gained
    before, after = rank_of(web.scores, found.pages), rank_of(new, found.pages)
    moved = np.flatnonzero((before != after) & (np.abs(found.gained) > found.error / web.graph.pages))

    def row(place: int) -> dict[str, object]:
        page = int(found.pages[place])
        scores = {"before": web.scores[page], "after": new[page], "gained": found.gained[place]}
        return {"page": web.names[page], **scores, "rank_before": before[place], "rank_after": after[place]}

    by_size = np.argsort(-np.abs(found.gained), kind="stable")[:top]
    by_order = moved[np.argsort(-np.abs(np.log(before[moved] / after[moved])), kind="stable")][:top]
    report = {
        **web.facts(),
        "changed_pages": len(proposed.pages),
        "links_added": len(added),
        "links_removed": len(removed),
        "change": found.size,
        "change_error": found.error,
        "bound_of_theorem_5_3" if as_json else "bound of Theorem 5.3": found.bound,
        "coarse_bound": found.coarse_bound,
        "pages_reached": len(found.pages),
        "links_followed": found.links_followed,
        "change_seconds": seconds,
        "order_changes": len(moved),
        "pages_to_recompute_after": pages_until(damping, TOLERATED * float(web.scores.sum())),
    }
    tables = {
        "gains_and_losses": [row(int(place)) for place in by_size],
        "moves": [row(int(place)) for place in by_order],
    }
    show({**report, **tables}, as_json=as_json, as_csv=as_csv, table="gains_and_losses")
