"""`centime publish`: announces new or changed pages to a crawl."""

import time
from typing import Annotated, Any

import typer

from centime.cli.fresh.commanding import Wait
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress
from centime.model.errors import BadInput, BadSetting


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("publish")(_publish)


def _publish(
    folder: Folder,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL]...", help="URL of a page, or sitemap: or feed: with a URL or FILE."),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", metavar="FILE", help="File of URLs, one on each line; - is standard input."),
    ] = None,
    indexnow: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="IndexNow request in JSON; - is standard input.")
    ] = None,
    websub: Annotated[
        str | None, typer.Option(metavar="FILE", help="Feed that a WebSub hub posted; - is standard input.")
    ] = None,
    signature: Annotated[
        str | None, typer.Option(metavar="METHOD=HEX", help="X-Hub-Signature of the hub, to verify --websub.")
    ] = None,
    secret_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Secret shared with the hub, to verify --websub.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Visit these pages shortly after each other.")
    ] = None,
    publisher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Who announces the pages; its reliability is learned. Default: the pages' host."
        ),
    ] = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Announces new or changed pages to a crawl.

    The crawl visits announced pages before those that are due anyway. This command reads a sitemap or feed that is a
    file, with its times of change; the crawl fetches one that is a URL. URLs out of scope are listed.

    Examples:

    \b
      centime publish museum https://museum.example/halls/ https://museum.example/news/7
      centime publish museum sitemap:https://museum.example/sitemap.xml
      centime publish museum feed:news.atom --publisher newsroom
      centime publish museum -f changed.txt --cluster exhibition --wait
      centime publish museum --indexnow announced.json
      centime publish museum --websub - --signature "$HTTP_X_HUB_SIGNATURE" --secret-file hub.secret < posted.atom
    """
    from centime.cluster.opening import settings_of
    from centime.crawl.commands.ordering import hand_over
    from centime.crawl.commands.publication import read_publication
    from centime.shard.people.command import MOST_NAME

    for option, name in (("cluster", cluster), ("publisher", publisher)):
        if name is not None and not name.strip():
            raise BadSetting(f"the name of the {option} is empty: leave out --{option} if there is none")
        if name is not None and len(name) > MOST_NAME:
            raise BadSetting(f"the name of a {option} has at most {MOST_NAME} characters, not {len(name)}")
    if websub is None and (signature is not None or secret_file is not None):
        raise BadSetting("--signature and --secret-file need --websub: they verify it")
    pushed = {"websub": websub or "", "signature": signature or "", "secret_file": secret_file or ""}
    settings = settings_of(folder)
    with progress(1.0, "reading announcements", quiet=as_json):
        found = read_publication(words or [], settings, files=files or [], indexnow=indexnow or [], **pushed)
        commands = found.commands(time=time.time(), cluster=cluster or "", publisher=publisher or "")
        if not commands:
            first = f"{found.reasons[0]['url']}: {found.reasons[0]['reason']}" if found.reasons else "no URL was given"
            raise BadInput(f"{folder}: none of the URLs can be published; {first}")
        report: dict[str, Any] = {
            "pages": len(found.pages),
            "sitemaps": len(found.sitemaps),
            "feeds": len(found.feeds),
            "refused": found.refused,
            **hand_over(folder, commands, wait=wait),
        }
    if as_json or found.troubles:
        report["troubles"] = found.troubles
    if as_json or found.reasons:
        report["out"] = found.reasons
    show(report, as_json=as_json)
