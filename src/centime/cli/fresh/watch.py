"""`centime watch`: tells what changes on a few pages."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.figure import shown
from centime.cli.log import Log, LogFormat, LogLevel, log_settings, logged, note
from centime.cli.output import Json, json_text, show_lines
from centime.cli.visible import say, tell
from centime.model.errors import BadSetting, CentimeError
from centime.model.outcome import Outcome

if TYPE_CHECKING:
    from centime.crawl.engine.loop import Engine

EVERY = "1h"
LEAST_SECONDS = 10.0
READABLE = {outcome.name.lower().replace("_", " ") for outcome in Outcome if outcome.present or outcome.redirect}
REFUSED = "refused address"
MOST_SENTENCES = 40  # of one change
MOST_SHOWN = 1_000  # changes at a time


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("watch")(_watch)


def _watch(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Pages to watch, or files of URLs. None to resume.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="Visit each page this often. Default: 1h, or as before.")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="SELECTOR", help="Only this part counts: css:main, xpath://article. Repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="SELECTOR", help="This part does not count: css:.ads. Repeatable.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE", help="Notify file:PATH, command:PROGRAM, apprise:URL or a URL. Repeatable."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Folder for the pages and their versions.")
    ] = Path("watched"),
    serve: Annotated[
        str, typer.Option(metavar="PORT", help="Serve the window on this machine at this port; none: do not.")
    ] = "8400",
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End after this time. Default: never.")
    ] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="Allow addresses that are not public. Repeatable.")
    ] = None,
    log: Log = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    as_json: Json = False,
) -> None:
    """Tells what changes on a few pages, for ever.

    Keeps every version, shows the sentences that changed, and serves them as web pages. A page that cannot be read is
    named once, with the reason. The same command goes on after a stop, also without URLs; with more URLs it watches
    those too. With --json each change is one object on its own line.

    Examples:

    \b
      centime watch https://museum.example/news
      centime watch https://museum.example/ https://library.example/hours --every 15m --select css:main
      centime watch https://shop.example/lamp --select 'css:.price' --to apprise:mailto://me:secret@mail.example
      centime watch https://museum.example/ --to file:changes.jsonl --serve none
      centime watch
    """
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.crawl.commands.inbox import CommandInbox
    from centime.crawl.commands.subscribing import subscription_to
    from centime.crawl.engine.fetchers import spare_fetchers
    from centime.crawl.engine.loop import Engine, Limits
    from centime.crawl.engine.opening import open_writer
    from centime.crawl.report.newest import visits_since
    from centime.processes.window import serving_beside
    from centime.settings.units import seconds
    from centime.shard.people.command import SubscribeCommand, new_id
    from centime.shard.people.notices import Condition
    from centime.store.folder import is_crawl

    if not urls and not is_crawl(folder):
        raise BadSetting(f"give the URL of a page to watch: nothing was watched in {folder} before")
    if every is None and not is_crawl(folder):
        every = EVERY
    pause = None if every is None else seconds(every)
    if pause is not None and pause < LEAST_SECONDS:
        raise BadSetting(f"pages are watched every {LEAST_SECONDS:g} seconds at most, not every {pause:g}")
    given: dict[str, Any] = {
        "scope": "page",
        "continuous": True,
        "rate": 1.0,
        "keep": "versions",
        "sitemaps": False,
        "least-interval": None if pause is None else f"{0.9 * pause}s",
        "greatest-interval": None if pause is None else f"{pause}s",
        "select": select,
        "ignore": ignore,
        "allow-network": allow_network,
    }
    given = {name: value for name, value in given.items() if value is not None}
    limits = Limits(seconds=None if duration is None else seconds(duration))
    logs = log_settings(log, log_level, log_format)
    with logged(logs), spare_fetchers(1) as spares, open_writer(folder, urls or [], given) as opened:
        inbox = CommandInbox(folder)
        pause = opened.settings.greatest_interval or seconds(EVERY)
        for number, place in enumerate(to or [], 1):
            subscription = subscription_to(folder, ".", Condition(), f"{pause}s", place, f"watch-{number}")
            inbox.put(SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription))
        crawl = Engine(opened, limits, spares=spares)
        seen = opened.shard.pages.records.end
        with stopped_by_signals(crawl.stop), serving_beside(folder, None if serve == "none" else serve, logs) as window:
            if not as_json:
                count = len(opened.settings.seeds)
                pages = "1 page" if count == 1 else f"{count} pages"
                say(f"watching {pages} every {shown('every_seconds', pause)}; Ctrl-C stops it")
            if window.address:
                say(f"what changed: {window.address}c/{folder.absolute().name}/changes")
            told: set[str] = set()
            failing: dict[str, str] = {}

            def look(engine: "Engine", now: float) -> None:
                nonlocal seen
                visits, changes, seen = visits_since(engine.shard, seen, MOST_SHOWN)
                for sentence in _failures(visits, failing):
                    note(sentence)
                for change in changes:
                    _tell(folder, change, as_json=as_json)
                trouble = window.trouble()
                if trouble and trouble not in told:
                    told.add(trouble)
                    note(trouble)

            crawl.run(look)


def _failures(visits: list[dict[str, Any]], failing: dict[str, str]) -> Iterator[str]:
    """A sentence for each page that cannot be read, the first time, and when it can be read again."""
    for visit in visits:
        url, outcome = visit["url"], visit["outcome"]
        if outcome in READABLE:
            if failing.pop(url, None):
                yield f"{url}: can be read again"
        elif failing.get(url) != outcome:
            failing[url] = outcome
            status = f" (status {visit['status']})" if visit["status"] else ""
            hint = "; --allow-network CIDR permits addresses that are not public" if outcome == REFUSED else ""
            yield f"{url}: cannot be read: {outcome}{status}{hint}; it is tried again"


def _tell(folder: Path, change: dict[str, Any], *, as_json: bool) -> None:
    """Shows a change with the sentences that differ."""
    pairs = list(_differences(folder, change))[:MOST_SENTENCES]
    if as_json:
        old, new = ([text for sign, text in pairs if sign == one] for one in "-+")
        tell(json_text(change | {"old": old, "new": new}))
        return
    colours = {"-": "red", "+": "green"}
    lines = [(f"{change['time']} {change['change']} {change['url']}", "bold")]
    show_lines(lines + [(f"{sign} {text}", colours[sign]) for sign, text in pairs])


def _differences(folder: Path, change: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from centime.crawl.report.versions import Versions
    from centime.warehouse.comparison import changed_sentences

    if change["change"] not in ("changed", "back"):
        return
    try:
        versions = Versions(folder, change["url"])
        steps = changed_sentences(*map(versions.read, versions.pair(None, None)))
    except (CentimeError, OSError):  # the versions are not there: the change is told all the same
        return
    for step in steps:
        if not step.equal:
            yield from (("-", one) for one in step.old)
            yield from (("+", one) for one in step.new)
