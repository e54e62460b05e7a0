"""`centime repair`: restores everything of a damaged crawl that can be verified."""

from dataclasses import asdict
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.model.errors import CentimeError


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("repair")(_repair)


def _repair(
    folder: Folder,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be restored and lost; change nothing."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Repairs a damaged crawl and reports what is lost.

    Restores exactly what it can: copies of small files, single flipped bits, snapshots, the index of bodies. Then it
    salvages everything that can be verified, and reports what is lost: frames, visits, pages, bytes. The damaged files
    are kept in the folder damaged/. Run centime check first to see what is wrong. An intact crawl is not changed.

    Examples:

    \b
      centime repair museum --dry-run
      centime repair museum
    """
    from centime.cluster.report.checking import check_any
    from centime.cluster.report.repairing import repair_any

    repaired = repair_any(folder, dry_run=dry_run)
    report: dict[str, object] = {"folder": str(folder), "damaged": repaired.changed, **asdict(repaired)}
    problems = [] if dry_run else check_any(folder).problems
    if not dry_run:
        report["right"] = not problems
    show(report if as_json else {name: value for name, value in report.items() if value != []}, as_json=as_json)
    if problems:
        raise CentimeError(f"{folder}: {len(problems)} problems are left; centime check {folder} names them")
