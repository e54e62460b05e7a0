"""`centime import`: imports data of other programs into a crawl."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from centime.cli.ending import PROBLEM
from centime.cli.output import Json, show
from centime.cli.progress import progress
from centime.cli.visible import say


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("import")(_import)


def _import(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the crawl, which must not be running.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files to import; a folder is a mirror.")],
    form: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="warc, wat, wacz, cdx, parquet, webgraph, heritrix, wget, jsonl or sitemap. Default: by content.",
        ),
    ] = "",
    keep: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="Store bodies in the crawl: all, xml or versions. Default: none; they stay in the file.",
        ),
    ] = "none",
    seed: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Start a crawl with this seed, if DIR has none. Repeatable."),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(metavar="SCOPE", help="Scope of a new crawl: page, host, domain or any. Default: host."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Imports visits from archives, indexes, logs and graphs.

    Each visit in a file is recorded with its original time: the crawl learns from it how often pages change, and from
    its links how important they are. Reads WARC, WACZ and WAT files, CDXJ and CDX indexes, the columnar index and the
    web graph of Common Crawl, crawl logs of Heritrix, mirrors of wget, JSON lines of Scrapy, and sitemaps. Pages
    outside the scope of the crawl are left out. Ctrl-C stops; the same command continues. Nothing is imported twice.
    Damaged parts are reported and the rest is imported; the exit code is then 1.

    Examples:

    \b
      centime import museum crawl.warc.gz --keep versions
      centime import museum segment.warc.wat.gz
      centime import museum index.cdxj heritrix/crawl.log mirror/
      centime import museum vertices.txt.gz edges.txt.gz
      centime import new items.jsonl --seed https://museum.example/
    """
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.crawl.engine.opening import open_writer
    from centime.crawl.imports.detecting import formats_of
    from centime.crawl.imports.importing import importing
    from centime.settings.reading import settings_from

    started = perf_counter()
    kept = settings_from({"keep": keep}, where="options").keep
    given: dict[str, Any] = {} if scope is None else {"scope": scope}
    formats_of(files, form)  # before a crawl is started with files that cannot be imported
    with open_writer(folder, seed or (), given) as opened:
        before = opened.shard.pages.count
        with importing(opened, keep=kept) as importer:
            sources = importer.sources(files, form)
            with (
                progress(sum(source.size for source in sources), "importing", quiet=as_json) as step,
                stopped_by_signals(importer.stop),
            ):
                report = importer.run(sources, lambda done, what: step(done, f"importing {Path(what).name}"))
        new = opened.shard.pages.count - before
    for trouble in report.troubles:
        say(f"centime: {trouble}")
    if report.trouble_count > len(report.troubles):
        say(f"centime: and {report.trouble_count - len(report.troubles)} more")
    facts = report.facts()
    if not as_json:
        facts.pop("troubles")
    show({**facts, "new_pages": new, "time_seconds": round(perf_counter() - started, 3)}, as_json=as_json)
    if report.trouble_count:
        raise typer.Exit(PROBLEM)
