"""The worth of a read now, and the age at which it reaches a threshold: one index for every rule.

A copy of age a costs its users penalty(a) = x·[alpha·λ·a + beta·P(it is stale)] per second. The index, per unit of
cost, is I(a) = a·penalty(a) - ∫_0^a penalty. It is compared with the Lagrange multiplier μ of the budget: reading every
page when I(a) ≥ μ is the optimal use of the budget. With the belief Gamma(S, B) of `learning/belief.py` and u = a/B it
is

    I(a) = (x/cost) · B · G(u)
    optimal, mixed   G(u) = alpha·S·u²/2 + beta·J(u)
                     J(u) = (1 - (1+u)^(1-S)) / (S-1) - u·(1+u)^(-S)      (log(1+u) - u/(1+u) for S = 1)
    paper            G(u) = S·u²                 which is a ≥ K / sqrt(xλ) for K² = μ and λ = S/B
    uniform          G(u) = u, with x/cost = 1   the age itself

For S, B → ∞ with S/B = λ this is (x/λ)(1 - e^(-λa)(1 + λa)) for beta = 1, alpha = 0. J rises from S·u²/2 at 0 to
1/(S-1) (without a limit if S ≤ 1): a page that surely changes too fast never reaches μ. For small u, J suffers from
cancellation, so its series is used there; the relative error is below 1e-8.

`age_ratio` inverts G by Newton's method on logarithms inside a bracket; G rises strictly, so there is one answer or
none.
"""

import math

from centime.model.kernel import bare_inlined, bare_kernel

OPTIMAL = 0.0
PAPER = 1.0
UNIFORM = 2.0

LONGEST = 50 * 365.25 * 86400.0
"""The largest age, fifty years in seconds; a page that is not due by then is never due."""
_SERIES = 2e-3
_NEAR = 3e-5  # Newton's next step would be about the square of this


@bare_inlined
def staleness(shape: float, u: float) -> tuple[float, float]:
    """J(u), and an approximation of (1+u)^(-S-1), which is the slope of J divided by S·u."""
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
    """G(u), the index in units of (x/cost)·B."""
    if rule == UNIFORM:
        return u
    if rule == PAPER:
        return shape * u * u
    return 0.5 * alpha * shape * u * u + beta * staleness(shape, u)[0]


@bare_inlined
def age_ratio(rule: float, alpha: float, beta: float, shape: float, y: float, most: float, guess: float) -> float:
    """The u at which G(u) = y; infinity if it is above `most`. A good `guess` saves steps; 0 for none."""
    if y <= 0.0:
        return 0.0
    if rule == UNIFORM:
        return y if y <= most else math.inf
    if rule == PAPER:
        u = math.sqrt(y / shape)
        return u if u <= most else math.inf
    # G(u) ≤ (alpha+beta)·S·u²/2, so the answer is never below this
    low = math.sqrt(2.0 * y / ((alpha + beta) * shape))
    if not low <= most or (alpha == 0.0 and y * (shape - 1.0) >= beta):
        return math.inf
    high = most
    sure = False  # whether the answer is known to lie below `most`
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
        # Newton's step for log G in log u; it never overshoots when alpha is 0
        steepness = shape * u * u * (alpha + beta * slope) / value
        step = (short if abs(short) < 0.01 else math.log1p(short)) / steepness if steepness > 1e-12 else math.inf
        if abs(step) < _NEAR:
            return u * (1.0 + step)
        if abs(short) < 1e-13 or high - low <= 1e-12 * high:  # G is practically flat here
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
    """The age at which the worth of a page of belief Gamma(shape, rate) and scale x/cost reaches the threshold;
    infinity if never.
    """
    y = threshold / (scale * rate)
    return rate * age_ratio(rule, alpha, beta, shape, y, LONGEST / rate, 0.0)


@bare_kernel
def index_at(rule: float, alpha: float, beta: float, shape: float, rate: float, scale: float, age: float) -> float:
    """I(a) of a page of belief Gamma(shape, rate) and scale x/cost."""
    return scale * rate * index_ratio(rule, alpha, beta, shape, age / rate)
