"""The inverse of the index as a table, for sums over all pages and as a first guess for one page.

    curves[i, j] = 1/u with G(u) = y,   S = 2^(LOW_SHAPE + i/4),   y = 2^(LOW_INDEX + j/2);   0 where y is never reached

Under the threshold μ, a page is read 1/(u·B) times per second, where y = μ·cost/(x·B) (`worth.py`). Both y and the grid
of μ in `demand.py` have steps of half an octave, so a page's reads at all μ of the grid are one stretch of its row,
with one fraction for all. Values between the points are interpolated linearly, which is at most 0.4 % too large where
reads fall as 1/sqrt(y). A table belongs to one rule, alpha and beta.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_inlined, late_kernel
from centime.refresh.worth import age_ratio

STEPS = 2  # columns an octave of y
SHAPE_STEPS = 4  # rows an octave of S
LOW_SHAPE = -6.5
HIGH_SHAPE = 6.5
LOW_INDEX = -96.0
HIGH_INDEX = 64.0
ROWS = int((HIGH_SHAPE - LOW_SHAPE) * SHAPE_STEPS) + 1
COLUMNS = int((HIGH_INDEX - LOW_INDEX) * STEPS) + 1
_MOST = 2.0**60

Curves = npt.NDArray[np.float64]


@lru_cache(maxsize=8)
def curves_for(rule: float, alpha: float, beta: float) -> Curves:
    """The table for a rule."""
    curves = np.empty((ROWS, COLUMNS))
    _draw(rule, alpha, beta, curves)
    return curves


@late_kernel(1.0)
def _draw(rule: float, alpha: float, beta: float, curves: Curves) -> None:
    for i in range(ROWS):
        shape = math.exp2(LOW_SHAPE + i / SHAPE_STEPS)
        u = 0.0
        for j in range(COLUMNS):
            u = age_ratio(rule, alpha, beta, shape, math.exp2(LOW_INDEX + j / STEPS), _MOST, u * 1.2)
            curves[i, j] = 1.0 / u


@bare_inlined
def row_of(shape: float) -> float:
    """The row of a shape, with its fraction."""
    row = (math.log2(shape) - LOW_SHAPE) * SHAPE_STEPS
    return min(max(row, 0.0), ROWS - 1.001)


@bare_inlined
def guess_ratio(curves: Curves, row: float, y: float) -> float:
    """An approximation of the u with G(u) = y; 0 outside the table."""
    if not y > 0.0:
        return 0.0
    column = (math.log2(y) - LOW_INDEX) * STEPS
    if not 0.0 <= column < COLUMNS - 1.0:
        return 0.0
    i, j = int(row), int(column)
    down, right = row - i, column - j
    above = curves[i, j] * (1.0 - right) + curves[i, j + 1] * right
    below = curves[i + 1, j] * (1.0 - right) + curves[i + 1, j + 1] * right
    reads = above * (1.0 - down) + below * down
    return 1.0 / reads if reads > 0.0 else 0.0
