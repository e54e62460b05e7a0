"""Least and greatest intervals by pattern, in a continuous crawl."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.page import about_page
from centime.settings.live import Value
from centime.shard.people.command import SetCommand, new_id
from tests.crawl.changing import DAY, FOREVER, HOUR, START, ChangingWorld, live
from tests.crawl.world import crawl, url_of
from tests.shard.test_shard import same


def gaps(world: ChangingWorld, page: int, after: float = 0.0) -> list[float]:
    times = [now for now, number in world.read if number == page and now > after]
    return [later - sooner for sooner, later in pairwise(times)]


@pytest.mark.long
def test_each_page_keeps_its_own_least_interval_and_the_budget_is_spent_on_others(tmp_path: Path) -> None:
    world = ChangingWorld(pages=20, period=HOUR / 4)
    given = FOREVER | {"rate": 0.01, "least_interval": ["1h", "p3$=6h", "p[45]$=2m"]}
    with crawl(tmp_path / "c", **given) as opened:
        live(opened, world, START + 1.25 * DAY)
        assert min(gaps(world, 3)) >= 6 * HOUR - 2.0
        assert np.median(gaps(world, 3)) < 7 * HOUR, "it is due as soon as its interval is over"
        assert min(gap for page in range(20) if page not in (3, 4, 5) for gap in gaps(world, page)) >= HOUR - 2.0
        assert np.median(gaps(world, 4) + gaps(world, 5)) < HOUR / 2
        facts = about_page(opened, url_of(3), now=START + 1.25 * DAY)
        assert facts["due"] != "now"
        assert len(world.read) / (1.25 * DAY) > 0.7 * 0.01
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


@pytest.mark.long
def test_a_page_is_read_by_its_greatest_interval_although_it_never_changes(tmp_path: Path) -> None:
    world = ChangingWorld(pages=20, period=HOUR)
    for page in (2, 3):
        world.changes[page] = np.array([START + 1000 * DAY])
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.002, "greatest_interval": ["p2$=3h"]}) as opened:
        now = live(opened, world, START + 2.5 * DAY, step=400.0)
        late = START + 1.5 * DAY
        assert max(gaps(world, 2, late)) < 3.5 * HOUR
        others = np.concatenate([gaps(world, page, late) for page in range(20) if page != 2])
        assert others.max() > 4 * HOUR
        values: dict[str, Value] = {"greatest-intervals": ["p2$=none", "p3$=2h"]}
        opened.shard.command(now, SetCommand(id=new_id(), time=now, values=values))
        live(opened, world, START + 4 * DAY, start=now, step=400.0)
        assert max(gaps(world, 3, START + 3 * DAY)) < 2.5 * HOUR, "also for pages that were read before the rule"
        assert max(gaps(world, 2, START + 3 * DAY), default=DAY) > 4 * HOUR
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)
