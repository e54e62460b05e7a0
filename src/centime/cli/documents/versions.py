"""`centime versions`: the stored versions of a page."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show

Url = Annotated[str, typer.Argument(metavar="URL", help="URL of the page, in any form.")]


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("versions")(_versions)


def _versions(
    folder: Folder,
    url: Url,
    node: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="Show the history of a node: its XID, or a path such as /feed/item[2]."),
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Lists the stored versions of a page.

    A version is a body that differs from the one before it. A crawl stores bodies if it runs with --keep. --node shows
    the versions in which a node of HTML or XML came, changed, moved or went; centime diff --xml shows XIDs and paths.

    Examples:

    \b
      centime versions museum https://museum.example/
      centime versions museum https://museum.example/ --json
      centime versions museum https://museum.example/feed.xml --node "/feed/item[1]/price"
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.report.versions import Versions

    versions = Versions(owner_of(folder, url), url)
    if node is not None:
        history = {"url": versions.url, "node": node, "history": versions.history(node)}
        show(history, as_json=as_json, as_csv=as_csv, table="history")
        return
    show({"url": versions.url, "versions": versions.facts()}, as_json=as_json, as_csv=as_csv, table="versions")
