"""`centime stats`: the totals of a crawl."""

import time
from typing import Any

import typer

from centime.cli.figure import shown
from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress

TIMES = ("delay", "timeout", "least-interval")
RATES = ("rate", "fill-rate", "first-rate")


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("stats")(_stats)


def _stats(folder: Folder, as_json: Json = False, as_csv: Csv = False) -> None:
    """Shows the totals of a crawl: pages, responses, bytes.

    Counts pages by kind, visits by outcome and responses by status. Shows bytes on disk and in memory, and settings.

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
    facts = {name: value for name, value in report.items() if name != "settings" and value not in (None, [], {})}
    settings = [
        {"setting": name, "value": _with_unit(name, value)}
        for name, value in report["settings"].items()
        if value not in (None, [])
    ]
    if report["publishers"]:
        facts["publishers"] = [{"name": name, **facts} for name, facts in report["publishers"].items()]
    return {**facts, "settings": settings}


def _with_unit(name: str, value: Any) -> Any:
    """A setting with its unit: 20.1 MB, 2 min, 5/s."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if name in TIMES:
        return shown("seconds", value)
    if name.endswith("-bytes") or name == "most-memory":
        return shown("bytes", value)
    if name == "bandwidth":
        return f"{shown('bytes', value)}/s"
    if name in RATES:
        return f"{value:.4g}/s" if value >= 1.0 / 60.0 else f"{value * 86_400.0:.4g}/d"
    return value
