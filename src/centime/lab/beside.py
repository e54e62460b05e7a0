"""Writes the truth of the webbox beside the estimates of a running crawl of it, for the window (`report/truth.py`).

A copy is fresh if the page has not changed in the box since it was last read; a redirect always is. The share of fresh
copies is weighted by true importance, the crawl's own estimate by the importance that it found.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.truth import TruePage, Truth, write_truth
from centime.lab.crawled import compare
from centime.lab.webbox.process import Served
from centime.model.outcome import Outcome

if TYPE_CHECKING:
    from centime.crawl.engine.loop import Engine

LOOK_SECONDS, LONGEST_SECONDS = 1.0, 5.0
LEISURE = 50.0  # a comparison is followed by a pause of this many times its duration, within LONGEST_SECONDS
TOP = 5
PRESENT = [outcome for outcome in Outcome if outcome.present]
REDIRECTS = [outcome for outcome in Outcome if outcome.redirect]


class TruthWriter:
    """Compares a crawl with its box again and again."""

    def __init__(self, opened: CrawlState, served: Served) -> None:
        self._opened = opened
        self._served = served
        self._next = 0.0

    def look(self, engine: "Engine", now: float) -> None:
        """Writes the truth if it is time; for `Engine.run`."""
        if now < self._next:
            return
        begun = time.perf_counter()
        write_truth(self._opened.folder.path, self.truth(now))
        self._next = now + min(LONGEST_SECONDS, max(LOOK_SECONDS, LEISURE * (time.perf_counter() - begun)))

    def truth(self, now: float) -> Truth:
        """The truth now."""
        box, shard = self._served.webbox, self._opened.shard
        here = self._served.time()
        compared = compare(self._opened, box, here)
        read = np.flatnonzero(shard.pages.records.record_at)
        heads = shard.pages.records.heads(read)
        moved = np.isin(heads["outcome"], REDIRECTS)
        found = (box.page(compared.urls[page]) for page in read.tolist())
        numbers = np.array([-1 if number is None else number for number in found], dtype=np.int64)
        had = (numbers >= 0) & (np.isin(heads["outcome"], PRESENT) | moved)
        read_at = here - box.speed * (now - heads["time"][had])
        fresh = moved[had] | (box.changed(here)[numbers[had]] <= read_at)
        weight = compared.true[read[had]]
        _, believed = shard.refreshing.fresh(now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)
        best = [TruePage(row["page"], row["estimated"], row["true"]) for row in compared.top(TOP)]
        return Truth(
            time=now,
            known=shard.pages.count,
            true_pages=box.pages,
            fresh_share=believed,
            true_fresh_share=float((weight * fresh).sum() / weight.sum()) if weight.sum() else 0.0,
            certified_error=compared.certified_error,
            true_error=compared.error,
            top=best,
        )
