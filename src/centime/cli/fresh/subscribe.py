"""`centime subscribe`: notifications of changes."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.fresh.commanding import Wait
from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress
from centime.model.errors import BadInput, BadSetting

if TYPE_CHECKING:
    from centime.shard.people.command import Command
    from centime.shard.people.notices import When

COLUMNS = (
    *("name", "pattern", "xpath", "words", "when", "every_seconds", "to", "waiting", "delivered", "due", "state"),
    *("failures", "next_attempt", "trouble"),
)


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
        typer.Option(metavar="PLACE", help="Subscriber: file:PATH, command:PROGRAM, apprise:URL or an http(s) URL."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the subscription. Default: a hash of its contents."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the subscriptions.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Remove a subscription.")] = None,
    wait: Wait = False,
    as_json: Json = False,
    as_csv: Csv = False,
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
    from centime.cluster.opening import check_any_folder, folders_of, settings_of
    from centime.crawl.commands.ordering import hand_over
    from centime.crawl.commands.subscribing import subscription_to
    from centime.crawl.report.subscribers import subscription_table
    from centime.shard.people.command import SubscribeCommand, UnsubscribeCommand, new_id
    from centime.shard.people.notices import Condition

    check_any_folder(folder)
    if as_csv and not listed:
        raise BadInput("--csv needs --list")
    if sum([pattern is not None, listed, remove is not None]) != 1:
        raise BadInput("give a PATTERN to subscribe to, or --list, or --remove NAME")
    if listed or remove is not None:
        with progress(1.0, f"opening {folder.name}", quiet=as_json):
            table = subscription_table(folder, folders_of(folder))
    if listed:
        if as_csv:  # one that is only requested has its facts in another order
            table = [dict.fromkeys(COLUMNS) | row for row in table]
        show({"subscriptions": table}, as_json=as_json, as_csv=as_csv, table="subscriptions", columns=COLUMNS)
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
        settings = settings_of(folder)
        subscription = subscription_to(folder, settings, pattern or "", condition, every, to, name or "")
        command = SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription)
        report = {"name": subscription.name, "every_seconds": subscription.every, "to": subscription.to}
    show(report | hand_over(folder, [command], wait=wait), as_json=as_json)


def _when(given: str | None) -> "When":
    """The changes that the subscriber wants."""
    from centime.shard.people.notices import When

    if given is not None and given not in (When.APPEARS, When.VANISHES):
        raise BadSetting(f"--when is appears or vanishes, not {given!r}")
    return When(given or "")
