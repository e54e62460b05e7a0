"""A history of changes: for every page its host, importance, cost and the times at which it truly changed, as rows of
one array.

    page p changed at times[offsets[p]:offsets[p + 1]], ascending, from born[p] (its first read) up to `end`

Times are seconds; rates are changes per second, known to the oracle alone. `dated` says of which pages the server's
date of change deserves belief: a policy that reads one of them learns when it last changed, of any other only that it
did.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput

Times = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class ChangeHistory:
    """All that happened to some pages, and how long it is known."""

    offsets: Numbers
    times: Times
    hosts: Numbers
    importance: Times  # its mean is 1
    costs: Times  # bytes of a read, or 1
    rates: Times
    dated: Flags
    stood: Times  # for how long the content had stood at the first read, where that is dated; nan elsewhere
    born: Times
    end: float

    def __post_init__(self) -> None:
        pages = len(self.offsets) - 1
        lengths = {
            len(column)
            for column in (self.hosts, self.importance, self.costs, self.rates, self.dated, self.stood, self.born)
        }
        if pages < 1 or lengths != {pages} or self.offsets[-1] != len(self.times):
            raise BadInput("a history of changes needs one entry of each kind for every page, and a page")
        inner = np.ones(len(self.times), dtype=np.bool_)
        inner[self.offsets[:-1][self.offsets[:-1] < len(self.times)]] = False
        if (np.diff(self.times, prepend=-np.inf)[inner] < 0).any():
            raise BadInput("the changes of a page must be in their order")
        if not (self.importance >= 0).all() or not (self.costs > 0).all():
            raise BadInput("importance is 0 or more, and a read costs something")

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.hosts)

    @property
    def begin(self) -> float:
        """When the first page was read first."""
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
    """A history by chance from time 0 on: Poisson processes of these rates (per second), all pages read at 0, every
    read costs 1.
    """
    per_second = np.asarray(rates, dtype=np.float64)
    end = days * 86_400.0
    chance = np.random.default_rng(seed)
    told = np.broadcast_to(np.asarray(dated, dtype=np.bool_), per_second.shape)
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
        dated=told,
        stood=np.where(told, chance.exponential(1.0, len(per_second)) / np.maximum(per_second, 1e-12), np.nan),
        born=np.zeros(len(per_second)),
        end=end,
    )
