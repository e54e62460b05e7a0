"""The evidence about a page's change rate: three numbers that represent the likelihood of all its reads.

    L(λ) = (1 - e^(-λc))^n · e^(-λv)        n changes seen, each in an interval of about c; v seconds seen unchanged

    no change in an interval t                 v + t                        exact
    the last change `since` before the read    n + 1 with c = 0, v + since  exact if all are dated: λ^n e^(-λv)
    a change somewhere in an interval t        n + 1, and c is moved        exact if all changed intervals are alike
    a published period p of weight w           n + w with c = 0, v + w·p

The interval c that represents several ones gives the likelihood the same slope at the estimated rate λ̂:

    (n + 1)·g(c') = n·g(c) + g(t),    g(c) = c / (e^(λ̂c) - 1),    which falls from 1/λ̂ at c = 0 to 0

So short intervals count most, as they should: a change within an hour says that the page is fast, one within a year
says nothing. Measured on the worlds of `simulate/processes.py`, three numbers lose nothing against the whole
likelihood (`docs/decisions/refresh-on-other-processes.md`). The evidence does not contain the prior, so that the prior
can be learned and replaced.

Pages change their habits, so evidence fades: with time, not with reads. In an interval t a page has taken up another
habit, a rate drawn from the prior, with the probability h = 1 - e^(-t/SWITCHING). If the belief explains the result of
a read with the probability p, and the prior alone with p_0, this share of n and v is kept:

    p / (p + h·max(p_0 - p, 0) + h·p_0/SLOWNESS)

So evidence that is contradicted is lost at once (a page that changed eight times a day and was then quiet for three
days), and evidence that is confirmed fades over SLOWNESS·SWITCHING.

After a SHORT interval that share is near 1 for any result, because h is small, and a page that is read often
would keep its evidence through a hundred quiet reads in a row. So a quiet read after a short interval makes the
evidence as wide as the mixture of both explanations (`widened`): its mean hardly moves, but the next quiet reads move
it. After long intervals the mixture forgets too much. It is not for reads that show a change: a prior with a heavy tail
of fast rates explains each of them a little, and its mean square is large, so changes that were expected cost up to
half of the evidence (`docs/decisions/refresh-on-other-processes.md`).

Traps: n is stored in units of 1/1024 in 16 bits; `stored` scales n and v down together when n would not fit. c takes
the last 8 bits of v, in steps of an eighth of an octave: 0 for c = 0. A step is drawn, because rounding to the nearest
would never let c move once n is large.
"""

import math

import numpy as np

from centime.model.kernel import bare_inlined

SWITCHING = 100 * 86_400.0
"""Seconds after which a page has taken up another habit, on average."""
SLOWNESS = 8.0
SHORT = 2 * 86_400.0
FEW = 8.0  # changes: with fewer, a quiet read moves the belief by itself
SURE = 0.9995  # a larger share counts as all of the evidence
UNIT = 1.0 / 1024.0
MOST_CHANGES = 65535 * UNIT
INTERVAL_STEPS = 8.0  # an octave, of c
_CODES = 255
_NEWTON_STEPS = 20


@bare_inlined
def kept_share(old: float, new: float, interval: float) -> float:
    """The share of the evidence that a read leaves, which the belief and the prior explain with these probabilities."""
    lost = -math.expm1(-interval / SWITCHING) * (max(new - old, 0.0) + new / SLOWNESS)
    return old / (old + lost) if lost > 0.0 else 1.0


@bare_inlined
def widened(kept: float, n: float, old: tuple[float, float], new: tuple[float, float]) -> tuple[float, float]:
    """The share of n, and of v, that gives the evidence the width and the mean of a mixture: of `old` with the
    probability `kept`, and `new`, each the mean of the rate and of its square.
    """
    mean = kept * old[0] + (1.0 - kept) * new[0]
    square = kept * old[1] + (1.0 - kept) * new[1]
    narrow = max(old[1] / (old[0] * old[0]) - 1.0, 1e-9)
    wide = max(square / (mean * mean) - 1.0, narrow)
    share = max(narrow / wide, min(FEW / max(n, FEW), 1.0))
    return share, share * min(max(old[0] / mean, 0.5), 2.0)


@bare_inlined
def _slope(rate: float, interval: float) -> float:
    """λ̂·g(c): the slope of log(1 - e^(-λc)) in log λ."""
    x = rate * interval
    return x / math.expm1(x) if 1e-9 < x < 500.0 else 1.0 if x < 1.0 else 0.0


@bare_inlined
def joint_interval(n: float, c: float, interval: float, rate: float) -> float:
    """c': the interval that represents n changes within c and one more within `interval`."""
    wanted = (n * _slope(rate, c) + _slope(rate, interval)) / (n + 1.0)
    if wanted >= 1.0 - 1e-9:
        return 0.0
    low, high = min(c, interval), max(c, interval)
    # x / (e^x - 1) is about e^(-x/2) for small x; Newton's method in x, inside the bracket
    x = min(max(-2.0 * math.log(max(wanted, 1e-200)), rate * low), rate * high)
    for _ in range(_NEWTON_STEPS):
        grown = math.expm1(min(x, 500.0))
        if grown <= 0.0:
            break
        value = x / grown
        slope = value / x - value * (grown + 1.0) / grown
        step = (wanted - value) / slope if slope < 0.0 else 0.0
        x = min(max(x + step, rate * low), rate * high)
        if abs(step) <= 1e-3 * x:
            break
    return x / rate


@bare_inlined
def stored_changes(n: float) -> np.uint16:
    """n as it is stored."""
    return np.uint16(np.int64(min(n, MOST_CHANGES) / UNIT + 0.5))


@bare_inlined
def stored_times(v: float, c: float, drawn: float) -> np.float32:
    """v and c as they are stored in one number; `drawn` (0 to 1) decides between two neighbouring steps of c."""
    code = 0
    if c > 0.0:
        code = int(min(max(math.log2(c) * INTERVAL_STEPS + 1.0 + drawn, 1.0), float(_CODES)))
    bits = np.int64(np.float32(v).view(np.uint32))
    return np.uint32(((bits + 128) & ~_CODES) | code).view(np.float32)


@bare_inlined
def stored_interval(b: np.float32) -> float:
    """c, from such a number."""
    code = np.int64(np.float32(b).view(np.uint32)) & _CODES
    return math.exp2((code - 1.0) / INTERVAL_STEPS) if code > 0 else 0.0


@bare_inlined
def scaled_down(n: float) -> float:
    """The share of n and v that is stored: 1 unless n is too large."""
    return MOST_CHANGES / n if n > MOST_CHANGES else 1.0
