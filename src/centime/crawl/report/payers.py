"""The payers of a page: the pages that link to it, by what they contribute to its importance.

    x_i  =  sum over j -> i of d w_ji H_j / s  +  what the virtual page paid          (ledger/exact.py)

w_ji is the share of the link: 1 / (links of j), unless the crawl weighs links. H_j / s is what page j has paid so far:
x_j minus what it still owes. So the parts add up to the current x_i, whatever is owed. All link rows are read, a batch
at a time; memory is a batch and the payers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import row_batches
from centime.model.row_batch import Pages
from centime.shard.state import ShardState


@dataclass(frozen=True, slots=True)
class Payers:
    """The pages that link to a page, the largest contribution first; what each contributes; how many links it has."""

    pages: Pages
    contributions: npt.NDArray[np.float64]
    links: npt.NDArray[np.int64]


def payers_of(shard: ShardState, page: int, step: Callable[[float], None] = lambda done: None) -> Payers:
    """All payers of a page, or of a proxy of a partition by its number in rows; `step` receives the number of further
    pages whose links were searched.
    """
    found, links = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    shares = [np.empty(0)]
    for pages, batch in row_batches(shard):
        targets, weights = batch.links(), batch.shares()
        places = np.flatnonzero(targets == page)
        rows, first = np.unique(np.searchsorted(np.cumsum(batch.lengths), places, side="right"), return_index=True)
        found.append(pages[rows])
        links.append(batch.lengths[rows])
        shares.append(weights[places[first]] if len(weights) else 1.0 / np.maximum(1, batch.lengths[rows]))
        step(len(pages))
    sources, degrees = np.concatenate(found), np.concatenate(links)
    contributions = shard.ledger.damping * _paid(shard, sources) * np.concatenate(shares)
    order = np.lexsort((sources, -contributions))
    return Payers(sources[order], contributions[order], degrees[order])


def _paid(shard: ShardState, pages: Pages) -> npt.NDArray[np.float64]:
    if not len(pages):
        return np.empty(0)
    return shard.ledger.importance(pages) - shard.ledger.owed(pages)
