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
    from centime.crawl.notify.delivery import read_troubles
    from centime.crawl.report.opening import look_at
    from centime.crawl.report.statistics import all_statistics

    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        opened = look_at(folder)
        known = opened.shard.requests.subscriptions
        report = all_statistics(opened, time.time()) | {
            "subscribers_in_trouble": sum(name in known for name in read_troubles(folder))
        }
    show(report if as_json or as_csv else _for_people(report), as_json=as_json, as_csv=as_csv)


def _for_people(report: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in report.items() if name != "settings" and value not in (None, [], {})}
    settings = [
        {"setting": name, "value": value} for name, value in report["settings"].items() if value not in (None, [])
    ]
    if report["publishers"]:
        shown["publishers"] = [{"name": name, **facts} for name, facts in report["publishers"].items()]
    return {**shown, "settings": settings}
