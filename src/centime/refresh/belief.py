"""The belief about a page's change rate: a gamma distribution, from evidence of two numbers.

Changes are a Poisson process of rate λ per second. The prior is Gamma(k, k/m): shape k, mean m, pooled from the host
and from all pages (`pooling.py`). The evidence (s, b) is stored without the prior, so that the prior can be learned and
replaced. The posterior is

    Gamma(S = k + s, B = k/m + b),   mean S/B,   P(no change in age a) = F(a) = (B / (B + a))^S

    no change in an interval t                 s, b + t             exact: the likelihood is e^(-λt)
    the last change `since` before the read    s + 1, b + since     exact: the likelihood is λ e^(-λ·since)
    a change somewhere in an interval t        first two moments    of Gamma(S, B) · (1 - e^(-λt)), matched by a gamma
    a published period p of weight w           s + w, b + w·p

The moments, with r = B/(B+t) and q_j = 1 - r^(S+j), are E λ = (S/B) q_1/q_0 and E λ² = (S(S+1)/B²) q_2/q_0, so

    S' = 1 / ((S+1)/S · q_2 q_0 / q_1² - 1),   B' = S' / E λ,   S ≤ S' ≤ S + 1,   B ≤ B'

(the bounds are tested, not proved; values that rounding puts outside them are clipped). Before each observation s and b
fade by the factor 1 - 1/MEMORY, so that the mean follows a page that changes its habits; s therefore stays below
MEMORY.

Trap: s is stored in units of 1/1024 in 16 bits. `stored` scales s and b down together when s would not fit, which
keeps their mean.
"""

import math

import numpy as np

from centime.model.kernel import Whole, bare_inlined

MEMORY = 64.0
"""An observation counts a factor e less after this many further ones."""
FADING = 1.0 - 1.0 / MEMORY
UNIT = 1.0 / 1024.0
MOST_S = 65535 * UNIT


@bare_inlined
def quiet(s: float, b: float, interval: float) -> tuple[float, float]:
    """The evidence after an interval without change."""
    return s * FADING, b * FADING + interval


@bare_inlined
def dated(s: float, b: float, since: float) -> tuple[float, float]:
    """The evidence after a read that shows how long ago the last change was."""
    return s * FADING + 1.0, b * FADING + since


@bare_inlined
def changed(s: float, b: float, k: float, m: float, interval: float) -> tuple[float, float]:
    """The evidence after an interval with one change or more."""
    s *= FADING
    b *= FADING
    shape = k + s
    rate = k / m + b
    log = math.log1p(interval / rate)
    q0 = -math.expm1(-shape * log)
    q1 = -math.expm1(-(shape + 1.0) * log)
    q2 = -math.expm1(-(shape + 2.0) * log)
    after = 1.0 / ((shape + 1.0) / shape * q2 * q0 / (q1 * q1) - 1.0)
    after = min(max(after, shape), shape + 1.0)
    return s + (after - shape), max(after * rate * q0 / (shape * q1) - rate, 0.0) + b


@bare_inlined
def stored(s: float, b: float) -> tuple[Whole, np.float32]:
    """The evidence as it is stored."""
    if s > MOST_S:
        b *= MOST_S / s
        s = MOST_S
    return np.int64(s / UNIT + 0.5), np.float32(b)


@bare_inlined
def unchanged(shape: float, rate: float, age: float) -> float:
    """F(a): the probability that a copy of this age is still fresh."""
    return math.exp(-shape * math.log1p(age / rate))
