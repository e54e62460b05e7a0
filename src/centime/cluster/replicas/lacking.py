"""Pages whose stored bodies were lost: a node was lost before its replica had them.

A crawl that continues from such a replica finds the file `BEHIND` in its folder, reads these pages again, and reports
how many there are. Older versions of a page that only the lost node had are lost permanently.
"""

from datetime import UTC, datetime

import numpy as np

from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.visits import are_present, last_visits
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.shard.people.command import publications
from centime.store.archives.archive import KEEP
from centime.store.archives.captures import Capture, every_capture
from centime.store.record import Mark
from centime.store.versions.database import opened_to_read
from centime.store.versions.walk import pages_of

BEHIND = ".behind"
SLACK_SECONDS = 3.0  # from the request of a visit to its record, beside its latency: slower pages are read again


def read_lacking_again(opened: CrawlWriter, now: float) -> str:
    """Queues the pages of a crawl whose bodies were lost, if a node was lost with some; returns a sentence about it."""
    mark = opened.folder.path / BEHIND
    if not mark.exists():
        return ""
    urls = _lacking(opened)
    for command in publications(urls, time=now, publisher=f"bodies lost {now:.0f}"):
        opened.shard.command(now, command)
    opened.shard.journal.sync()
    mark.unlink()
    return f"a node was lost before its replica had all stored bodies: {len(urls)} pages are read again" if urls else ""


def _lacking(opened: CrawlWriter) -> list[str]:
    """The pages that should have a stored body, and have none, or an older one than that of their last visit."""
    keep, pages = opened.settings.keep, opened.shard.pages
    if keep == "none":
        return []
    found = last_visits(pages, "kind", "marks", "time", "latency_milliseconds", "digest")
    lacks = are_present(found["kind"]) & ((found["marks"] & Mark.NOARCHIVE) == 0)
    if keep == "versions":
        with opened_to_read(opened.folder.versions) as database:
            for page in pages_of(database) if database is not None else ():
                number = pages.table.find_one(page.id % (1 << 64))
                if number is not None and found["digest"][number].tobytes() == page.digest:
                    lacks[number] = False
    else:
        lacks &= np.isin(found["kind"], list(KEEP[keep]))
        asked = found["time"] - found["latency_milliseconds"] / 1000 - SLACK_SECONDS
        for capture in every_capture(opened.folder.bodies):
            number = pages.table.find_one(fingerprint(capture.url))
            if number is not None and (capture.document or capture.revisit) and _time(capture) >= asked[number]:
                lacks[number] = False
    return [pages.texts.get(PageId(number)) for number in np.flatnonzero(lacks).tolist()]


def _time(capture: Capture) -> float:
    return datetime.strptime(capture.timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
