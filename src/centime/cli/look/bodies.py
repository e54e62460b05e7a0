"""`centime bodies`: the bodies of a page that a crawl has kept."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("bodies")(_bodies)


def _bodies(
    folder: Folder,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page; its canonical form is looked up.")],
    listed: Annotated[bool, typer.Option("--list", help="Show which bodies there are.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the body here.")] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="The body it had then: 2026-01-31 or 2026-01-31T12:00:00Z."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the last body that was kept of a page to standard output, or to FILE; with --list or --json shows which
    there are.

    Examples:

    \b
      centime bodies museum https://museum.example/ > museum.html
      centime bodies museum https://museum.example/ --list
      centime bodies museum https://museum.example/ --at 2026-01-31 -o then.html
    """
    from centime.crawl.report.bodies import body_of, capture_at, capture_facts, captures_of

    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise BadInput(f"{output}: {'this is a directory' if output.is_dir() else 'there is no such folder'}")
    captures = captures_of(folder, url)
    if listed or (as_json and output is None):
        show({"url": captures[0].url, "captures": [capture_facts(capture) for capture in captures]}, as_json=as_json)
        return
    capture = capture_at(captures, at)
    body = body_of(folder, capture)
    if output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    output.write_bytes(body)
    show({"url": capture.url, **capture_facts(capture), "bytes": len(body), "written": str(output)}, as_json=as_json)
