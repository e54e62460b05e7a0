"""A crawl prefers the pages in its focus, with every ledger."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from centime.settings.crawl import LedgerKind
from tests.crawl.world import World, crawl

READ = 60


def leant(path: Path, ledger: LedgerKind, focus: list[str]) -> tuple[int, float]:
    """How many of the first pages read end in 0 or 5, and how much more important than others such pages are."""
    world, now = World(400), 1000.0
    order: list[str] = []
    with crawl(path, ledger=ledger, focus=focus, delay=0.0) as opened:
        while len(order) < READ:
            leases = opened.shard.lease(now, 2)
            order += [lease.url for lease in leases]
            opened.shard.record(now, [world.visit(lease, now) for lease in leases])
            now += 1.0
        urls = opened.shard.pages.texts.get_many(np.arange(opened.shard.pages.count))
        chosen = np.array([url[-1] in "05" for url in urls])
        importance = opened.shard.ledger.importance()
        return sum(url[-1] in "05" for url in order), float(importance[chosen].mean() / importance[~chosen].mean())


@pytest.mark.parametrize("ledger", get_args(LedgerKind))
def test_pages_in_focus_are_read_sooner_and_hold_more(ledger: LedgerKind, tmp_path: Path) -> None:
    plain, focused = leant(tmp_path / "plain", ledger, []), leant(tmp_path / "focused", ledger, ["[05]$=10"])
    assert focused[0] > 2 * plain[0]
    assert focused[1] > 2 * plain[1]
