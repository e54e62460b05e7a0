"""`centime energy`: the energy balance of communities, with sources, leaks and advice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from centime.cli.analyse.scored import Communities, Damping, GraphFile, Scored, Top, check_figure, read_scored
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress
from centime.model.errors import BadInput

if TYPE_CHECKING:
    from centime.analyse.advice import Advice
    from centime.analyse.community import Community
    from centime.analyse.fate import Fate
    from centime.analyse.flow import Flow
    from centime.analyse.subgraph import Subgraph

Report = dict[str, object]
By = Literal["page", "site"]

MOST_SITES_DRAWN = 10


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("energy")(_energy)


def _energy(
    graph: GraphFile,
    community: Communities = None,
    by: Annotated[
        By, typer.Option(help="Group sources and leaks by page or by site; without communities, each site is one.")
    ] = "page",
    damping: Damping = 0.85,
    top: Top = 10,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the flow of energy between the communities.")
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows where communities gain and lose score, with advice.

    The energy E of a community I is the sum of its scores: E = |I| + E_in - E_out - E_dangling. Pages without names are
    shown by their numbers in the file.

    Examples:

    \b
      centime energy crawl.parquet --community Library=host:library.example.org
      centime energy crawl.parquet --community Docs=pattern:/docs/ --community Shop=shop.txt --figure flow.png
      centime energy crawl.parquet --by site --top 20 --json
      centime energy cnr-2000.graph --community Around=cluster:1000
    """
    if not community and by != "site":
        raise BadInput(
            "give a community, as in --community Library=host:library.example.org, or use --by site for every site"
        )
    check_figure(figure)
    web = read_scored(graph, damping, quiet=as_json)
    communities = [web.community(choice) for choice in community or []]
    if len({each.name for each in communities}) < len(communities):
        raise BadInput("two communities have the same name")
    with progress(len(communities) + 1.0, "balancing", quiet=as_json) as step:
        reports = []
        for each in communities:
            reports.append(_balance(web, each, by, top))
            step(1.0)
        flows, labels = _flows(web, communities, must=figure is not None)
        table = _site_table(flows, labels, top) if not communities and flows else [_terms(report) for report in reports]
    if figure is not None and flows is not None:
        _draw(flows, labels, figure, web, graph)
    facts = {**web.facts(), "shared_pages": _shared(communities), **({"figure": str(figure)} if figure else {})}
    largest: object = _largest(flows, labels, top) if flows else [] if as_json else "none: communities share pages"
    if as_csv:
        show({"communities": table}, as_json=as_json, as_csv=True, table="communities")
    elif as_json:
        show({**facts, "communities": reports or table, "flows": largest}, as_json=True)
    else:
        show({**facts, "communities": table, "flows": largest, **_for_people(reports)}, as_json=False)


def _shared(communities: "Sequence[Community]") -> int:
    """The number of pages in more than one community; their energy counts in each of them."""
    import numpy as np

    if not communities:
        return 0
    _, counts = np.unique(np.concatenate([each.pages for each in communities]), return_counts=True)
    return int((counts > 1).sum())


def _balance(web: Scored, community: "Community", by: By, top: int) -> Report:
    from centime.analyse.advice import advice
    from centime.analyse.energy import balance
    from centime.analyse.fate import fate
    from centime.analyse.subgraph import subgraph

    part = subgraph(web.walk, community.pages)
    found = balance(web.walk, web.scores, web.damping, part)
    becomes = fate(part, web.damping)
    internal = (1.0 - web.damping) * float(becomes.kept.sum())
    counsel = advice(web.graph, web.scores, part, becomes, top)
    return {
        "name": community.name,
        "pages": found.pages,
        "energy": found.energy,
        "received": found.received,
        "spread": found.spread,
        "lost": found.lost,
        "lost_by_links": found.lost_by_links,
        "residual": found.residual,
        "at_least": found.least,
        "internal": internal,
        "external": found.energy - internal,
        **(_by_site(web, part, top) if by == "site" else _by_page(web, part, becomes, top)),
        "advice": [
            {"rule": each.rule, "page": web.names[each.page], "gain": each.gain, "what": _sentence(each, web)}
            for each in counsel
        ],
    }


