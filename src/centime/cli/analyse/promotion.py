"""`centime promotion`: communities that promote a page."""

from dataclasses import asdict
from typing import Annotated

import typer

from centime.cli.analyse.scored import SCORE_ERROR, Damping, GraphFile, Scored, Top, ranked, read_scored
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("promotion")(_promotion)


def _promotion(
    graph: GraphFile,
    damping: Damping = 0.85,
    top: Top = 20,
    plant: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="First plant N promoting communities, then report how many are found."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random planted communities.")] = 0,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Finds communities that promote a page.

    The pages of such a community have little more than their own default energy and give it to the target. Links do not
    show intent: a site without links from outside, whose pages all link to its front page, is found too.

    Examples:

    \b
      centime promotion crawl.parquet
      centime promotion cnr-2000.graph --top 50 --json
      centime promotion crawl.parquet --plant 20
    """
    from centime.analyse.planting import Planted, judge
    from centime.analyse.planting import plant as planted_in
    from centime.analyse.promotion import promotions

    web = read_scored(graph, damping, quiet=as_json, error=SCORE_ERROR)
    names, pages = web.names, web.graph.pages
    planted: list[Planted] = []
    if plant is not None:
        larger, planted = planted_in(web.graph, plant, seed)
        web = Scored(larger, names, damping, ranked(larger, damping, SCORE_ERROR, quiet=as_json))
    with progress(1.0, "searching", quiet=as_json):
        found = promotions(web.walk, web.scores, damping)

    def name(page: int) -> str:
        return names[page] if page < pages else f"planted {page - pages}"

    rows = [
        {
            "targets": [name(page) for page in each.targets.tolist()[:5]],
            "supporters": len(each.supporters),
            "given": each.given,
            "share_of_score": each.share,
            "own_energy": each.own,
            "at_least": each.least,
            "among_them": [name(page) for page in each.supporters.tolist()[:3]],
        }
        for each in found[:top]
    ]
    finding = {} if plant is None else {"planting": [asdict(judge(planted, found))]}
    show(
        {**web.facts(), "found": len(found), **finding, "communities": rows},
        as_json=as_json,
        as_csv=as_csv,
        table="communities",
    )
