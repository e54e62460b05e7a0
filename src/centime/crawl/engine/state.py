"""A crawl as reports see it: its folder, its settings and the state of its shard, from a reader or from the writer."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.ledger.accounts import PROXY
from centime.model.outcome import Outcome
from centime.model.row_batch import Pages, RowBatch
from centime.settings.crawl import CrawlSettings
from centime.shard.state import ShardState
from centime.store.folder import CrawlFolder

GOOD = frozenset({Outcome.READ, Outcome.UNCHANGED, Outcome.MOVED, Outcome.MOVED_TEMPORARILY})


class CrawlState:
    """The state of a crawl, for reading."""

    folded = 0  # frames replayed since the snapshot

    def __init__(self, folder: CrawlFolder, shard: ShardState, *, damaged: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.shard = shard
        self.damaged = damaged  # one sentence for each damaged snapshot that was passed over

    @property
    def settings(self) -> CrawlSettings:
        """The settings that the crawl runs with."""
        return self.shard.settings

    def statistics(self, now: float) -> dict[str, Any]:
        """The figures of the crawl, for people and programs."""
        shard = self.shard
        fresh, _ = shard.refreshing.fresh(now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)
        counts = {outcome: shard.outcomes[outcome] for outcome in Outcome if shard.outcomes[outcome]}
        return {
            "folder": str(self.folder.path),
            "known": shard.pages.count,
            "read": shard.read_count,
            "fresh": round(fresh),
            "visits": sum(shard.outcomes.values()),
            "hosts": len(shard.hosts),
            "links": shard.ledger.links,
            "wire_bytes": shard.wire_bytes,
            "outcomes": {outcome.name.lower(): count for outcome, count in counts.items()},
            "errors": {outcome.name.lower(): count for outcome, count in counts.items() if outcome not in GOOD},
            "frontier": len(shard.placement.frontier),
            **({"filling": shard.is_filling} if shard.settings.fill_rate is not None else {}),
            "leased": len(shard.placement.leases),
            "retry": len(shard.placement.retries),
            "ledger": shard.settings.ledger,
            "certified_error": shard.ledger.error(),
            **shard.bounds.facts(shard.pages.count),
            **shard.refusals.facts(),
        }

    def top(self, count: int) -> list[dict[str, Any]]:
        """The most important pages."""
        if not self.shard.pages.count:
            return []
        importance = self.shard.ledger.importance()
        unranked = self.shard.requisites.every()
        importance[unranked] = -1.0
        best = np.argsort(-importance, kind="stable")[: min(count, len(importance) - len(unranked))]
        return [
            {"importance": float(importance[page]), "url": url}
            for page, url in zip(best.tolist(), self.shard.pages.texts.get_many(best), strict=True)
        ]


def row_batches(shard: ShardState, batch: int = 65_536) -> Iterator[tuple[Pages, RowBatch]]:
    """All link rows, a batch of pages at a time, with their shares; links of a partition to others lead to proxies."""
    for begin in range(0, shard.pages.count, batch):
        pages = np.arange(begin, min(begin + batch, shard.pages.count), dtype=np.int64)
        yield pages, shard.pages.rows.gather(pages)


def rows_of(
    shard: ShardState, batch: int = 65_536, *, remote: bool = False
) -> Iterator[tuple[Pages, npt.NDArray[np.int64], npt.NDArray[np.int32]]]:
    """All link rows, a batch of pages at a time: the pages, the number of links of each, and their targets. Those of a
    partition leave out links to other partitions unless `remote`, and then lead to proxies.
    """
    for pages, rows in row_batches(shard, batch):
        lengths, targets = rows.lengths, rows.links()
        if shard.transfers is not None and not remote:
            own = targets < PROXY
            lengths = np.bincount(np.repeat(np.arange(len(pages)), lengths)[own], minlength=len(pages))
            targets = targets[own]
        yield pages, lengths, targets
