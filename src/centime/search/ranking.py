"""The best pages for a query, by BM25 times importance, exactly.

Importance is never in the index: it changes with every visit. The best pages by the product are found from both sides:

    S   the first pages by BM25
    P   the matches among the most important pages

A page in neither has a BM25 of at most the last of S, and an importance of at most that of the most important page
outside P. So if the n-th product found is at least the product of these two bounds, no other page can be better. Until
then both sides grow fourfold, in the end to all matches. (The best 200 by BM25 alone would have 22 % of the true ten.)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import tantivy

from centime.search.query import narrowed

FIRST_BY_BM25 = 1024
FIRST_BY_IMPORTANCE = 64
GROWTH = 4

Importance = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that matches."""

    page: int
    score: float
    place: tantivy.DocAddress


class Prominence:
    """The importance of pages by their numbers, and the most important ones in order."""

    def __init__(self, importance: Importance) -> None:
        self.importance = importance

    def first(self, count: int) -> tuple[list[int], float]:
        """The `count` most important pages, and the importance of the next one."""
        if count >= len(self._order):
            return self._order.tolist(), 0.0
        return self._order[:count].tolist(), float(self.importance[self._order[count]])

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        return np.argsort(-self.importance, kind="stable")


def best_hits(
    searcher: tantivy.Searcher, schema: tantivy.Schema, query: tantivy.Query, prominence: Prominence, count: int
) -> list[Hit]:
    """The best hits, the best first; equal products by page."""
    by_score, by_importance = max(FIRST_BY_BM25, count), FIRST_BY_IMPORTANCE
    while True:
        hits = searcher.search(query, by_score, count=False).hits
        is_all = len(hits) < by_score
        bound = 0.0
        if not is_all:
            important, next_importance = prominence.first(by_importance)
            some = narrowed(query, tantivy.Query.term_set_query(schema, "page", important))
            bound = hits[-1][0] * next_importance
            hits += searcher.search(some, len(important), count=False).hits
        best = _best(searcher, hits, prominence, count)
        if is_all or (len(best) == count and best[-1].score >= bound):
            return best
        by_score, by_importance = GROWTH * by_score, GROWTH * by_importance


def _best(
    searcher: tantivy.Searcher, hits: list[tuple[float, tantivy.DocAddress]], prominence: Prominence, count: int
) -> list[Hit]:
    """The best of these hits, in which a page may be twice; a page of unknown importance is left out."""
    places = [place for _, place in hits]
    pages = np.array(searcher.fast_field_values("page", places), dtype=np.int64)
    known = np.flatnonzero(pages < len(prominence.importance))
    pages = pages[known]
    products = np.array([score for score, _ in hits])[known] * prominence.importance[pages]
    most = min(2 * count, len(products))
    first = np.argpartition(-products, most - 1)[:most] if most else np.zeros(0, dtype=np.int64)
    ties = np.flatnonzero(products == products[first].min()) if most else first
    chosen = {int(pages[at]): at for at in np.concatenate([first, ties]).tolist()}
    ordered = sorted(chosen.items(), key=lambda one: (-products[one[1]], one[0]))[:count]
    return [Hit(page, float(products[at]), places[int(known[at])]) for page, at in ordered]
