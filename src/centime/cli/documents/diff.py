"""`centime diff`: what changed between two versions of a page."""

from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.documents.versions import Url
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show, show_beside, show_lines
from centime.cli.visible import tell
from centime.model.errors import BadInput

if TYPE_CHECKING:
    from centime.crawl.report.versions import Version, Versions
    from centime.warehouse.changed_rows import Row
    from centime.warehouse.sequence_diff import Step

_COLOURS = {"-": "red", "+": "green", " ": ""}


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("diff")(_diff)


def _diff(
    folder: Folder,
    url: Url,
    old: Annotated[
        str | None,
        typer.Option("--from", metavar="VERSION", help="Number or time of the old version. Default: the one before."),
    ] = None,
    new: Annotated[
        str | None, typer.Option("--to", metavar="VERSION", help="Number or time of the new version. Default: newest.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Show changed sentences. The default.")] = False,
    beside: Annotated[bool, typer.Option("--side-by-side", help="Show them in two columns.")] = False,
    xml: Annotated[bool, typer.Option("--xml", help="Write the delta of the tree as XML.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Write changed sentences as an HTML page.")] = False,
    as_json: Json = False,
) -> None:
    """Shows what changed between two versions of a page.

    Compares the newest version with the one before it by default: sentences of HTML and XML, lines of plain text.
    --xml writes what was inserted, deleted, moved and updated in the tree, with identifiers of nodes that persist from
    version to version; --json writes both. The exit code is 0 whether there are changes or not.

    Examples:

    \b
      centime diff museum https://museum.example/
      centime diff museum https://museum.example/ --from 1 --to 2026-01-31
      centime diff museum https://museum.example/feed.xml --xml
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.report.versions import Versions
    from centime.warehouse.comparison import changed_sentences

    if sum((text, beside, xml, html, as_json)) > 1:
        raise BadInput("--text, --side-by-side, --xml, --html and --json exclude each other")
    versions = Versions(owner_of(folder, url), url)
    before, after = versions.pair(old, new)
    if xml:
        from centime.warehouse.written_delta import as_xml, operations

        tell(as_xml(operations(versions.trees(before, after))))
        return
    if as_json:
        show(versions.report(before, after), as_json=True)
        return
    steps = changed_sentences(versions.read(before), versions.read(after))
    if html:
        from centime.warehouse.page_of_changes import page_of_changes

        tell(page_of_changes(versions.url, before.time, after.time, steps))
    else:
        tell(f"{versions.url}\n- version {before.number}, {before.time}\n+ version {after.number}, {after.time}")
        if any(not step.equal for step in steps):
            _print(before, after, steps, beside=beside)
        elif before.number == after.number:
            tell("this is one version")
        else:
            tell("the text is the same" + _differing(versions, before, after))


def _differing(versions: "Versions", before: "Version", after: "Version") -> str:
    """Whether the trees of two versions with the same text differ, in words; empty if they have none."""
    from centime.warehouse.tree import NotWellFormed
    from centime.warehouse.written_delta import operations

    try:
        found = operations(versions.trees(before, after))
    except NotWellFormed:
        return ""
    return "; the tree differs: --xml shows where" if found else ", and so is the tree"


def _print(before: "Version", after: "Version", steps: "list[Step]", *, beside: bool) -> None:
    """Writes changed sentences for people, with the sentences around them."""
    from centime.warehouse.changed_rows import changed_rows

    rows = changed_rows(steps)
    if beside:
        show_beside((f"version {before.number}", f"version {after.number}"), _paired(rows))
    else:
        show_lines((f"{sign} {old or new}", _COLOURS[sign]) for sign, old, new in rows)


def _paired(rows: "list[Row]") -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Old and new sentences beside each other, each with its colour."""
    paired: list[tuple[tuple[str, str], tuple[str, str]]] = []
    removed: list[str] = []
    for sign, old, new in [*rows, (" ", "", "")]:
        if sign == "-":
            removed.append(old)
        elif sign == "+":
            paired.append(((removed.pop(0) if removed else "", "red"), (new, "green")))
        else:
            paired += [((each, "red"), ("", "")) for each in removed]
            removed = []
            paired.append(((old, ""), (new, "")))
    return paired[:-1]
