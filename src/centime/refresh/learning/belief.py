"""The simplest belief about a page's change rate: a gamma distribution, from evidence of two numbers.

The lab compares estimators with it (`lab/rates_belief.py`); the book keeps three numbers under a prior of any form
(`evidence.py`, `posterior.py`). Changes are a Poisson process of rate λ per second. The prior is Gamma(k, k/m): shape
k, mean m. The evidence (s, b) is stored without the prior, so that the prior can be learned and
replaced. The posterior is

    Gamma(S = k + s, B = k/m + b),   mean S/B,   P(no change in age a) = F(a) = (B / (B + a))^S

    no change in an interval t                 s, b + t             exact: the likelihood is e^(-λt)
    the last change `since` before the read    s + 1, b + since     exact: the likelihood is λ e^(-λ·since)
    a change somewhere in an interval t        first two moments    of Gamma(S, B) · (1 - e^(-λt)), matched by a gamma
    a published period p of weight w           s + w, b + w·p

The moments, with r = B/(B+t) and q_j = 1 - r^(S+j), are E λ = (S/B) q_1/q_0 and E λ² = (S(S+1)/B²) q_2/q_0, so

    S' = 1 / ((S+1)/S · q_2 q_0 / q_1² - 1),   B' = S' / E λ,   S ≤ S' ≤ S + 1,   B ≤ B'

(the bounds are tested, not proved; values that rounding puts outside them are clipped).

Pages change their habits, so evidence fades: with time, not with reads. In an interval t a page has changed its habit,
to a rate drawn from the prior, with the probability h = 1 - e^(-t/SWITCHING). If the belief explains the result of a
read with the probability p, and the prior alone with p_0, this share of the evidence is kept:

    p / (p + h·max(p_0 - p, 0) + h·p_0/SLOWNESS)

So evidence that is contradicted is lost at once (a page that changed eight times a day and was then quiet for three
days), and evidence that is confirmed fades over SLOWNESS·SWITCHING.
"""

import math

from centime.model.kernel import bare_inlined
from centime.refresh.learning.evidence import MOST_CHANGES, SLOWNESS, SWITCHING

MOST_S = MOST_CHANGES


@bare_inlined
def quiet(s: float, b: float, interval: float) -> tuple[float, float]:
    """The evidence after an interval without change."""
    return s, b + interval


@bare_inlined
def dated(s: float, b: float, since: float) -> tuple[float, float]:
    """The evidence after a read that shows how long ago the last change was."""
    return s + 1.0, b + since


@bare_inlined
def changed(s: float, b: float, k: float, m: float, interval: float) -> tuple[float, float]:
    """The evidence after an interval with one change or more."""
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
def kept_share(s: float, b: float, k: float, m: float, interval: float, since: float) -> float:
    """The share of the evidence that an observation leaves: the probability that the page has kept its habits.

    `since` is infinite for a quiet interval, negative for a change at an unknown time.
    """
    shape, rate, before = k + s, k / m + b, k / m
    seen = interval if since < 0.0 or math.isinf(since) else since
    old = math.exp(-shape * math.log1p(seen / rate))
    new = math.exp(-k * math.log1p(seen / before))
    if since < 0.0:
        old, new = 1.0 - old, 1.0 - new
    elif not math.isinf(since):
        old *= shape / (rate + seen)
        new *= k / (before + seen)
    switched = -math.expm1(-interval / SWITCHING)
    lost = switched * (max(new - old, 0.0) + new / SLOWNESS)
    return old / (old + lost) if lost > 0.0 else 1.0
