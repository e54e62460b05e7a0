from types import SimpleNamespace
from typing import cast

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.planning.freshness import is_early
from centime.model.ids import PageId
from tests.refresh.learning.test_information import DAY, given_up


def test_a_page_that_is_tested_is_read_before_that_is_worth_its_cost() -> None:
    book, _ = given_up(7 * DAY)
    shard = SimpleNamespace(refreshing=SimpleNamespace(book=book), value=lambda pages: np.where(pages == 0, 10.0, 0.5))
    opened = cast(CrawlState, SimpleNamespace(shard=shard))
    assert is_early(opened, PageId(0))
    pages = np.arange(400)
    by_worth = book.due_times(pages, shard.value(pages), probed=False)
    assert not is_early(opened, PageId(int(np.argmin(by_worth))))
