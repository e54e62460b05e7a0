"""The error of an estimate: the paper's measure (Adaptive OPIC, Section 4.2), and the true scores.

    error = 100 * mean over pages of |X - Imp| / Imp        in percent

Imp is the limit of power iteration. Every page has an importance above 0, because the virtual page pays all pages, so
the measure is defined for every page. It counts all pages alike. Most pages are small, so it is mostly the error of
small pages; with `among="top"` it counts only the tenth of the pages with the largest Imp.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph
from centime.rank.power import power_iteration

Vector = npt.NDArray[np.float64]
Among = Literal["all", "top"]

TOP_SHARE = 0.1


def true_importance(web: Graph, start: Vector | None = None, error: float = 1e-13) -> Vector:
    """The importance of all pages (mean 1) with negligible error; a `start` close to it saves work."""
    return power_iteration(web, error=error, start=start).scores


def mean_error(estimate: Vector, importance: Vector, among: Among = "all") -> float:
    """The mean relative error in percent, among all pages or among the top tenth."""
    relative = np.abs(estimate - importance) / importance
    if among == "top":
        relative = relative[top_pages(importance)]
    return float(100 * relative.mean())


def top_pages(importance: Vector) -> npt.NDArray[np.int64]:
    """The tenth of the pages with the largest importance, unsorted."""
    count = max(1, round(TOP_SHARE * len(importance)))
    return np.argpartition(-importance, count - 1)[:count]
