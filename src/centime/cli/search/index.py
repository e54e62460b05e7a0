"""`centime index`: makes the text of a crawl searchable."""

from time import perf_counter
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress
from centime.cli.visible import say


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("index")(_index)


def _index(
    folder: Folder,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Delete the index and build it again.")] = False,
    as_json: Json = False,
) -> None:
    """Makes the text of a crawl searchable.

    Brings the full-text index in DIR/index up to date with the stored pages: it processes only pages that are new,
    changed or gone since the last run. It can be stopped at any time; the next run continues. A crawl stores pages if
    it runs with --keep.

    Examples:

    \b
      centime index museum
      centime index museum --rebuild --json
    """
    from centime.cluster.report.merging import merged_facts
    from centime.cluster.report.parts import parts_of
    from centime.processes.collection import collect_rarely

    started = perf_counter()
    collect_rarely()
    with progress(1.0, f"opening {folder.name}", quiet=as_json) as step:
        parts = parts_of(folder)
        updates = parts.update_index(rebuild=rebuild, step=lambda share: step(share, f"indexing {folder.name}"))
    for update in updates:
        if update.began_again and not rebuild:
            say(f"the index was rebuilt: {update.began_again}")
        if update.unreadable:
            say(f"{update.unreadable} stored bodies cannot be read, such as: {update.first_unreadable}")
    show(
        {**merged_facts([update.facts() for update in updates]), "time_seconds": round(perf_counter() - started, 3)},
        as_json=as_json,
    )
