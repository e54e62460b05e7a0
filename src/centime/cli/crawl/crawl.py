"""`centime crawl`: starts, or goes on with, the crawl in a folder."""

import math
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from centime.cli.output import Json, show
from centime.model.errors import BadInput, BadSetting, CentimeError


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("crawl")(_crawl)


def _crawl(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The crawl's folder: all of its state. It is made if it is not there.")
    ],
    seeds: Annotated[
        list[str] | None,
        typer.Argument(metavar="SEED", help="URLs, files of URLs (one a line), or sitemap:URL. None to go on."),
    ] = None,
    pages: Annotated[int | None, typer.Option(metavar="N", help="End this run after N visits.")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End this run after a time: 90s, 10m, 2h, 1d.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="At most so many pages: 50/s, 3000/m. Default: none.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="RATE", help="At most so many bytes: 500KB/s, 2GB/day. Default: none.")
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(metavar="SCOPE", help="Stay on the seeds' own page, host or domain, or take any. Default: host."),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="REGEX", help="Only URLs in which this is found.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="REGEX", help="No URLs in which this is found.")] = None,
    max_depth: Annotated[
        str | None, typer.Option(metavar="N", help="At most N links away from a seed. Default: none.")
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Between two requests to a host, at least. Default: 1 s; 0 is for your own servers."
        ),
    ] = None,
    address_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Between two requests to an address, whatever the hosts. Default: 0.1 s, on this machine 0.",
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Bodies to keep as WARC: none, xml or all. Default: none.")
    ] = None,
    focus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=WEIGHT", help="Pages whose URL has this get WEIGHT times the virtual page's money."
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="How importance is found: exact, opic, interpolation or variable. Default: exact."
        ),
    ] = None,
    damping: Annotated[
        float | None, typer.Option(metavar="D", help="The share of its money that a page pays along its links.")
    ] = None,
    refresh_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Read a page again so long after it was read: 1d. Default: none.")
    ] = None,
    continuous: Annotated[
        bool | None,
        typer.Option(
            "--continuous/--once", help="Go on for ever: discover, and read again what is worth it. Needs a budget."
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="RULE", help="What is read again: optimal, paper or uniform.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(metavar="A", help="Penalty for the age of a copy. Default: 0.")] = None,
    beta: Annotated[
        float | None, typer.Option(metavar="B", help="Penalty for a copy that is stale. Default: 1.")
    ] = None,
    discovery: Annotated[
        str | None,
        typer.Option(metavar="auto|PERCENT", help="The budget's share for unread pages; auto: as they are worth."),
    ] = None,
    discovery_weight: Annotated[
        float | None,
        typer.Option(metavar="W", help="What an unread page counts beside a stale one, with auto. Default: 1."),
    ] = None,
    least_interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Between two reads of a page, at least. Default: 1h.")
    ] = None,
    first_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="How often a page changes, before anything was seen: 5/d. Default: 0.1/d."),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C", help="Of the choices that reach them: what levels 1 to 3 may take. Default: 0.5,0.5,0.5."
        ),
    ] = None,
    ban: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A host that is not asked: https://ads.example.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Fetcher processes. Default: one for each core.")
    ] = None,
    user_agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who you are; put in a way to reach you.")
    ] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Addresses that are not public and may be asked all the same."),
    ] = None,
    resolve: Annotated[
        list[str] | None, typer.Option(metavar="NAME=ADDRESS", help="The address of a name or *.name, without DNS.")
    ] = None,
    pages_per_host: Annotated[
        int | None, typer.Option(metavar="N", help="Know at most N pages of a host. Default: 1000000.")
    ] = None,
    most_page_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Read at most N bytes of a page. Default: 10 MiB.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give a page at most so long. Default: 120 s.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Settings by the names of these options.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Starts or resumes a crawl, most important page first.

    Ctrl-C stops the crawl cleanly; the same command resumes it. DIR remembers the options. The value none resets a
    limit, a refresh time or a list.

    Examples:

    \b
      centime crawl museum https://museum.example/ --keep all
      centime crawl museum --for 2h --bandwidth 2GB/day
      centime crawl news seeds.txt sitemap:https://news.example/sitemap.xml --scope domain --focus /politics/=4
      centime crawl news --continuous --rate 20000/d
      centime crawl box http://site0.localhost:8800/ --allow-network 127.0.0.0/8 --scope any --delay 0.1
    """
    from centime.crawl.engine import loop as engine
    from centime.crawl.engine.opening import open_writer
    from centime.settings.reading import NONE, read_config

    given: dict[str, Any] = {
        "rate": rate,
        "bandwidth": bandwidth,
        "scope": scope,
        "include": include,
        "exclude": exclude,
        "max-depth": _whole(max_depth),
        "delay": delay,
        "address-delay": address_delay,
        "keep": keep,
        "focus": focus,
        "ledger": ledger,
        "damping": damping,
        "refresh-after": refresh_after,
        "continuous": continuous,
        "policy": policy,
        "alpha": alpha,
        "beta": beta,
        "discovery": discovery,
        "discovery-weight": discovery_weight,
        "least-interval": least_interval,
        "first-rate": first_rate,
        "shares": shares,
        "ban": ban,
        "workers": workers,
        "user-agent": user_agent,
        "allow-network": allow_network,
        "resolve": resolve,
        "pages-per-host": pages_per_host,
        "most-page-bytes": most_page_bytes,
        "timeout": timeout,
    }
    given = {name: NONE if value == [NONE] else value for name, value in given.items() if value not in (None, [])}
    run: dict[str, Any] = {"pages": pages, "for": duration}
    words = list(seeds or [])
    if config is not None:
        found = read_config(config)
        more = _seeds(found.pop("seeds", []), config)
        words = words or more
        for name in run:
            value = found.pop(name, None)
            run[name] = value if run[name] is None else run[name]
        for name, value in found.items():
            given.setdefault(name.replace("_", "-"), value)
    limits = engine.Limits(pages=_pages(run["pages"]), seconds=_duration(run["for"]))
    where = "options" if config is None else str(config)
    with open_writer(folder, words, given, where=where) as opened:
        from centime.cli.crawl.stopping import stopped_by_signals
        from centime.cli.crawl.view import CrawlView

        crawl = engine.Engine(opened, limits)
        if opened.upgraded:
            typer.echo(f"{folder}: upgraded to the newest format: {'; '.join(opened.upgraded)}", err=True)
        with CrawlView(quiet=as_json) as view, stopped_by_signals(crawl.stop):
            ending = crawl.run(view.show)
        facts = opened.statistics(time.time()) | {
            "ended": ending,
            "visits_now": crawl.run_facts.visits,
            "seconds": view.seconds,
        }
        show(facts | {"top": opened.top(10)}, as_json=as_json)
        if facts["outcomes"].keys() == {"refused_address"}:
            raise CentimeError(
                "no seed has a public address, so nothing was asked; --allow-network CIDR lets others be asked"
            )


def _seeds(value: object, config: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise BadInput(f"{config}: seeds is a list of words, not {value!r}")
    return value


def _pages(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < math.inf or value % 1:
        raise BadSetting(f"pages is a whole number, of one page or more, not {value!r}")
    return int(value)


def _duration(value: Any) -> float | None:
    from centime.settings.units import seconds

    try:
        return None if value is None else seconds(value)
    except BadSetting as error:
        raise BadSetting(f"for: {error}") from None


def _whole(text: str | None) -> str | int | None:
    """The number that an option gives, or the word that it gives instead."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return text
