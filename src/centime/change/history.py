"""The history of a page at one of its places: whether it differed, in each of its last comparisons.

A history is a number of 6 bits: a leading one, then one bit for each of the last five comparisons, the newest last. So
1 is the history of a place that was never compared.

    odds that a difference is noise = q / (1 - q) * B(a + d, b + s) / B(a, b) / (C^d * (1 - C)^s)

    a, b   how often the place differed, and did not, on pages on which it is volatile, after it had differed: these
           pages differ there with a probability that has a beta distribution, and B is the beta function
    q      the share of such pages among those of the host that have the place
    C      how often content differs on a page that is still there
    d      differences of this page at the place, the one in question included
    s      comparisons in which it did not differ

So a rule learned on some pages of a host hides nothing on a page that has not differed at that place.
"""

import numpy as np
import numpy.typing as npt

from centime.model.words import Column

FRESH = 1
BITS = 6
_FULL = 1 << (BITS - 1)
_MASK = _FULL - 1
CONTENT = 0.1  # C
PRIOR = (1.4, 0.6)  # of a and b
USUAL_SHARE = 0.7  # q of a rule without evidence
LEAST_ODDS = 1.5  # below, a difference is a change
TWIN_ODDS = 10.0  # below, a twin read is made
CERTAIN = 1e9
MOST_STILL = BITS - 1


def pushed(histories: Column, differed: npt.NDArray[np.bool_]) -> Column:
    """Histories with one more comparison each."""
    longer = histories << 1 | differed
    found: Column = np.where(histories < _FULL, longer, _FULL | longer & _MASK)
    return found


def rested(histories: Column, comparisons: int) -> Column:
    """Histories with some more comparisons in which nothing differed."""
    still = np.zeros(len(histories), dtype=np.bool_)
    for _ in range(min(comparisons, MOST_STILL)):
        histories = pushed(histories, still)
    return histories


def counts(history: int) -> tuple[int, int]:
    """In how many of the last comparisons a place differed, and in how many it did not."""
    differed = history.bit_count() - 1
    return differed, history.bit_length() - 1 - differed


def noise_odds(history: int, volatile: tuple[int, int, float], *, steady: bool = False) -> float:
    """The odds that a difference is noise, after this history. `volatile` are a and b without their priors, and q;
    `steady` if a twin read did not differ: then this one counts as if it did not either.
    """
    a, b, share = volatile[0] + PRIOR[0], volatile[1] + PRIOR[1], volatile[2]
    differed, still = counts(history)
    differed, still = (differed, still + 1) if steady else (differed + 1, still)
    odds = share / (1 - share)
    for number in range(differed):
        odds *= (a + number) / (a + b + number) / CONTENT
    for number in range(still):
        odds *= (b + number) / (a + b + differed + number) / (1 - CONTENT)
    return odds
