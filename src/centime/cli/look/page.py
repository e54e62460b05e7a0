"""`centime page`: everything a crawl knows about one page."""

import time
from typing import Annotated, Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("page")(_page)


def _page(
    folder: Folder,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the page, in any form.")],
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Explains one page: importance, visits, next visit.

    Shows which links give the page its importance, the outcome of every visit, how often the page changes, and when and
    why the crawl visits it next; of a stored XML document also its state, DTD, root, namespaces, entities and links.

    Examples:

    \b
      centime page museum https://museum.example/halls/
      centime page museum https://museum.example/halls/ --json
    """
    from centime.cluster.report.parts import parts_of

    with progress(1.0, f"opening {folder.name}", quiet=as_json) as step:
        parts = parts_of(folder)
        count = max(1, parts.known)
        report = parts.page(url, now=time.time(), step=lambda done: step(done / count, "finding the links to it"))
        if report["kind"] == "xml" and (document := parts.document(report["url"])) is not None:
            report["document"] = document
    show(report if as_json or as_csv else _for_people(report), as_json=as_json, as_csv=as_csv, table="visits")


def _for_people(report: dict[str, Any]) -> dict[str, Any]:
    document = report.pop("document", None) or {}
    shown = {f"document {name}".replace("_", " "): value for name, value in document.items()}
    given = {name: value for name, value in shown.items() if value not in (None, [], {}, "", False)}
    return {name: value for name, value in (report | given).items() if value not in (None, [], {})}
