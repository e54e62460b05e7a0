"""The gamma distribution as beliefs need it: ψ(x), and the shape that belongs to a spread of logarithms.

E log λ = ψ(S) - log B                      for λ of Gamma(S, B), B a rate
log k - ψ(k) = log m - mean of E log λ      the shape k of largest likelihood for rates of mean m
"""

import math

from centime.model.kernel import bare_kernel


@bare_kernel
def digamma(x: float) -> float:
    """ψ(x) for x > 0."""
    below = 0.0
    while x < 8.0:
        below += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    tail = inverse * (
        1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252 - inverse * (1.0 / 240 - inverse * (1.0 / 132))))
    )
    return math.log(x) - 0.5 / x - tail - below


def shape_of_spread(spread: float, least: float, most: float) -> float:
    """The k between `least` and `most` with log k - ψ(k) = spread; the left side falls from infinity to 0."""
    low, high = least, most
    for _ in range(60):
        middle = math.sqrt(low * high)
        if math.log(middle) - digamma(middle) > spread:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
