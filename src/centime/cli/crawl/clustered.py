"""`centime crawl --cluster`: runs a crawl in partitions, and shows its progress."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from centime.cli.crawl.stopping import stopped_by_signals
from centime.cli.crawl.view import CrawlView
from centime.cli.log import note
from centime.cli.output import show
from centime.cli.visible import say
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.report.merging import merged_facts
from centime.cluster.report.parts import parts_of
from centime.processes.window import WindowProcess


def crawl_clustered(
    folder: Path,
    run: AbstractContextManager[Coordinator],
    *,
    serving: Callable[[], AbstractContextManager[WindowProcess]],
    as_json: bool,
) -> None:
    """Runs a crawl in partitions until it ends, with its window if requested, and shows its facts."""
    with run as crawl:
        with CrawlView(quiet=as_json) as view, stopped_by_signals(crawl.stop), serving() as window:
            if window.address:
                note(f"{folder}: the window is served at {window.address}")
            troubles: set[str] = set()

            def look(now_running: Coordinator, now: float) -> None:
                trouble = window.trouble()  # called each time: it restarts a window
                if trouble and trouble not in troubles:
                    troubles.add(trouble)
                    say(f"{folder}: {trouble}")
                if now_running.has_facts:
                    view.show(now_running, now)

            ending = crawl.run(look)
        for sentence in crawl.run_facts.notes:
            say(f"{folder}: {sentence}")
        ended = {"ended": ending, "visits_now": crawl.run_facts.visits, "seconds": view.seconds}
        if read_about(folder).homes:  # its partitions are elsewhere: their last reports
            facts, top = crawl.statistics(crawl.now()), crawl.top(10)
        else:
            parts = parts_of(folder)
            facts = merged_facts([reader.statistics(crawl.now()) for reader in parts.readers]) | parts.errors
            facts |= {"folder": str(folder), "partitions": len(parts.readers)}
            top = parts.top(10)["top"]
        show(facts | ended | {"top": top}, as_json=as_json)
