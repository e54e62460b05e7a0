"""`centime bodies`: the stored bodies of a page."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, is_standard_output, show
from centime.cli.visible import tell, tell_bytes
from centime.files.replacement import replacing_files
from centime.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("bodies")(_bodies)


def _bodies(
    folder: Folder,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="URL of the page, in any form. Default: all pages.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the stored bodies.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: -, standard output.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Body at this time: 2026-01-31 or 2026-01-31T12:00:00Z."),
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Writes the stored body of a page, or of all pages.

    The newest body is written by default: as it is to a file or a pipe; as text, with control characters escaped, to a
    terminal. A crawl stores bodies if it runs with --keep. --list and --json list the
    stored bodies instead of writing one.

    Without a URL, the newest body of every page is written in one pass: a line of JSON for each, with its text in
    `body`, or in `body_base64` if it is not UTF-8. --list leaves the bodies out.

    Examples:

    \b
      centime bodies museum https://museum.example/ > museum.html
      centime bodies museum https://museum.example/ --list
      centime bodies museum https://museum.example/ --at 2026-01-31 -o then.html
      centime bodies museum -o museum.jsonl
    """
    from centime.cluster.opening import owner_of
    from centime.crawl.report.bodies import body_of, capture_at, capture_facts, captures_of

    if is_standard_output(output):
        output = None
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise BadInput(f"{output}: {'is a directory' if output.is_dir() else 'the folder does not exist'}")
    if as_csv and (url is None or not listed):
        raise BadInput("--csv needs --list and the URL of a page")
    if url is None:
        _all_bodies(folder, output, at, listed=listed)
        return
    owner = owner_of(folder, url)
    captures = captures_of(owner, url)
    if listed or (as_json and output is None):
        facts = [capture_facts(capture) for capture in captures]
        show({"url": captures[0].url, "captures": facts}, as_json=as_json, as_csv=as_csv, table="captures")
        return
    capture = capture_at(captures, at)
    body = body_of(owner, capture)
    if output is None:
        tell_bytes(body)
        return
    with replacing_files(output) as files:
        files.new(output).write_bytes(body)
    show({"url": capture.url, **capture_facts(capture), "bytes": len(body), "written": str(output)}, as_json=as_json)


def _all_bodies(folder: Path, output: Path | None, at: str | None, *, listed: bool) -> None:
    """Writes the newest body of every page as a line of JSON."""
    from centime.cluster.opening import folders_of
    from centime.crawl.engine.damage import damage_closes
    from centime.crawl.report.bodies import capture_facts, newest_of_all, read_stored
    from centime.crawl.report.opening import folder_of
    from centime.store.versions.database import keeping_open

    if at is not None:
        raise BadInput("--at needs the URL of a page")
    folders = [folder_of(part) for part in folders_of(folder)]

    def lines() -> Iterator[str]:
        for opened in folders:
            with damage_closes(opened.path), keeping_open():
                for stored in newest_of_all(opened):
                    facts = {"url": stored.url, **capture_facts(stored)}
                    if not listed:
                        body, content_type = read_stored(opened, stored)
                        facts |= {"content_type": content_type, **_body_in_json(body)}
                    yield json.dumps(facts)

    if output is None:
        for line in lines():
            tell(line)
        return
    with replacing_files(output) as files, files.new(output).open("w") as file:
        file.writelines(f"{line}\n" for line in lines())


def _body_in_json(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}
