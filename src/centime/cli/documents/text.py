"""`centime text`: the text of a page."""

from typing import Annotated

import typer

from centime.cli.documents.versions import Url
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.visible import tell
from centime.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("text")(_text)


def _text(
    folder: Folder,
    url: Url,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="VERSION", help="Number of the version, or a time. Default: the newest one."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the text of a page.

    Each paragraph, heading, list item or cell is a line. Scripts, styles and markup are left out. A crawl stores pages
    if it runs with --keep.

    Examples:

    \b
      centime text museum https://museum.example/
      centime text museum https://museum.example/ --at 2026-01-31
      centime text museum https://museum.example/ --json
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.report.versions import Versions
    from centime.warehouse.comparison import BINARY

    versions = Versions(owner_of(folder, url), url)
    version = versions.at(at)
    document = versions.read(version)
    if document.form() == BINARY:
        raise BadInput(f"{versions.url}: {document.content_type or 'this document'} has no text that Centime reads")
    lines = document.paragraphs()
    if as_json:
        show({"url": versions.url, "version": version.number, "time": version.time, "text": lines}, as_json=True)
    else:
        tell("\n".join(lines))
