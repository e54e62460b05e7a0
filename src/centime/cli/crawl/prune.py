"""`centime prune`: removes versions of pages that no rule keeps."""

import time
from collections import Counter
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress
from centime.cli.visible import say


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("prune")(_prune)


def _prune(
    folder: Folder,
    retain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="Versions to keep: 100, 30d, all, PATTERN=30d. Repeatable. Default: as the crawl."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; remove nothing.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Removes old versions of pages.

    A crawl with --keep versions and --retain removes old versions of a page when it stores a new one, and may keep a
    few more than the rules say. This command removes every version that no rule keeps, and frees the disk space. The
    newest version of a page is always kept. The crawl may be running.

    Examples:

    \b
      centime prune museum
      centime prune museum --retain 30d --retain /press/=all --dry-run
    """
    from centime.cluster.opening import folders_of, settings_of
    from centime.crawl.engine.damage import damage_closes
    from centime.crawl.report.opening import folder_of
    from centime.settings.reading import settings_from
    from centime.settings.retaining import retaining_of
    from centime.store.versions.pruning import prune_all
    from centime.store.versions.stored import bytes_of_versions

    rules = settings_of(folder).retain
    if retain is not None:
        rules = settings_from({"retain": retain}, where="options").retain
    report: Counter[str] = Counter(pages=0, versions=0, bytes=0)
    for part in folders_of(folder):
        versions = folder_of(part).versions
        with damage_closes(part):
            pages, _, _ = bytes_of_versions(versions)
            with progress(pages, "looking at pages", quiet=as_json) as step:
                pruned = prune_all(versions, retaining_of(rules).of, time.time(), step, dry_run=dry_run)
        report.update(pages=pruned.pages, versions=pruned.versions, bytes=pruned.bytes)
        if pruned.damaged:
            say(f"{part}: {pruned.damaged} pages have damaged versions and were left alone; see centime check")
    show(
        {"removed" if not dry_run else "would_remove": dict(report), "retain": list(rules)},
        as_json=as_json,
        as_csv=as_csv,
    )
