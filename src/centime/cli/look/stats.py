"""`centime stats`: the totals of a crawl."""

import time
from typing import Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("stats")(_stats)


def _stats(folder: Folder, as_json: Json = False, as_csv: Csv = False) -> None:
    """Shows the totals of a crawl: pages, answers, bytes.

    Counts pages by kind, visits by outcome and answers by status; shows bytes on disk and in memory, and the settings.

    Examples:

    \b
      centime stats museum
      centime stats museum --json
    """
    from centime.cluster.report.parts import parts_of

    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        report = parts_of(folder).statistics(time.time())
    show(report if as_json or as_csv else _for_people(report), as_json=as_json, as_csv=as_csv)


def _for_people(report: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in report.items() if name != "settings" and value not in (None, [], {})}
    settings = [
        {"setting": name, "value": value} for name, value in report["settings"].items() if value not in (None, [])
    ]
    if report["publishers"]:
        shown["publishers"] = [{"name": name, **facts} for name, facts in report["publishers"].items()]
    return {**shown, "settings": settings}
