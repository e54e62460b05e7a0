"""The places of the largest values, and the hosts of all pages: for lists of the first pages or sites."""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.model.row_batch import Pages


def first_by(values: npt.NDArray[Any], count: int) -> Pages:
    """The places of the `count` largest values, the largest first; equal values by place."""
    count = min(count, len(values))
    if not count:
        return np.empty(0, dtype=np.int64)
    least = np.partition(values, len(values) - count)[len(values) - count]
    best = np.flatnonzero(values >= least)
    return best[np.lexsort((best, -values[best]))][:count]


def hosts_of_all(opened: CrawlState) -> npt.NDArray[np.int64]:
    """The number of the host of every page."""
    return opened.shard.pages.origins.every()["host"].astype(np.int64)
