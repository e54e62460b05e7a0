"""`centime bodies`: the stored bodies of a page."""

from pathlib import Path
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, is_standard_output, show
from centime.cli.visible import tell_bytes
from centime.files.replacement import replacing_files
from centime.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("bodies")(_bodies)


def _bodies(
    folder: Folder,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the page, in any form.")],
    listed: Annotated[bool, typer.Option("--list", help="List the stored bodies.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: -, standard output.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Body at this time: 2026-01-31 or 2026-01-31T12:00:00Z."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes a stored body of a page.

    The newest body is written by default: as it is to a file or a pipe; as text, with control characters escaped, to a
    terminal. A crawl stores bodies if it runs with --keep. --list and --json list the
    stored bodies instead of writing one.

    Examples:

    \b
      centime bodies museum https://museum.example/ > museum.html
      centime bodies museum https://museum.example/ --list
      centime bodies museum https://museum.example/ --at 2026-01-31 -o then.html
    """
    from centime.crawl.report.bodies import body_of, capture_at, capture_facts, captures_of

    if is_standard_output(output):
        output = None
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise BadInput(f"{output}: {'is a directory' if output.is_dir() else 'the folder does not exist'}")
    captures = captures_of(folder, url)
    if listed or (as_json and output is None):
        show({"url": captures[0].url, "captures": [capture_facts(capture) for capture in captures]}, as_json=as_json)
        return
    capture = capture_at(captures, at)
    body = body_of(folder, capture)
    if output is None:
        tell_bytes(body)
        return
    with replacing_files(output) as files:
        files.new(output).write_bytes(body)
    show({"url": capture.url, **capture_facts(capture), "bytes": len(body), "written": str(output)}, as_json=as_json)
