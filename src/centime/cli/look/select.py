"""`centime select`: the sites of a crawl that a library should keep."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress

FOR_PROGRAMS = ("curves", "judged")  # tables that are too long for people


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("select")(_select)


def _select(
    folder: Folder,
    marks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Marks 1 to 4 by judges: site,judge,mark, or site and a column for each judge."
        ),
    ] = None,
    keep: Annotated[
        int, typer.Option(metavar="MARK", help="Propose sites whose mark, rounded, is at least this: 2 to 4.")
    ] = 3,
    pages: Annotated[int | None, typer.Option(metavar="N", help="Propose sites with at most N pages together.")] = None,
    most_bytes: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Propose sites with at most SIZE bytes together: 5GB."),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="KIND", help="What a site is: site (a host name) or domain (registrable).")
    ] = "site",
    language: Annotated[
        str, typer.Option(metavar="CODE", help="The language that counts, such as fr. Default: the most common.")
    ] = "",
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", help="Proposals to show; JSON, CSV and files contain all.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the proposed sites as Dublin Core: .xml, .json or .csv; or their names: .txt.",
        ),
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Proposes the sites that a library should keep.

    With --marks it shows how far the judges agree, how well importance and other criteria predict their marks, and how
    well all criteria together do. Each prediction is for sites whose marks it has not seen. This model then proposes
    sites without marks; its coefficients are shown. Without --marks, sites are proposed by importance alone.

    Examples:

    \b
      centime select museum --marks librarians.csv
      centime select museum --marks librarians.csv --pages 100000 -o keep.xml
      centime select museum --bytes 5GB --csv
      centime select museum -o keep.txt && centime export museum --format wacz --sites keep.txt
    """
    from centime.cluster.report.parts import parts_of
    from centime.crawl.sites.metadata import check_metadata, write_metadata
    from centime.crawl.sites.proposal import Budget
    from centime.model.errors import BadSetting
    from centime.settings.units import size

    if count < 0:
        raise BadSetting(f"the number of proposals to show must be 0 or more, not {count}")
    if output is not None:
        check_metadata(output, folder)
    budget = Budget(pages, None if most_bytes is None else int(size(most_bytes)))
    with progress(1.0, f"opening {folder.name}", quiet=as_json) as step:
        selection = parts_of(folder).select(
            marks,
            now=time.time(),
            by=by,
            keep=keep,
            language=language,
            budget=budget,
            step=lambda done: step(done, "weighing sites"),
        )
    if output is not None:
        write_metadata(selection, folder.resolve().name, output)
    facts = selection.facts if output is None else {"file": str(output), **selection.facts}
    show(facts if as_json or as_csv else _for_people(facts, count), as_json=as_json, as_csv=as_csv, table="proposals")


def _for_people(facts: dict[str, Any], count: int) -> dict[str, Any]:
    shown = {name: value for name, value in facts.items() if name not in FOR_PROGRAMS}
    return shown | {"proposals": facts["proposals"][:count]}
