"""`centime demo`: crawls a simulated web and compares the result with the truth. Nothing leaves this machine."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from centime.cli.output import Json, show
from centime.cli.visible import tell
from centime.model.errors import BadInput, BadSetting

HOSTS = 20
FRESH_HOSTS, FRESH_PAGES, FRESH_RATE, SPEED = 6, 300, 20.0, 8_640.0  # of the web that is kept fresh
PORT = "8400"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("demo")(_demo)


def _demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the crawl and the picture.")] = Path("demo"),
    pages: Annotated[int, typer.Option(metavar="N", help="Pages of the simulated web.")] = 4000,
    serve: Annotated[
        bool,
        typer.Option("--serve/--no-serve", help="At a terminal: then serve the window of a crawl that is kept fresh."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Crawls a simulated web and compares it with the truth.

    The web is served on this machine; no network is needed. Writes the crawl and a picture. At a terminal it then keeps
    a second crawl fresh, of a small web on which a day passes in ten seconds, and serves the window until Ctrl-C.

    Examples:

    \b
      centime demo
      centime demo --pages 20000 --out big
      centime demo --no-serve
    """
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.cli.crawl.view import CrawlView
    from centime.crawl.engine.fetchers import spare_fetchers
    from centime.crawl.engine.loop import Engine, Limits
    from centime.crawl.engine.opening import open_writer
    from centime.lab.crawled import compare, draw
    from centime.lab.webbox import WebBox, serve_in_process
    from centime.store.folder import is_crawl

    if not HOSTS <= pages <= 1_000_000:
        raise BadSetting(f"the number of pages must be {HOSTS} to 1000000, not {pages}")
    folder = out / "crawl"
    if folder.exists():
        if not is_crawl(folder):
            raise BadInput(f"{folder}: the folder exists and is not a crawl; choose another one with --out")
        shutil.rmtree(folder)
    out.mkdir(parents=True, exist_ok=True)
    box = WebBox(hosts=HOSTS, pages=pages, traps=False, feeds=False, crawl_delay_seconds=0.0)
    given = {"scope": "any", "delay": 0.0, "allow-network": ["127.0.0.0/8"], "sitemaps": False}
    with (
        spare_fetchers() as spares,
        serve_in_process(box) as served,
        open_writer(folder, [served.seed_url], given) as opened,
    ):
        crawl = Engine(opened, Limits(), spares=spares)
        with CrawlView(quiet=as_json) as view, stopped_by_signals(crawl.stop):
            ending = crawl.run(view.show)
        compared = compare(opened, served.webbox, served.time())
        visits = crawl.run_facts.visits
    picture = out / "crawl.png"
    picture.write_bytes(draw(compared))
    facts = {
        "ended": ending,
        "visits": visits,
        "seconds": view.seconds,
        "pages_per_second": visits / view.seconds,
        "certified_error": compared.certified_error,
        "distance_from_truth": compared.error,
        "picture": str(picture),
        "top": compared.top(10),
    }
    show(facts, as_json=as_json)
    if not as_json:
        program = "centime" if shutil.which("centime") else sys.argv[0]
        tell(
            f"\nThe picture: {picture}. What to type next:\n"
            f"    {program} top {folder}\n"
            f"    {program} page {folder} {compared.top(1)[0]['page']}\n"
            f"    {program} check {folder}\n"
            f"    {program} crawl my-crawl https://example.org/ --for 10m"
        )
        if serve and sys.stdout.isatty():
            _keep_fresh(out / "fresh")


def _keep_fresh(folder: Path) -> None:
    """Keeps a small web with a fast clock fresh, and serves the window, until a signal."""
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.crawl.engine.loop import Engine, Limits
    from centime.crawl.engine.opening import open_writer
    from centime.crawl.search.indexer import indexing
    from centime.lab.beside import TruthWriter
    from centime.lab.webbox import WebBox, serve_in_process
    from centime.processes.window import serving_beside

    if folder.exists():
        shutil.rmtree(folder)
    box = WebBox(hosts=FRESH_HOSTS, pages=FRESH_PAGES, traps=False, feeds=False, crawl_delay_seconds=0.0, speed=SPEED)
    given = {
        "scope": "any",
        "delay": 0.0,
        "allow-network": ["127.0.0.0/8"],
        "sitemaps": False,
        "continuous": True,
        "rate": FRESH_RATE,
        "least-interval": "1s",
        "keep": "versions",
        "index": True,
    }
    with serve_in_process(box) as served, open_writer(folder, [served.seed_url], given) as opened:
        crawl = Engine(opened, Limits())
        with (
            stopped_by_signals(crawl.stop),
            indexing(folder, opened.settings, crawl.is_hurried),
            serving_beside(folder, PORT) as window,
        ):
            if window.trouble():
                tell(f"\n{window.trouble()}; centime serve {folder} --listen PORT serves it at another port")
                return
            tell(
                f"\nA second web is kept fresh now; a day passes on it in {86_400 / SPEED:.0f} seconds. Look at it:\n"
                f"    {window.address}\n"
                "Live figures beside the truth are on the overview, differences under Changes,\n"
                "the slider for the budget under Plan. Ctrl-C stops it."
            )
            crawl.run(TruthWriter(opened, served).look)
