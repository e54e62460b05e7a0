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

(the bounds are tested, not proved; values that rounding puts outside them are clipped).

Pages change their habits, so evidence fades: with time, not with reads. In an interval t a page has taken up another
habit, a rate drawn from the prior, with the probability h = 1 - e^(-t/SWITCHING). If the belief explains what a read
shows with the probability p, and the prior alone with p_0, this share of the evidence is kept:

    p / (p + h·max(p_0 - p, 0) + h·p_0/SLOWNESS)

So evidence that is contradicted is lost at once (a page that changed eight times a day and was then quiet for three
days), and evidence that is confirmed fades over SLOWNESS·SWITCHING.

After a SHORT interval that share is near 1 whatever the read shows, because h is small, and a page that is read often
would keep its evidence through a hundred quiet reads in a row. There the belief becomes the gamma with the first two
moments of the mixture of both explanations (`mixed`): its mean hardly moves, but it is less certain, so that the next
quiet reads move it. After long intervals the mixture forgets too much (`docs/decisions/refresh-on-other-processes.md`).

Trap: s is stored in units of 1/1024 in 16 bits. `stored` scales s and b down together when s would not fit, which
keeps their mean.
"""

import math

import numpy as np

from centime.model.kernel import Whole, bare_inlined

SWITCHING = 100 * 86_400.0
"""Seconds after which a page has taken up another habit, on average."""
SLOWNESS = 8.0
SHORT = 2 * 86_400.0
UNIT = 1.0 / 1024.0
MOST_S = 65535 * UNIT


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


@bare_inlined
def mixed(kept: float, s: float, b: float, anew: tuple[float, float], k: float, m: float) -> tuple[float, float]:
    """The evidence that stands for both explanations: s and b with the probability `kept`, and evidence from the last
    interval alone.
    """
    shape, rate = k + s, k / m + b
    mean, mean_anew = shape / rate, (k + anew[0]) / (k / m + anew[1])
    both = kept * mean + (1.0 - kept) * mean_anew
    square = kept * mean * mean * (1.0 + 1.0 / shape)
    square += (1.0 - kept) * mean_anew * mean_anew * (1.0 + 1.0 / (k + anew[0]))
    after = min(max(both * both / max(square - both * both, 1e-300), k), shape)
    return after - k, max(after / both - k / m, 0.0)


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
