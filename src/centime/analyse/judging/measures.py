"""How well a value of each site, such as its importance, agrees with the reference of the judges.

    score       the share of sites whose predicted mark equals the reference. A value has no marks: it is cut so that
                the marks have the shares that they have in the reference. Cuts for a site come from the other folds.
    tau_b       Kendall's tau of the value and the mean mark, ties corrected (`agreement.py`)
    auc         the probability that a site to keep has a larger value than one not to keep; a tie counts half
    precision, recall    of the sites with the largest values; sites of equal value are taken together

A site is to keep if its reference is at least `keep`. A measure that is not defined, such as an AUC without a site to
keep, is None.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from centime.analyse.agreement import kendall_tau
from centime.analyse.judging.marks import Table
from centime.analyse.transition import Vector

Mask = npt.NDArray[np.bool_]


class Point(NamedTuple):
    """A point of a precision and recall curve: the first `sites` sites are taken."""

    sites: int
    precision: float
    recall: float


def tau_b(values: Vector, marks: Vector) -> float | None:
    """Kendall's tau-b of two values of the same sites; None if one of them is the same for all."""
    if len(values) < 2 or len(np.unique(values)) < 2 or len(np.unique(marks)) < 2:
        return None
    return kendall_tau(_ranks(values), _ranks(marks), 1.0)


def auc(values: Vector, kept: Mask) -> float | None:
    """The area under the ROC curve; None unless some sites are to keep and some are not."""
    many = int(kept.sum())
    few = len(kept) - many
    if not many or not few:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    middle = (below + (counts + 1) / 2)[place]  # mean ranks, from 1 on
    return float((middle[kept].sum() - many * (many + 1) / 2) / (many * few))


def curve(values: Vector, kept: Mask) -> list[Point]:
    """Precision and recall after each further level of the value, the largest first; empty if nothing is to keep."""
    total = int(kept.sum())
    if not total:
        return []
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    hits = np.cumsum(kept[order])[ends]
    taken = ends + 1
    return [
        Point(int(sites), float(found / sites), float(found / total))
        for sites, found in zip(taken.tolist(), hits.tolist(), strict=True)
    ]


def precision_at(points: list[Point], recall: float) -> float | None:
    """The precision when as many sites are taken as the recall needs."""
    return next((point.precision for point in points if point.recall >= recall - 1e-12), None)


def cut_marks(values: Vector, reference: Table, folds: Table) -> Table:
    """The mark that a value predicts for each site, by cuts that come from the sites of the other folds."""
    predicted = np.zeros(len(values), dtype=np.int64)
    for fold in np.unique(folds).tolist():
        away, here = folds != fold, folds == fold
        predicted[here] = _cut(values[here], values[away], reference[away])
    return predicted


def folds_of(names: tuple[str, ...], reference: Table, count: int) -> Table:
    """A fold for each site: the sites of each mark are dealt out in the order of a hash of their names, so that folds
    have the same shares of marks and do not depend on the order of the sites.
    """
    keys = [(int(mark), xxh3_64_intdigest(name.encode()), name) for mark, name in zip(reference, names, strict=True)]
    order = sorted(range(len(names)), key=keys.__getitem__)
    folds = np.zeros(len(names), dtype=np.int64)
    folds[order] = np.arange(len(names)) % count
    return folds


def _cut(values: Vector, known: Vector, reference: Table) -> Table:
    """Marks for values, such that the known values would have as many of each mark as the reference has."""
    ordered = np.sort(known)
    marks, counts = np.unique(reference, return_counts=True)
    cuts = [
        (ordered[end - 1] + ordered[end]) / 2 for end in np.cumsum(counts)[:-1].tolist()
    ]  # halfway between neighbours
    return marks[np.searchsorted(np.array(cuts), values, side="right")]


def _ranks(values: Vector) -> Vector:
    """Whole numbers in the same order, ties included."""
    return np.unique(values, return_inverse=True)[1].astype(np.float64)
