"""`centime lab`: runs the papers' experiments and ours; each writes a picture, a table and a JSON file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.output import Json, show
from centime.cli.progress import progress
from centime.cli.visible import tell
from centime.lab.catalogue import CATALOGUE, names_for

if TYPE_CHECKING:
    from centime.lab.experiment import Record

NAMES = "\n".join(f"  {name:<16} {entry.about}" for name, entry in CATALOGUE.items())

HELP = f"""Runs an experiment; writes a picture, CSV and JSON.

NAME is one of these, or all:

\b
{NAMES}

Examples:

\b
  centime lab convergence --pages 20000 --out figures
  centime lab growth --graph weblike --seed 7
  centime lab convergence --graph cnr-2000.graph
  centime lab all
"""


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("lab", help=HELP)(_lab)


def _list(wanted: bool) -> None:
    if wanted:
        tell(NAMES)
        raise typer.Exit


def _lab(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment, or all.")],
    pages: Annotated[
        int | None,
        typer.Option(help="Pages of the web; a graph file has its own number. Default: 100000, for two-worlds 20000."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed: the same seed gives the same results.")] = 0,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL|FILE",
            help="power-law, poisson, weblike or a graph file. Default: what suits the experiment.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path("lab"),
    as_json: Json = False,
    names: Annotated[
        bool, typer.Option("--list", help="Show the experiments and exit.", callback=_list, is_eager=True)
    ] = False,
) -> None:
    chosen = names_for(name)

    from centime.lab.experiment import carry_out
    from centime.lab.files import prepare, write

    prepare(out)
    records = []
    for each in chosen:
        with progress(1.0, each, quiet=as_json) as step:
            record = carry_out(each, CATALOGUE[each].pages if pages is None else pages, seed, graph, step)
        paths = write(record, out)
        records.append(record.as_object())
        if not as_json:
            show(_for_people(record, paths), as_json=False)
    if as_json:
        show(records[0] if name != "all" else {"experiments": records}, as_json=True)


def _for_people(record: "Record", paths: list[Path]) -> dict[str, object]:
    settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in record.settings.items())
    files = ", ".join(str(path) for path in paths)
    report = {
        "experiment": record.name,
        "settings": settings,
        **record.findings.facts,
        "seconds": round(record.seconds, 1),
        "files": files,
    }
    return {**report, record.findings.heading: list(record.findings.table)}
