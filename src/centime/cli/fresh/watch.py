"""`centime watch`: reports the changes of a few pages."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.figure import shown
from centime.cli.fresh.trouble import Trouble
from centime.cli.log import Log, LogFormat, LogLevel, log_settings, logged, note
from centime.cli.output import Json, json_text, show_lines
from centime.cli.visible import say, tell
from centime.model.errors import BadSetting, CentimeError

if TYPE_CHECKING:
    from centime.crawl.engine.loop import Engine
    from centime.warehouse.comparison import Document

EVERY = "1h"
LEAST_SECONDS = 10.0
MOST_SENTENCES = 40  # of one change
MOST_SHOWN = 1_000  # changes at a time
VOLATILE = "volatile"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("watch")(_watch)


def _watch(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Pages to watch, or files of URLs. None to resume.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="Visit each page this often. Default: 1h, or as before.")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="SELECTOR", help="Only this part counts, and all of it: css:main. Repeatable."),
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
        str, typer.Option(metavar="PORT", help="Serve the window on this machine at this port, or none.")
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
    """Watches a few pages and reports their changes.

    Keeps every version, shows the sentences that changed, and serves them as web pages. A page that cannot be read, or
    redirects, is reported once, and so are notifications that fail. A part that changes at nearly every visit is
    reported once and then ignored; --select reports every change of the part that it names. The same command continues
    after a stop, also without URLs; with more URLs it watches those too. With --json each change is one object on its
    own line.

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
    from centime.crawl.notify.delivery import read_troubles
    from centime.crawl.report.newest import visits_since
    from centime.processes.window import serving_beside
    from centime.settings.intervals import MOST
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
    if pause is not None and pause > MOST:
        raise BadSetting(f"--every is at most {MOST / 86_400:.0f}d, not {every}")
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
            subscription = subscription_to(
                folder, opened.settings, ".", Condition(), f"{pause}s", place, f"watch-{number}"
            )
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
            trouble = Trouble()

            def look(engine: "Engine", now: float) -> None:
                nonlocal seen
                visits, changes, seen = visits_since(engine.shard, seen, MOST_SHOWN)
                for change in changes:
                    _show(folder, change, as_json=as_json)
                for sentence in (*trouble.of_pages(visits), *trouble.once(window.trouble())):
                    note(sentence)
                failing = {name: one.reason for name, one in read_troubles(folder).items()}
                for sentence in trouble.of_notices(failing, engine.shard.requests.subscriptions.places()):
                    say(sentence)  # the log has it from the crawl

            crawl.run(look)


def _show(folder: Path, change: dict[str, Any], *, as_json: bool) -> None:
    """Shows a change with the sentences that differ, and a volatile part with what selects it."""
    from centime.crawl.notify.message import volatile_sentence
    from centime.warehouse.changed_places import changed_places

    pair = _documents(folder, change)
    pairs = list(_differences(*pair))[:MOST_SENTENCES] if pair is not None else []
    is_volatile = change["change"] == VOLATILE
    places = changed_places(*pair) if pair is not None and is_volatile else []
    if as_json:
        old, new = ([text for sign, text in pairs if sign == one] for one in "-+")
        more = {"places": [place._asdict() for place in places]} if is_volatile else {}
        tell(json_text(change | {"old": old, "new": new} | more))
        return
    colours = {"-": "red", "+": "green"}
    lines = [(f"{change['time']} {change['change']} {change['url']}", "bold")]
    lines += [(f"{sign} {text}", colours[sign]) for sign, text in pairs]
    show_lines(lines + [(volatile_sentence([place.select for place in places]), "yellow")] * is_volatile)


def _documents(folder: Path, change: dict[str, Any]) -> "tuple[Document, Document] | None":
    """The version before a change and the one after it; None if there are none, or are not stored."""
    from centime.crawl.report.versions import Versions

    if change["change"] not in ("changed", "back", VOLATILE):
        return None
    try:
        versions = Versions(folder, change["url"])
        old, new = map(versions.read, versions.pair(None, None))
    except (CentimeError, OSError):  # the change is reported anyway
        return None
    return old, new


def _differences(old: "Document", new: "Document") -> Iterator[tuple[str, str]]:
    from centime.warehouse.comparison import changed_sentences

    for step in changed_sentences(old, new):
        if not step.equal:
            yield from (("-", one) for one in step.old)
            yield from (("+", one) for one in step.new)
