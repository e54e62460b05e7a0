"""What a read is worth now, and the age at which it is worth enough: one index for every rule.

A copy of age a costs its users x·[alpha·λ·a + beta·P(it is stale)] per second. The index I(a) = a·penalty(a) - ∫_0^a
penalty, per unit of cost, is what Lagrange's multiplier μ of the budget is compared with: reading every page when I(a)
≥ μ spends the budget best. With the belief Gamma(S, B) of `belief.py` and u = a/B it is

    I(a) = (x/cost) · B · G(u)
    optimal, mixed   G(u) = alpha·S·u²/2 + beta·J(u),   J(u) = (1 - (1+u)^(1-S)) / (S-1) - u·(1+u)^(-S)      (log(1+u) - u/(1+u) for S = 1)
    paper            G(u) = S·u²                 which is a ≥ K / sqrt(xλ) for K² = μ and λ = S/B
    uniform          G(u) = u, with x/cost = 1   the age itself

For S, B → ∞ with S/B = λ this is (x/λ)(1 - e^(-λa)(1 + λa)) for beta = 1, alpha = 0. J rises from S·u²/2 at 0 to 1/(S-1) (for ever when S
≤ 1): a page that surely changes too fast is never worth μ. J loses its digits for small u, where its series is used; relative error below
1e-8.

Decisions are made with a wider belief than what is believed: Gamma(w·S, w·B), w = TRUST, of the same mean. A read is
worth more than the index says, for it also teaches; most so where little is known, and there a wider belief is what
raises the index of old copies: a page that only seems too quick is tried again sooner. The paper's rule and the uniform
one know the mean only, and stay as they are. What is shown and foretold is what is believed.

`age_ratio` is the inverse of G by Newton's method on logarithms, kept inside a bracket; G rises strictly, so there is
one answer or none.
"""

import math

from centime.model.kernel import bare_inlined, bare_kernel

OPTIMAL = 0.0
PAPER = 1.0
UNIFORM = 2.0

LONGEST = 50 * 365.25 * 86400.0
"""Ages above this (fifty years, in seconds) are never reached."""
TRUST = 0.6
"""Of what is believed, so much counts in decisions. Measured at 0.02 reads a page and day (mean of three webs, over the freshness of an
oracle): 0.940 with 1, 0.953 with 0.6, and no better with less; `docs/decisions/refresh-by-threshold.md`."""
_SERIES = 2e-3
_NEAR = 3e-5  # the next step would be about the square of this


@bare_inlined
def staleness(shape: float, u: float) -> tuple[float, float]:
    """J(u) and, nearly, (1+u)^(-S-1), which is its slope over S·u."""
    if u * (shape + 4.0) < _SERIES:
        second = (shape + 1.0) * u * (1.0 / 3 - (shape + 2.0) * u * (1.0 / 8 - (shape + 3.0) * u * (1.0 / 30)))
        return shape * u * u * (0.5 - second), 1.0 - (shape + 1.0) * u
    log = math.log1p(u)
    y = (shape - 1.0) * log
    lost = math.expm1(-y)  # (1+u)^(1-S) - 1
    area = log * (1.0 - 0.5 * y) if abs(y) < 1e-9 else -lost * log / y
    inverse = 1.0 / (1.0 + u)
    return area - (1.0 + lost) * u * inverse, (1.0 + lost) * inverse * inverse


@bare_inlined
def index_ratio(rule: float, alpha: float, beta: float, shape: float, u: float) -> float:
    """G(u)."""
    if rule == UNIFORM:
        return u
    if rule == PAPER:
        return shape * u * u
    return 0.5 * alpha * shape * u * u + beta * staleness(shape, u)[0]


@bare_inlined
def age_ratio(rule: float, alpha: float, beta: float, shape: float, y: float, most: float, guess: float) -> float:
    """The u at which G(u) = y; infinity if that is above `most`. A `guess` near it saves steps; 0 for none."""
    if y <= 0.0:
        return 0.0
    if rule == UNIFORM:
        return y if y <= most else math.inf
    if rule == PAPER:
        u = math.sqrt(y / shape)
        return u if u <= most else math.inf
    # G(u) ≤ (alpha+beta)·S·u²/2, so this is never above the answer
    low = math.sqrt(2.0 * y / ((alpha + beta) * shape))
    if not low <= most or (alpha == 0.0 and y * (shape - 1.0) >= beta):
        return math.inf
    high = most
    sure = False  # that the answer lies below `most`
    u = guess if low < guess < high else low
    for _ in range(200):
        stale, slope = staleness(shape, u)
        value = 0.5 * alpha * shape * u * u + beta * stale
        if value < y:
            low = u
        else:
            high = u
            sure = True
        short = y / value - 1.0
        # by Newton: of log G in log u where it is far, which never goes too far when alpha is 0
        steepness = shape * u * u * (alpha + beta * slope) / value
        step = (short if abs(short) < 0.01 else math.log1p(short)) / steepness if steepness > 1e-12 else math.inf
        if abs(step) < _NEAR:
            return u * (1.0 + step)
        if abs(short) < 1e-13 or high - low <= 1e-12 * high:  # G is as good as flat here
            return u
        new = u * math.exp(step) if step < 50.0 else math.inf
        if new >= high and not sure:
            if 0.5 * alpha * shape * most * most + beta * staleness(shape, most)[0] < y:
                return math.inf
            sure = True
        u = new if low < new < high else math.sqrt(low * high)
    return u


@bare_kernel
def age_at(rule: float, alpha: float, beta: float, shape: float, rate: float, scale: float, threshold: float) -> float:
    """The age at which a page of belief Gamma(shape, rate) and scale x/cost is worth the threshold; infinity if
    never.
    """
    y = threshold / (scale * rate)
    return rate * age_ratio(rule, alpha, beta, shape, y, LONGEST / rate, 0.0)


@bare_kernel
def index_at(rule: float, alpha: float, beta: float, shape: float, rate: float, scale: float, age: float) -> float:
    """I(a) of a page of belief Gamma(shape, rate) and scale x/cost."""
    return scale * rate * index_ratio(rule, alpha, beta, shape, age / rate)
