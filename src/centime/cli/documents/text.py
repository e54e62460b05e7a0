"""`centime text`: the text of a page."""

from typing import Annotated

import typer

from centime.cli.documents.versions import Url
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.visible import tell
from centime.model.errors import NoText


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

    Each paragraph, heading, list item or cell is a line. Scripts, styles and markup are left out. PDFs have a text if
    the extra centime[pdf] is installed. A crawl stores pages if it runs with --keep.

    Examples:

    \b
      centime text museum https://museum.example/
      centime text museum https://museum.example/ --at 2026-01-31
      centime text museum https://museum.example/ --json
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.documents.page_texts import page_texts
    from centime.crawl.report.versions import Versions
    from centime.warehouse.comparison import BINARY

    place = owner_of(folder, url)
    versions = Versions(place, url)
    version = versions.at(at)
    document = versions.read(version)
    if document.form() == BINARY:
        with page_texts(place) as texts:
            found = texts.of(document.body, document.content_type, versions.url)
        if not found.text:
            what = document.content_type or "this document"
            reason = f": {found.trouble}" if found.trouble else ""
            raise NoText(f"{versions.url}: {what} has no text that Centime reads{reason}")
        lines = found.text.splitlines()
    else:
        lines = document.paragraphs()
    if as_json:
        show({"url": versions.url, "version": version.number, "time": version.time, "text": lines}, as_json=True)
    else:
        tell("\n".join(lines))
