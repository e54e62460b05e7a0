"""`centime crawl --cluster`: runs a crawl in partitions, and shows how it goes."""

from contextlib import AbstractContextManager
from pathlib import Path

from centime.cli.crawl.stopping import stopped_by_signals
from centime.cli.crawl.view import CrawlView
from centime.cli.output import show
from centime.cli.visible import say
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.merging import merged_facts
from centime.cluster.parts import parts_of


def crawl_clustered(folder: Path, run: AbstractContextManager[Coordinator], *, as_json: bool) -> None:
    """Runs a crawl in partitions until it ends, and shows what it has."""
    with run as crawl:
        with CrawlView(quiet=as_json) as view, stopped_by_signals(crawl.stop):
            ending = crawl.run(view.show)
        for note in crawl.run_facts.notes:
            say(f"{folder}: {note}")
        ended = {"ended": ending, "visits_now": crawl.run_facts.visits, "seconds": view.seconds}
        if read_about(folder).homes:  # its partitions are elsewhere: as they have said last
            facts, top = crawl.statistics(crawl.now()), crawl.top(10)
        else:
            parts = parts_of(folder)
            facts = merged_facts([reader.statistics(crawl.now()) for reader in parts.readers]) | parts.errors
            facts |= {"folder": str(folder), "partitions": len(parts.readers)}
            top = parts.top(10)["top"]
        show(facts | ended | {"top": top}, as_json=as_json)
