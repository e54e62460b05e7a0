"""`centime crawl`: starts or resumes the crawl in a folder.

Over 400 lines: one option after the other, and typer wants them in one signature.
"""

import math
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.crawl.cluster import TokenFile
from centime.cli.log import Log, LogFormat, LogLevel, is_shown, log_settings, logged, note
from centime.cli.output import Json, show
from centime.cli.visible import say
from centime.model.errors import BadInput, BadSetting, CentimeError
from centime.model.outcome import Outcome

if TYPE_CHECKING:
    from centime.crawl.engine.loop import Engine
    from centime.crawl.engine.writer import CrawlWriter
    from centime.crawl.search.indexer import Indexer

INDEX_PATIENCE_SECONDS = 2.0


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("crawl")(_crawl)


def _crawl(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with the whole state of the crawl. Created if missing.")
    ],
    seeds: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SEED]...", help="URLs, files of URLs (one per line), or sitemap:URL. None to resume."),
    ] = None,
    pages: Annotated[int | None, typer.Option(metavar="N", help="End this run after N visits.")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End this run after this time: 90s, 10m, 2h, 1d.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Fetch at most this many pages: 50/s, 3000/m. Default: none.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="RATE", help="Fetch at most this many bytes: 500KB/s, 2GB/day. Default: none.")
    ] = None,
    fill_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="With --continuous: extra pages until most are visited once: 5/s. Default: none.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPE", help="Stay on the page, host or domain of the seeds, or accept any. Default: host."
        ),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="REGEX", help="Only URLs that match. Repeatable.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="REGEX", help="No URLs that match. Repeatable.")] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Compare only this part of pages: css:main, PATTERN=css:main. Repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Ignore changes of this part: css:.ads, regex:[0-9]+ users. Repeatable."),
    ] = None,
    max_depth: Annotated[
        str | None, typer.Option(metavar="N", help="At most N links away from a seed. Default: none.")
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Least time between two requests to a host. Default: 1s; 0 only for your own servers."
        ),
    ] = None,
    address_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Least time between two requests to an IP address. Default: 0.1s; 0 on this machine.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Store bodies: none, versions, or as WARC all or xml. Default: none; versions if --continuous.",
        ),
    ] = None,
    retain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Versions to keep of a page: 100, 30d, all, PATTERN=30d. Repeatable. Default: all.",
        ),
    ] = None,
    ignore_noarchive: Annotated[
        bool | None,
        typer.Option(
            "--ignore-noarchive/--obey-noarchive",
            help="With --keep: store pages that ask not to be archived. Default: obey.",
        ),
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="Serve the window on this machine while this run lasts. Default: no."),
    ] = None,
    index: Annotated[
        bool | None,
        typer.Option(
            "--index/--no-index", help="Keep the index of stored pages up to date. Default: with --continuous."
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPES", help="Fetch such files too: pdf,css,js,png, kinds (images, fonts ...), all. Repeatable."
        ),
    ] = None,
    parts: Annotated[
        bool | None,
        typer.Option(
            "--parts/--no-parts", help="Fetch the DTDs and entities of XML documents, from any host. Default: no."
        ),
    ] = None,
    requisites: Annotated[
        bool | None,
        typer.Option(
            "--requisites/--no-requisites",
            help="Fetch what pages need to be shown, from any host: images, styles, scripts. Default: no.",
        ),
    ] = None,
    requisites_per_page: Annotated[
        int | None, typer.Option(metavar="N", help="At most N requisites of a page or style sheet. Default: 1000.")
    ] = None,
    requisites_per_host: Annotated[
        int | None, typer.Option(metavar="N", help="At most N requisites on a host. Default: 100000.")
    ] = None,
    requisite_depth: Annotated[
        int | None,
        typer.Option(metavar="N", help="Follow imports, frames and redirects of requisites N deep. Default: 8."),
    ] = None,
    most_requisite_bytes: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Read at most this much of a requisite: 50MB. Default: 20 MiB.")
    ] = None,
    focus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=WEIGHT", help="Pages whose URL matches get WEIGHT times as much money. Repeatable."
        ),
    ] = None,
    want: Annotated[
        str | None,
        typer.Option(
            metavar="KIND|PATTERN",
            help="Prefer pages of a kind (html, xml, pdf ...) or whose URL matches, and pages that lead to them.",
        ),
    ] = None,
    link_weight: Annotated[
        str | None,
        typer.Option(
            metavar="KIND=X,...",
            help="Weigh links by kind: internal, external, dynamic, template, nofollow. Default: all alike.",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Compute importance by exact, opic, interpolation or variable. Default: exact."
        ),
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(metavar="D", help="Share of its money that a page pays along its links. Default: 0.85."),
    ] = None,
    refresh_after: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Visit a page again this long after its last visit: 1d. Default: none."),
    ] = None,
    continuous: Annotated[
        bool | None,
        typer.Option(
            "--continuous/--once", help="Run until stopped, discover and refresh pages; needs a budget. Default: once."
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="RULE", help="Pages to refresh: optimal, paper or uniform. Default: optimal.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="Penalty for each change that a copy missed. Default: 0.")
    ] = None,
    beta: Annotated[float | None, typer.Option(metavar="B", help="Penalty for a stale copy. Default: 1.")] = None,
    discovery: Annotated[
        str | None,
        typer.Option(
            metavar="auto|PERCENT", help="Share of the budget for pages never visited; auto: by worth. Default: auto."
        ),
    ] = None,
    discovery_weight: Annotated[
        float | None,
        typer.Option(
            metavar="W", help="With auto: weight of a page never visited relative to a stale one. Default: 1."
        ),
    ] = None,
    least_interval: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]TIME",
            help="Least time between two visits of a page; with a pattern, of such pages. Repeatable. Default: 1h.",
        ),
    ] = None,
    greatest_interval: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]TIME",
            help="Visit a page at least this often, if the budget allows; per pattern too. Repeatable. Default: none.",
        ),
    ] = None,
    first_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Change rate assumed before a page is observed: 5/d. Default: 0.1/d."),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C", help="Largest share of visits for levels 1 to 3 of urgency. Default: 0.5,0.5,0.5."
        ),
    ] = None,
    ban: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Never fetch from this host: https://ads.example. Repeatable."),
    ] = None,
    sitemaps: Annotated[
        bool | None,
        typer.Option("--sitemaps/--no-sitemaps", help="Follow the sitemaps that robots.txt names. Default: follow."),
    ] = None,
    cookies: Annotated[
        bool | None,
        typer.Option(
            "--cookies/--no-cookies", help="Send each host the cookies that it sets. Default: within redirects only."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of fetcher processes. Default: one per core.")
    ] = None,
    user_agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who you are, with a way to reach you.")
    ] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Addresses that are not public and may be contacted. Repeatable."),
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ADDRESS", help="Address of a name or *.name, without DNS. Repeatable."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="[HOST=]NAME: VALUE", help="Send this header, to all hosts or to one. Repeatable."),
    ] = None,
    auth: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST=USER:PASSWORD", help="Log in to this host (basic authentication). Repeatable."),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fetch through an HTTP proxy; direct: none. Default: HTTP_PROXY."),
    ] = None,
    ca_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Trust the certificates in this file as well (PEM).")
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure/--secure", help="Do not verify certificates. Default: verify.")
    ] = None,
    pages_per_host: Annotated[
        int | None, typer.Option(metavar="N", help="Know at most N pages of a host. Default: 1000000.")
    ] = None,
    most_pages: Annotated[
        str | None,
        typer.Option(metavar="N", help="Know at most N pages. Default: what fits into --most-memory."),
    ] = None,
    most_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of all processes: 4GB. Default: half of the machine's memory."),
    ] = None,
    longest_url: Annotated[
        str | None, typer.Option(metavar="N", help="Refuse URLs of more than N characters. Default: 2048.")
    ] = None,
    refuse_suffix: Annotated[
        list[str] | None, typer.Option(metavar="SUFFIX", help="Refuse paths that end in .SUFFIX. Repeatable.")
    ] = None,
    follow_nofollow: Annotated[
        bool | None,
        typer.Option("--follow-nofollow/--obey-nofollow", help="Follow links marked nofollow. Default: obey."),
    ] = None,
    traps: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Suspicious URLs: evidence (read a few, then decide), shape (refuse) or off. Default: evidence.",
        ),
    ] = None,
    most_segments: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect paths of more than N segments. Default: 20.")
    ] = None,
    longest_segment: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect segments of more than N characters. Default: 255.")
    ] = None,
    repeated_segments: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect paths with a part N times in a row. Default: 3.")
    ] = None,
    most_parameters: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect queries of more than N parameters. Default: 12.")
    ] = None,
    repeated_parameters: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect queries with a parameter more than N times. Default: 3.")
    ] = None,
    years_off: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect dates more than N years from now. Default: 30.")
    ] = None,
    queries_per_path: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect more than N queries of one path. Default: 1000.")
    ] = None,
    dates_per_path: Annotated[
        str | None, typer.Option(metavar="N", help="Suspect more than N dates below one path. Default: 600.")
    ] = None,
    most_page_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Read at most N bytes of a page. Default: 10 MiB.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest time for one page. Default: 120s.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="local:N|ADDRESS:PORT",
            help="Crawl in partitions, run by N nodes on this machine or by the nodes of a head (see centime cluster)."
            " Default: as the last run.",
        ),
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(metavar="N", help="With --cluster: divide the crawl into N partitions. Default: 16.")
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(metavar="0|1", help="With --cluster: nodes that keep a copy of each partition. Default: 0."),
    ] = None,
    token_file: TokenFile = None,
    log: Log = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Read settings from this file; they are named like these options."),
    ] = None,
    trust_folder: Annotated[
        bool,
        typer.Option("--trust-folder", help="Let subscriptions of a copied folder run programs and write files."),
    ] = False,
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
      centime crawl news --continuous --rate 20000/d --fill-rate 5/s
      centime crawl feeds seeds.txt --scope any --want xml
      centime crawl web seeds.txt --scope any --cluster local:4
      centime crawl box http://site0.localhost:8800/ --allow-network 127.0.0.0/8 --scope any --delay 0.1
    """
    from centime.cluster.folder import is_cluster, refuse_headless
    from centime.cluster.opening import refuse_part
    from centime.crawl.engine import loop as engine
    from centime.crawl.engine.fetchers import spare_fetchers
    from centime.crawl.engine.opening import open_writer
    from centime.discover.suffixes import KINDS, unlisted
    from centime.processes.window import serving_beside
    from centime.settings.reading import NONE, read_config
    from centime.settings.secrets import proxies_in_words

    given: dict[str, Any] = {
        "rate": rate,
        "bandwidth": bandwidth,
        "fill-rate": fill_rate,
        "scope": scope,
        "include": include,
        "exclude": exclude,
        "select": select,
        "ignore": ignore,
        "max-depth": _whole(max_depth),
        "delay": delay,
        "address-delay": address_delay,
        "keep": keep,
        "retain": retain,
        "ignore-noarchive": ignore_noarchive,
        "index": index,
        "also": also,
        "parts": parts,
        "requisites": requisites,
        "requisites-per-page": requisites_per_page,
        "requisites-per-host": requisites_per_host,
        "requisite-depth": requisite_depth,
        "most-requisite-bytes": most_requisite_bytes,
        "focus": focus,
        "want": want,
        "link-weight": link_weight,
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
        "greatest-interval": greatest_interval,
        "first-rate": first_rate,
        "shares": shares,
        "ban": ban,
        "sitemaps": sitemaps,
        "cookies": cookies,
        "workers": workers,
        "user-agent": user_agent,
        "allow-network": allow_network,
        "resolve": resolve,
        "header": header,
        "auth": auth,
        "proxy": proxy,
        "ca-file": ca_file if ca_file in (None, NONE) else str(Path(ca_file).resolve()),
        "insecure": insecure,
        "pages-per-host": pages_per_host,
        "most-pages": _whole(most_pages),
        "most-memory": most_memory,
        "longest-url": _whole(longest_url),
        "refuse-suffix": refuse_suffix,
        "follow-nofollow": follow_nofollow,
        "traps": traps,
        "most-segments": _whole(most_segments),
        "longest-segment": _whole(longest_segment),
        "repeated-segments": _whole(repeated_segments),
        "most-parameters": _whole(most_parameters),
        "repeated-parameters": _whole(repeated_parameters),
        "years-off": _whole(years_off),
        "queries-per-path": _whole(queries_per_path),
        "dates-per-path": _whole(dates_per_path),
        "most-page-bytes": most_page_bytes,
        "timeout": timeout,
    }
    given = {name: NONE if value == [NONE] else value for name, value in given.items() if value not in (None, [])}
    run: dict[str, Any] = {"pages": pages, "for": duration, "serve": serve, "log": log}
    run |= {"log-level": log_level, "log-format": log_format}
    words = list(seeds or [])
    if config is not None:
        found = {name.replace("_", "-"): value for name, value in read_config(config).items()}
        more = _seeds(found.pop("seeds", []), config)
        words = words or more
        for name in run:
            value = found.pop(name, None)
            run[name] = value if run[name] is None else run[name]
        for name, value in found.items():
            given.setdefault(name, value)
    limits = engine.Limits(pages=_pages(run["pages"]), seconds=_duration(run["for"]))
    logs = log_settings(*(_word(run[name], name) for name in ("log", "log-level", "log-format")))
    where = "options" if config is None else str(config)
    refuse_headless(folder)
    refuse_part(folder)
    if any(one is not None for one in (cluster, partitions, replicas)) or is_cluster(folder):
        from centime.cli.crawl.clustered import crawl_clustered
        from centime.cluster.beginning import cluster_run

        with logged(logs):
            crawl_clustered(
                folder,
                cluster_run(
                    folder,
                    words,
                    given,
                    limits,
                    cluster=cluster,
                    partitions=partitions,
                    replicas=replicas,
                    token_file=token_file,
                    where=where,
                    trust=trust_folder,
                ),
                serving=partial(serving_beside, folder, _word(run["serve"], "serve"), logs),
                as_json=as_json,
            )
        return
    with (
        logged(logs),
        spare_fetchers(workers) as spares,
        open_writer(folder, words, given, where=where, trust=trust_folder) as opened,
    ):
        from centime.cli.crawl.stopping import stopped_by_signals
        from centime.cli.crawl.view import CrawlView
        from centime.crawl.report.statistics import ended_in_words, refused_counts
        from centime.crawl.report.visits import last_visits
        from centime.crawl.search.indexer import indexing

        crawl = engine.Engine(opened, limits, spares=spares)
        if opened.upgraded:
            note(f"{folder}: upgraded to the newest format: {'; '.join(opened.upgraded)}")
        if opened.let_in:
            note(f"{folder}: the new options let in {opened.let_in} URLs that were refused before")
        if opened.said_of_clock:
            note(opened.said_of_clock)
        for one in opened.notes:
            note(f"{folder}: {one}; --trust-folder is needed again in the next run")
        if given.get("continuous") and opened.settings.keep == "none":
            note(
                f"{folder}: no copies are kept, only what was learned about pages; --keep versions or --keep all"
                f" stores copies"
            )
        begins_index = (
            opened.settings.index is None and opened.settings.keeps_index() and not opened.folder.index.exists()
        )
        if begins_index and opened.shard.read_count:
            note(
                f"{folder}: it keeps an index of its pages from now on, because it is continuous; --no-index"
                f" turns this off"
            )
        if given.get("also") and (others := unlisted(opened.settings.also)):
            note(
                f"{folder}: --also: treated as suffixes of files, which pages may have: {', '.join(others)}; kinds of "
                f"files are {', '.join(KINDS)}"
            )
        if through := proxies_in_words(crawl.fetching):
            note(f"{folder}: requests go through the proxy {through}, which resolves names: see SECURITY.md")
        if crawl.fetching.insecure:
            note(f"{folder}: certificates are not verified (--insecure)")
        said = _say_what_is_held_back(opened)
        troubles: set[str] = set()
        with (
            CrawlView(quiet=as_json or not is_shown(logs)) as view,
            stopped_by_signals(crawl.stop),
            indexing(folder, opened.settings, crawl.is_hurried) as indexer,
            serving_beside(folder, _word(run["serve"], "serve"), logs) as window,
        ):
            if window.address:
                note(f"{folder}: the window is served at {window.address}")

            def look(engine: "Engine", now: float) -> None:
                view.show(engine, now)
                unserved = window.trouble()  # called each time: it restarts a window
                _say_once(folder, indexer.trouble() or unserved, troubles)

            ending = crawl.run(look)
            waiting = _say_that_the_index_is_awaited(folder, indexer)
        waiting.cancel()
        _say_once(folder, indexer.trouble(), troubles)
        for one in crawl.run_facts.notes:  # the log has them already
            say(f"{folder}: {one}")
        if not said:  # a subscription may have come meanwhile
            _say_what_is_held_back(opened)
        refused = refused_counts(opened, last_visits(opened.shard.pages, "outcome", "visits"))
        facts = (
            opened.statistics(crawl.now())
            | refused
            | {
                "ended": ended_in_words(ending, opened),
                "visits_now": crawl.run_facts.visits,
                "seconds": view.seconds,
            }
        )
        show(facts | {"top": opened.top(10)}, as_json=as_json)
        trouble = _trouble(crawl)
        if trouble and ending != engine.STOPPED:
            raise CentimeError(trouble)
        if trouble:
            note(f"{folder}: {trouble}")


def _say_once(folder: Path, trouble: str, said: set[str]) -> None:
    """Reports a problem of the index, the first time."""
    if trouble and not said:
        said.add(trouble)
        note(f"{folder}: {trouble}")


def _say_that_the_index_is_awaited(folder: Path, indexer: "Indexer") -> Timer:
    """Prints after a moment what the command waits for; cancel it when the wait is over."""
    what = f"{folder}: updating the index; Ctrl-C leaves this to centime index {folder}"
    timer = Timer(INDEX_PATIENCE_SECONDS, note, [what])
    timer.daemon = True
    if indexer.process is not None:
        timer.start()
    return timer


def _trouble(crawl: "Engine") -> str:
    """Why the crawl has never read a page, in words; empty if it has, or if it has not visited any."""
    outcomes = +crawl.shard.outcomes
    if crawl.shard.ever_read or not outcomes:
        return ""
    if outcomes.keys() == {Outcome.REFUSED_ADDRESS}:
        return "no seed has a public address, so nothing was fetched; --allow-network CIDR permits other addresses"
    return f"no page could be read: {crawl.first_seed()}"


def _say_what_is_held_back(opened: "CrawlWriter") -> bool:
    """Names the subscriptions that are skipped because the folder is foreign; returns whether there are any."""
    if not opened.held_back:
        return False
    note(
        f"{opened.folder.path}: this folder counts as foreign: {opened.folder.foreign}; its subscriptions "
        f"{', '.join(opened.held_back)} would run programs or write files here, and are skipped; --trust-folder"
        f" allows them"
    )
    return True


def _word(value: object, name: str) -> str | None:
    """A string from the options or from a file of settings; a port may be a number there."""
    if not isinstance(value, str | int | Path | None) or isinstance(value, bool):
        raise BadSetting(f"{name} is a word, not {value!r}")
    return None if value is None else str(value)


def _seeds(value: object, config: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise BadInput(f"{config}: seeds is a list of words, not {value!r}")
    return value


def _pages(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < math.inf or value % 1:
        raise BadSetting(f"pages is a whole number from 1 on, not {value!r}")
    return int(value)


def _duration(value: Any) -> float | None:
    from centime.settings.units import seconds

    try:
        return None if value is None else seconds(value)
    except BadSetting as error:
        raise BadSetting(f"for: {error}") from None


def _whole(text: str | None) -> str | int | None:
    """The whole number that a word is; the word itself if it is not one."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return text
