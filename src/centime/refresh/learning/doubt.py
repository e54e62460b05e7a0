"""Doubt: how soon a page that was found to change too fast is treated like any other page.

A page that is believed to change too fast is not read, and nothing contradicts that belief; but pages change their
habits. If the prior says that a copy of age a is fresher than the posterior does, it counts with the probability
1 - e^(-ra). The rate r is learned from informative reads: those at which the belief expects a change with a higher
probability than the prior. With F and F_0 the probabilities by both that an interval t shows no change, q = 1 if it
showed none, and the weight w = F_0 - F,

    E q = F + (1 - e^(-rt))·(F_0 - F),    so    r = (DOUBTS + Σ w·(q - F)) / (SECONDS + Σ w·t·(F_0 - F))

where DOUBTS / SECONDS is the assumption before there is evidence. Where no page changes its habits, reads of a few old
pages show it, and the budget is not spent on the others. A rate below LEAST counts as 0: it would make many pages due
for little, only much later (docs/decisions/refresh-on-other-processes.md).
"""

import math

from centime.model.kernel import bare_part
from centime.refresh.tables import DOUBTED, DOUBTING, DOUBTS, GRID_POINTS, RefreshTables

FIRST_DOUBTS = 1.0
FIRST_AGE = 400 * 86_400.0  # SECONDS / DOUBTS
LEAST, MOST = 1.0 / (1_000 * 86_400.0), 1.0 / (40 * 86_400.0)
LOWEST = -5.0  # of the sum, so that a web that begins to change its habits is noticed


@bare_part
def note_read(t: RefreshTables, m: float, interval: float, quiet: bool) -> None:
    """Notes the evidence of a read about the posterior in `scratch`."""
    old, new = 0.0, 0.0
    for j in range(GRID_POINTS):
        kept = math.exp(-m * t.ratios[j] * interval)
        if kept == 0.0:
            break
        old += t.scratch[j] * kept
        new += t.weights[j] * kept
    weight = new - old
    if weight > 0.0:
        t.facts[DOUBTS] = max(t.facts[DOUBTS] + weight * ((1.0 if quiet else 0.0) - old), LOWEST)
        t.facts[DOUBTED] += weight * weight * interval


def learn_doubt(t: RefreshTables) -> None:
    """Applies the rate that the reads show."""
    rate = (FIRST_DOUBTS + t.facts[DOUBTS]) / (FIRST_DOUBTS * FIRST_AGE + t.facts[DOUBTED])
    t.facts[DOUBTING] = min(rate, MOST) if rate >= LEAST else 0.0
