"""`centime explain`: where the score of a page comes from."""

from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.analyse.scored import Damping, GraphFile, Scored, Top, read_scored
from centime.cli.output import Csv, Json, show
from centime.model.errors import BadInput

if TYPE_CHECKING:
    from centime.analyse.community import Community


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("explain")(_explain)


def _explain(
    graph: GraphFile,
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="The name of a page, or its number in the file if it has no name.")
    ],
    community: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=SOURCE",
            help="The community that counts as internal, as in centime energy. Default: the site of the page.",
        ),
    ] = None,
    damping: Damping = 0.85,
    top: Top = 20,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows where the score of a page comes from and goes.

    Lists the contributions by link and by distance, and what the page passes on. The internal part is the score without
    links from outside the community. The community is the site of the page, or the cluster around it if pages have no
    names.

    Examples:

    \b
      centime explain crawl.parquet http://www.example.org/
      centime explain cnr-2000.graph 1000 --json
      centime explain crawl.parquet http://www.example.org/ --community Docs=pattern:/docs/
    """
    import numpy as np

    from centime.analyse.community import page_named
    from centime.analyse.energy import certain_internal_scores
    from centime.analyse.explanation import explanation
    from centime.analyse.sensitivity import rank_of
    from centime.analyse.subgraph import subgraph

    web = read_scored(graph, damping, quiet=as_json)
    number = page_named(page, web.names)
    around = web.community(community) if community else _home(web, number)
    if number not in around.pages:
        raise BadInput(f"community {around.name}: page {page} is not in it")
    found = explanation(web.walk, web.scores, damping, number)
    part = subgraph(web.walk, around.pages)
    own_scores, internal_error = certain_internal_scores(part, damping)
    internal = float(own_scores[np.searchsorted(around.pages, number)])
    row = web.graph.row(number)
    report = {
        **web.facts(),
        "page": page,
        "score": found.score,
        "rank": int(rank_of(web.scores, np.array([number]))[0]),
        "default": found.default,
        "from_links": float(found.brought.sum()),
        "in_links": len(found.sources),
        "community": around.name,
        "community_pages": len(around.pages),
        "internal": internal,
        "internal_error": internal_error * len(around.pages),
        "external": found.score - internal,
        "out_links": len(row),
        "kept_inside": found.passed_on * float(part.kept[np.searchsorted(around.pages, number)]),
        "passed_on": found.passed_on,
        "lost": found.lost,
        "not_followed": found.beyond,
    }
    inside = np.isin(found.sources, around.pages)
    links = [
        {
            "page": web.names[int(source)],
            "brought": brought,
            "percent": 100 * brought / found.score,
            "internal": bool(own),
        }
        for source, brought, own in zip(found.sources[:top], found.brought[:top], inside[:top], strict=True)
    ]
    distances = [
        {"links_away": steps, "brought": brought, "percent": 100 * brought / found.score}
        for steps, brought in enumerate(found.by_distance[:top])
    ]
    origins = [
        {"page": web.names[int(origin)], "brought": brought, "percent": 100 * brought / found.score}
        for origin, brought in zip(found.origins[:top], found.reached[:top], strict=True)
    ]
    show(
        {**report, "sources": links, "distances": distances, "origins": origins},
        as_json=as_json,
        as_csv=as_csv,
        table="sources",
    )


def _home(web: Scored, page: int) -> "Community":
    """The site of a page, or the cluster around it if pages have no names."""
    import numpy as np

    from centime.analyse.community import Community, Numbers

    if isinstance(web.names, Numbers):
        return Community(f"cluster:{page}", web.cluster(page))
    of_page, sites = web.sites
    return Community(f"host:{sites[int(of_page[page])]}", np.flatnonzero(of_page == of_page[page]))