def _by_page(web: Scored, part: "Subgraph", becomes: "Fate", top: int) -> Report:
    import numpy as np

    from centime.analyse.contribution import contributions
    from centime.analyse.energy import leaks
    from centime.analyse.fate import NEVER
    from centime.analyse.transition import fractions

    inside = part.marks(web.graph.pages)
    given = np.where(inside, 0.0, fractions(web.walk, inside) * web.scores)
    best = _first(given, top)
    found = contributions(web.walk, web.scores, part, becomes, best)
    columns = zip(best, found.brought, found.entrapped, found.lost, found.spread, found.steps_to_leak, strict=True)
    sources = [
        {
            "page": web.names[page],
            "brought": brought,
            "entrapped": entrapped,
            "lost": lost,
            "spread": spread,
            "links_to_leak": None if steps == NEVER else steps,
        }
        for page, brought, entrapped, lost, spread, steps in columns
    ]
    leaking = leaks(part, web.scores, web.damping)
    drained = [
        {
            "page": web.names[int(part.pages[place])],
            "leaks": leaking[place],
            "why": "dangles" if part.dangling[place] else f"{1.0 - part.kept[place]:.0%} of its links leave",
        }
        for place in _first(leaking, top)
    ]
    return {"sources": sources, "leaks": drained}


def _by_site(web: Scored, part: "Subgraph", top: int) -> Report:
    import numpy as np

    from centime.analyse.flow import flow

    of_page, sites = web.sites
    labels = np.where(part.marks(web.graph.pages), len(sites), of_page).astype(np.int64)
    found = flow(web.walk, web.scores, web.damping, labels, len(sites) + 1)
    to_us, from_us = found.receivers == len(sites), found.givers == len(sites)
    sources = [
        (int(found.givers[to_us][place]), found.amounts[to_us][place]) for place in _first(found.amounts[to_us], top)
    ]
    leaks = [
        (int(found.receivers[from_us][place]), found.amounts[from_us][place])
        for place in _first(found.amounts[from_us], top)
    ]
    return {
        "sources": [{"site": sites[site], "brought": amount} for site, amount in sources],
        "leaks": [{"site": sites[site], "leaks": amount} for site, amount in leaks],
    }


def _first(amounts: "object", top: int) -> list[int]:
    """The positions of the `top` largest positive amounts."""
    import numpy as np

    values = np.asarray(amounts, dtype=np.float64)
    order = np.argsort(-values, kind="stable")[:top]
    return [int(place) for place in order if values[place] > 0.0]


def _flows(web: Scored, communities: "Sequence[Community]", *, must: bool) -> "tuple[Flow | None, list[str]]":
    """The flows between communities (or sites) and the rest of the web; None if communities overlap, unless `must`."""
    import numpy as np

    from centime.analyse.flow import flow, labels_of

    if not communities:
        of_page, sites = web.sites
        found = flow(web.walk, web.scores, web.damping, of_page.astype(np.int64), len(sites))
        return found, [sites[site] for site in range(len(sites))]
    try:
        labels = labels_of(communities, web.graph.pages)
    except BadInput:
        if must:
            raise
        return None, []
    return flow(web.walk, web.scores, web.damping, labels, len(communities) + 1), [each.name for each in communities]


def _largest(flows: "Flow", labels: list[str], top: int) -> list[Report]:
    names = [*labels, "rest of the web"]
    return [
        {"from": names[flows.givers[place]], "to": names[flows.receivers[place]], "energy": flows.amounts[place]}
        for place in _first(flows.amounts, top)
    ]


def _site_table(flows: "Flow", sites: list[str], top: int) -> list[Report]:
    return [
        {
            "name": sites[site],
            "pages": flows.pages[site],
            "energy": flows.energy[site],
            "received": flows.received[site],
            "spread": flows.spread[site],
            "lost": flows.lost[site],
            "residual": flows.residual[site],
        }
        for site in _first(flows.energy, top)
    ]


def _terms(report: Report) -> Report:
    return {name: value for name, value in report.items() if not isinstance(value, list)}


def _for_people(reports: list[Report]) -> Report:
    return dict(_tables(reports))


def _tables(reports: list[Report]) -> Iterator[tuple[str, object]]:
    for report in reports:
        for table in ("sources", "leaks", "advice"):
            yield (
                f"{table} of {report['name']}" if table != "advice" else f"advice for {report['name']}",
                report[table] or "none",
            )


def _sentence(each: "Advice", web: Scored) -> str:
    page, other = web.names[each.page], web.names[each.other]
    match each.rule:
        case "split":
            return f"put some of the content on a new page that links to {page}"
        case "link back":
            return f"let it link back to {other}"
        case _:
            return f"move its {each.links} {'link' if each.links == 1 else 'links'} out of the community to {other}"


def _draw(flows: "Flow", labels: list[str], figure: Path, web: Scored, graph: Path) -> None:
    from centime.analyse.sankey import draw_flow

    names = labels
    if len(flows.pages) == len(labels):  # sites: every page belongs to one
        flows, kept = flows.merged(MOST_SITES_DRAWN)
        names = [labels[site] for site in kept]
    print_ = f"{graph.name}: {web.graph.pages} pages, {web.graph.links} links, damping {web.damping}"
    figure.write_bytes(draw_flow(flows, names, f"Where the energy of {graph.name} goes", print_))
