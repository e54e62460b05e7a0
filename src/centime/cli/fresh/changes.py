"""`centime changes`: the changes that a crawl has seen."""

import re
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, json_text, plain, show, show_csv, show_lines
from centime.cli.progress import progress
from centime.cli.visible import visible_lines
from centime.model.errors import BadSetting


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("changes")(_changes)


def _changes(
    folder: Folder,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Changes seen since: 2026-01-31, or 2h for two hours ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Changes seen until this time.")] = None,
    match: Annotated[str, typer.Option(metavar="REGEX", help="Only pages whose URL matches.")] = "",
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", help="Number of changes to show, newest first; 0 for all.")
    ] = 100,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show the sentences that differ, if the crawl stores bodies.")
    ] = False,
    as_atom: Annotated[
        bool, typer.Option("--atom", help="Write an Atom feed to standard output, and nothing else.")
    ] = False,
    address: Annotated[
        str, typer.Option("--self", metavar="URL", help="With --atom: the URL at which you publish the feed.")
    ] = "",
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Lists pages that are new, changed, gone, moved or back.

    Each change has the time when the crawl saw it, the time of the visit before, and the importance, size and content
    signature of the page.

    Examples:

    \b
      centime changes museum --since 1d --diff
      centime changes museum --match /news/ --since 2026-01-31 --until 2026-02-01 -n 0 --json
      centime changes museum --atom --self https://feeds.example/museum.atom > museum.atom
    """
    from centime.cluster.report.parts import parts_of
    from centime.crawl.report.changes import time_of
    from centime.model.pattern import check_pattern

    if as_json + as_atom + as_csv > 1:
        raise BadSetting("--json, --csv and --atom exclude each other: give one of them")
    if address and not as_atom:
        raise BadSetting("--self is the URL of an Atom feed: give --atom too")
    if address and not re.match("https?://[^/]", address):
        raise BadSetting(f"--self is a URL that begins with https:// or http://, not {address!r}")
    if count < 0:
        raise BadSetting(f"--count must be at least 0 (0 shows all), not {count}")
    check_pattern(match)
    now = time.time()
    first = time_of(since, now) if since is not None else 0.0
    last = time_of(until, now) if until is not None else float("inf")
    with progress(1.0, f"opening {folder.name}", quiet=as_json or as_atom or as_csv):
        parts = parts_of(folder)
        found = parts.changes(first, last)
    rows = found.newest_first(match, count or None, sentences=diff)
    if as_atom:
        sys.stdout.writelines(map(visible_lines, found.atom(rows, address)))
    elif as_csv:
        show_csv(map(plain, rows))
    elif as_json:
        _write_json({"known": parts.known, "seen": len(found)}, rows)
    elif diff:
        show_lines(line for row in rows for line in _lines(row))
    else:
        shown = [_for_people(row) for row in rows]
        show({"known": parts.known, "seen": len(found), "changes": shown or "none"}, as_json=False)


def _write_json(facts: dict[str, object], rows: Iterator[dict[str, Any]]) -> None:
    """Writes one object, row by row: the changes may not fit into memory."""
    sys.stdout.write(json_text(facts)[:-1] + ', "changes": [')
    between = ""
    for row in rows:
        sys.stdout.write(between + json_text(row))
        between = ", "
    sys.stdout.write("]}\n")


def _lines(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A change and the sentences that differ, as lines with their colours."""
    yield f"{row['seen']} {row['change']} {row['url']}", "bold"
    if row["sentences"] == []:
        yield "  the text is the same: centime diff --xml shows what differs", ""
    for step in row["sentences"] or ():
        yield from ((f"- {sentence}", "red") for sentence in step["old"])
        yield from ((f"+ {sentence}", "green") for sentence in step["new"])


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: row[name] for name in ("seen", "last_seen_before", "change", "importance", "old_bytes", "bytes", "url")
    }
