"""`centime subscribe`: who is told of changes, how often, and where."""

import re
import shlex
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.fresh.commanding import Wait, hand_over
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress
from centime.model.errors import BadInput, BadSetting

if TYPE_CHECKING:
    from centime.shard.command import Command


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("subscribe")(_subscribe)


def _subscribe(
    folder: Folder,
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="A regular expression: pages in whose URL it is found.")
    ] = None,
    xpath: Annotated[
        str | None, typer.Option(metavar="XPATH", help="Only if what this finds in the page has changed.")
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Tell at most, and read the pages at least, so often.")
    ] = "1d",
    to: Annotated[
        str | None, typer.Option(metavar="PLACE", help="file:PATH, command:PROGRAM, http://... or https://...")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the subscription is called. Default: made from what it says."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show the subscriptions.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="End a subscription.")] = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Has changes of pages told: as lines of JSON in a file, to a program on its standard input, or by POST to a web
    server.

    The first change is told at once, those after it together, once every TIME. Nothing is lost; what comes twice has
    the same id.

    Examples:

    \b
      centime subscribe museum /news/ --every 1h --to file:news.jsonl
      centime subscribe museum 'example/shop/' --xpath "//*[@class='price']" --every 1d --to command:'notify --shop'
      centime subscribe museum . --to https://hooks.example/museum --name all
      centime subscribe museum --list
      centime subscribe museum --remove all
    """
    from centime.crawl.report.opening import check_folder
    from centime.crawl.report.subscribers import subscription_table
    from centime.shard.command import SubscribeCommand, UnsubscribeCommand, new_id

    check_folder(folder)
    if sum([pattern is not None, listed, remove is not None]) != 1:
        raise BadInput("give a PATTERN to subscribe to, or --list, or --remove NAME")
    if listed or remove is not None:
        with progress(1.0, f"opening {folder.name}", quiet=as_json):
            table = subscription_table(folder)
    if listed:
        show({"subscriptions": table}, as_json=as_json)
        return
    if xpath is not None and not xpath.strip():
        raise BadSetting("the XPath is empty: leave --xpath out to be told of every change")
    if name == "":
        raise BadSetting("the name is empty: leave --name out to have one made")
    command: Command
    report: dict[str, Any]
    if remove is not None:
        names = [row["name"] for row in table]
        if remove not in names:
            raise BadInput(f"{folder}: no subscription is called {remove!r}; there are: {', '.join(names) or 'none'}")
        command = UnsubscribeCommand(id=new_id(), time=time.time(), name=remove)
        report = {"removed": remove}
    else:
        subscription = _subscription(folder, pattern or "", xpath or "", every, to, name or "")
        command = SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription)
        report = {"name": subscription.name, "every_seconds": subscription.every, "to": subscription.to}
    show(report | hand_over(folder, [command], wait=wait), as_json=as_json)


def _subscription(folder: Path, pattern: str, xpath: str, every: str, to: str | None, name: str) -> Any:
    """The subscription that is meant, as the crawl will serve it, wherever it is started from."""
    from xxhash import xxh3_64_hexdigest

    from centime.crawl.commands.checking import check_subscription
    from centime.crawl.notify.delivering import unfit
    from centime.crawl.worker.xpath import check_pace
    from centime.settings.crawl import seconds
    from centime.shard.subscriptions import Subscription

    if to is None:
        raise BadInput("say whom to tell: --to file:PATH, command:PROGRAM, http://... or https://...")
    scheme, colon, place = to.partition(":")
    if scheme == "file" and place:
        path = Path(place).absolute()
        if trouble := unfit(str(path), str(folder)):
            raise BadInput(f"changes cannot be told to {trouble}")
        if not path.parent.is_dir():
            raise BadInput(f"{path}: there is no such folder to write in")
        to = f"file:{path}"
    elif scheme == "command" and place:
        try:
            words = shlex.split(place)
        except ValueError as error:
            raise BadSetting(f"the command {place!r} cannot be understood: {error}") from error
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise BadSetting(f"there is no program {words[0] if words else ''!r} that could be run")
        to = f"command:{shlex.join([str(Path(found).absolute()), *words[1:]])}"
    elif scheme in ("http", "https") and colon:
        _check_address(folder, to)
    subscription = Subscription(
        name or xxh3_64_hexdigest("\0".join((pattern, xpath, to)).encode())[:8], pattern, seconds(every), to, xpath
    )
    check_subscription(subscription)
    if xpath:
        check_pace(xpath)
    return subscription


def _check_address(folder: Path, to: str) -> None:
    """Refuses a URL at an address that the crawl will not ask; where a name leads is judged when it is asked."""
    from centime.crawl.report.opening import folder_of
    from centime.discover.canonical import canonical
    from centime.fetch.guard import Guard, literal
    from centime.model.address import host_of
    from centime.settings.crawl import settings_from

    url = canonical(to)
    if url is None:
        raise BadSetting(f"{to!r} is not a URL of http or https")
    host = re.sub(r":\d+$", "", host_of(url).partition("//")[2])
    address = literal(host) or ("127.0.0.1" if host == "localhost" or host.endswith(".localhost") else "")
    allowed = settings_from(folder_of(folder).settings, where=str(folder)).allow_network
    if address and not Guard(allowed).allows(address):
        raise BadSetting(
            f"{address} is not a public address; centime crawl {folder} --allow-network CIDR lets it be asked"
        )
