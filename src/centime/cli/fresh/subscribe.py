"""`centime subscribe`: notifications of changes."""

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
    from centime.shard.people.command import Command
    from centime.shard.people.notices import Condition, When


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("subscribe")(_subscribe)


def _subscribe(
    folder: Folder,
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="Regular expression that the URL of a page matches.")
    ] = None,
    xpath: Annotated[
        str | None, typer.Option(metavar="XPATH", help="Notify only if what this finds in a page changed.")
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="Notify only if words appear in a page, or vanish: '\"sold out\" -tea'."),
    ] = None,
    when: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="With --xpath or --words: only if it appears, or only if it vanishes."),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Notify at most, and visit the pages at least, this often.")
    ] = "1d",
    to: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Subscriber: file:PATH, command:PROGRAM or an http(s) URL."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the subscription. Default: a hash of its contents."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the subscriptions.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Remove a subscription.")] = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Notifies a file, program or web server of changes.

    Notifications are lines of JSON: appended to a file, written to the standard input of a program, or posted to a web
    server. The first change is sent at once, later changes together, once every TIME. No change is lost; one that is
    delivered twice has the same id.

    Examples:

    \b
      centime subscribe museum /news/ --every 1h --to file:news.jsonl
      centime subscribe museum 'example/shop/' --xpath "//*[@class='price']" --every 1d --to command:'notify --shop'
      centime subscribe museum . --xpath '//item[number(price) < 100]' --when appears --to file:bargains.jsonl
      centime subscribe museum . --words '"sold out"' --to file:sold.jsonl
      centime subscribe museum . --to https://hooks.example/museum --name all
      centime subscribe museum --list
      centime subscribe museum --remove all
    """
    from centime.crawl.report.opening import check_folder
    from centime.crawl.report.subscribers import subscription_table
    from centime.shard.people.command import SubscribeCommand, UnsubscribeCommand, new_id
    from centime.shard.people.notices import Condition

    check_folder(folder)
    if sum([pattern is not None, listed, remove is not None]) != 1:
        raise BadInput("give a PATTERN to subscribe to, or --list, or --remove NAME")
    if listed or remove is not None:
        with progress(1.0, f"opening {folder.name}", quiet=as_json):
            table = subscription_table(folder)
    if listed:
        show({"subscriptions": table}, as_json=as_json)
        return
    for given, what, option in ((xpath, "XPath is", "--xpath"), (words, "words are", "--words")):
        if given is not None and not given.strip():
            raise BadSetting(f"the {what} empty: leave out {option} to be notified of every change")
    if name == "":
        raise BadSetting("the name is empty: leave out --name for a default name")
    command: Command
    report: dict[str, Any]
    if remove is not None:
        names = [row["name"] for row in table]
        if remove not in names:
            raise BadInput(
                f"{folder}: no subscription has the name {remove!r}; existing names: {', '.join(names) or 'none'}"
            )
        command = UnsubscribeCommand(id=new_id(), time=time.time(), name=remove)
        report = {"removed": remove}
    else:
        condition = Condition(xpath or "", words or "", _when(when))
        subscription = _subscription(folder, pattern or "", condition, every, to, name or "")
        command = SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription)
        report = {"name": subscription.name, "every_seconds": subscription.every, "to": subscription.to}
    show(report | hand_over(folder, [command], wait=wait), as_json=as_json)


def _when(given: str | None) -> "When":
    """The changes that a person wants to know of."""
    from centime.shard.people.notices import When

    if given is not None and given not in (When.APPEARS, When.VANISHES):
        raise BadSetting(f"--when is appears or vanishes, not {given!r}")
    return When(given or "")


def _subscription(folder: Path, pattern: str, condition: "Condition", every: str, to: str | None, name: str) -> Any:
    """The subscription, with absolute paths: the crawl may run in another working directory."""
    from xxhash import xxh3_64_hexdigest

    from centime.crawl.commands.checking import check_subscription
    from centime.crawl.notify.delivering import unfit
    from centime.crawl.worker.xpath import check_pace
    from centime.settings.units import seconds
    from centime.shard.people.subscriptions import Subscription

    if to is None:
        raise BadInput("give a subscriber: --to file:PATH, command:PROGRAM, http://... or https://...")
    scheme, colon, place = to.partition(":")
    if scheme == "file" and place:
        path = Path(place).absolute()
        if trouble := unfit(str(path), str(folder)):
            raise BadInput(f"cannot write notifications: {trouble}")
        if not path.parent.is_dir():
            raise BadInput(f"{path}: the folder does not exist")
        to = f"file:{path}"
    elif scheme == "command" and place:
        try:
            words = shlex.split(place)
        except ValueError as error:
            raise BadSetting(f"cannot parse the command {place!r}: {error}") from error
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise BadSetting(f"there is no executable program {words[0] if words else ''!r}")
        to = f"command:{shlex.join([str(Path(found).absolute()), *words[1:]])}"
    elif scheme in ("http", "https") and colon:
        _check_address(folder, to)
    xpath, phrases, when = condition.xpath, condition.words, condition.when
    parts = (pattern, xpath, to) + ((phrases, when.value) if phrases or when else ())
    digest = xxh3_64_hexdigest("\0".join(parts).encode(errors="surrogateescape"))
    subscription = Subscription(name or digest[:8], pattern, seconds(every), to, xpath, phrases, when)
    check_subscription(subscription)
    if xpath:
        check_pace(xpath)
    if xpath and when and not phrases:
        _check_versions(folder)
    return subscription


def _check_versions(folder: Path) -> None:
    """Rejects what needs stored versions if the crawl stores none."""
    from centime.crawl.report.opening import folder_of
    from centime.settings.reading import decode_settings

    if decode_settings(folder_of(folder).settings, where=str(folder)).keep == "none":
        raise BadSetting(
            f"--when with --xpath compares the stored versions of a page, and this crawl stores none; "
            f"centime crawl {folder} --keep versions does"
        )


def _check_address(folder: Path, to: str) -> None:
    """Rejects a URL whose address the crawl must not contact; a name is checked when it is resolved."""
    from centime.crawl.report.opening import folder_of
    from centime.discover.canonical import canonical
    from centime.fetch.guard import Guard, literal
    from centime.model.address import host_of
    from centime.settings.reading import decode_settings

    url = canonical(to)
    if url is None:
        raise BadSetting(f"{to!r} is not an http or https URL")
    host = re.sub(r":\d+$", "", host_of(url).partition("//")[2])
    address = literal(host) or ("127.0.0.1" if host == "localhost" or host.endswith(".localhost") else "")
    allowed = decode_settings(folder_of(folder).settings, where=str(folder)).allow_network
    if address and not Guard(allowed).allows(address):
        raise BadSetting(f"{address} is not a public address; centime crawl {folder} --allow-network CIDR allows it")
