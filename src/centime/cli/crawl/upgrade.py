"""`centime upgrade`: converts a crawl folder to the newest format."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("upgrade")(_upgrade)


def _upgrade(
    folder: Folder,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Converts a crawl folder to the newest format.

    `centime crawl` does this by itself. Use this command to read an old crawl without continuing it. The upgrade can be
    stopped at any moment and run again. It cannot be undone: keep a copy of the folder if an older Centime still needs
    it.

    Examples:

    \b
      centime upgrade museum --dry-run
      centime upgrade museum
    """
    from centime.cluster.opening import folders_of
    from centime.store.folder import FORMAT, read_about
    from centime.store.upgrade import pending, upgrade

    parts = folders_of(folder)
    before = min(read_about(part).format for part in parts)
    done = [[step.what for step in pending(part)] if dry_run else upgrade(part) for part in parts]
    steps = list(dict.fromkeys(step for some in done for step in some))
    after = before if dry_run else FORMAT
    show(
        {
            "folder": str(folder),
            "format_before": before,
            "format": after,
            "newest": FORMAT,
            "steps": steps,
        },
        as_json=as_json,
    )
