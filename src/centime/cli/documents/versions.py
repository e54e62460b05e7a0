"""`centime versions`: the stored versions of a page."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show

Url = Annotated[str, typer.Argument(metavar="URL", help="URL of the page, in any form.")]


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("versions")(_versions)


def _versions(folder: Folder, url: Url, as_json: Json = False, as_csv: Csv = False) -> None:
    """Lists the stored versions of a page.

    A version is a body that differs from the one before it. A crawl stores bodies if it runs with --keep.

    Examples:

    \b
      centime versions museum https://museum.example/
      centime versions museum https://museum.example/ --json
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.report.versions import Versions

    versions = Versions(owner_of(folder, url), url)
    show({"url": versions.url, "versions": versions.facts()}, as_json=as_json, as_csv=as_csv, table="versions")
