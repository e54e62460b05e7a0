"""`centime refused`: the links that a crawl did not follow."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("refused")(_refused)


def _refused(
    folder: Folder,
    reason: Annotated[
        list[str] | None,
        typer.Option(metavar="REASON", help="Only links refused for this reason, such as scope or trap. Repeatable."),
    ] = None,
    match: Annotated[str, typer.Option(metavar="REGEX", help="Only URLs that match.")] = "",
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Number of URLs to show.")] = 50,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows which links a crawl refused, and why.

    Counts distinct refused URLs by reason, and lists them: why each was refused, which option lets it in, how many
    links lead to it, and one page that links to it.

    Examples:

    \b
      centime refused museum
      centime refused museum --reason trap --reason suffix
      centime refused museum --match /archive/ -n 200 --json
    """
    from centime.cluster.report.parts import parts_of

    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        report = parts_of(folder).refused(count, reason or (), match)
    if not as_json and not as_csv:
        report = {name: value for name, value in report.items() if value not in (None, [], {})}
    show(report, as_json=as_json, as_csv=as_csv, table="urls")
