"""A history of changes: the host, importance and cost of every page, and the true times of its changes, as rows of one
array.

    page p changed at times[offsets[p]:offsets[p + 1]], ascending, from born[p] (its first read) up to `end`
    page p is gone from died[p] on, which is its last change; without `died`, no page ever goes

Times are seconds. Rates are changes per second, and only the oracle knows them. `dated` marks the pages whose server
sends reliable dates: a policy that reads such a page learns when it last changed, and of any other page only that it
did.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput

Times = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class ChangeHistory:
    """The changes of some pages from their first reads up to `end`."""

    offsets: Numbers
    times: Times
    hosts: Numbers
    importance: Times  # its mean is 1
    costs: Times  # of a read, in bytes, or 1
    rates: Times
    dated: Flags
    stood: Times  # the age of the content at the first read, by its date; NaN without a reliable date
    born: Times
    end: float
    died: Times = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        pages = len(self.offsets) - 1
        lengths = {
            len(column)
            for column in (self.hosts, self.importance, self.costs, self.rates, self.dated, self.stood, self.born)
        }
        if pages < 1 or lengths != {pages} or self.offsets[-1] != len(self.times):
            raise BadInput("a history of changes needs a page or more, and one entry of each kind for every page")
        inner = np.ones(len(self.times), dtype=np.bool_)
        inner[self.offsets[:-1][self.offsets[:-1] < len(self.times)]] = False
        if (np.diff(self.times, prepend=-np.inf)[inner] < 0).any():
            raise BadInput("the changes of a page must be sorted by time")
        if len(self.died) not in (0, pages):
            raise BadInput("a history of changes needs one time of death for every page, or none at all")
        if not (self.importance >= 0).all() or not (self.costs > 0).all():
            raise BadInput("importance must be 0 or more, and the cost of a read above 0")

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.hosts)

    @property
    def begin(self) -> float:
        """Time of the first read of all."""
        return float(self.born.min())


def poisson_history(
    rates: npt.ArrayLike,
    importance: npt.ArrayLike,
    days: float,
    *,
    hosts: npt.ArrayLike | None = None,
    dated: Any = False,
    seed: int = 0,
) -> ChangeHistory:
    """A random history from time 0 on: Poisson processes of these rates (per second); all pages are read at 0, and
    every read costs 1.
    """
    per_second = np.asarray(rates, dtype=np.float64)
    end = days * 86_400.0
    chance = np.random.default_rng(seed)
    reliable = np.broadcast_to(np.asarray(dated, dtype=np.bool_), per_second.shape)
    counts = chance.poisson(per_second * end)
    offsets = np.zeros(len(per_second) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    times = chance.uniform(0.0, end, offsets[-1])
    pages = np.repeat(np.arange(len(per_second)), counts)
    return ChangeHistory(
        offsets=offsets,
        times=times[np.lexsort((times, pages))],
        hosts=np.zeros(len(per_second), dtype=np.int64) if hosts is None else np.asarray(hosts, dtype=np.int64),
        importance=np.asarray(importance, dtype=np.float64),
        costs=np.ones(len(per_second)),
        rates=per_second,
        dated=reliable,
        stood=np.where(reliable, chance.exponential(1.0, len(per_second)) / np.maximum(per_second, 1e-12), np.nan),
        born=np.zeros(len(per_second)),
        end=end,
    )
