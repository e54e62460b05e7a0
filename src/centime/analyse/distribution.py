"""A plot of the distribution of scores: the share of pages with a score of at least x, over x, on logarithmic axes.

If importance follows a power law, P(X >= x) ~ x^-(a-1), the tail is a straight line. Its exponent a is estimated from
the best tenth of the pages with the mean of log(x / x_least) (Hill): a - 1 = 1 / mean.

Trap: a straight line does not prove a power law; the exponent states how steep the tail is, not what caused it.
"""

import io

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

TAIL = 0.1
POINTS = 400


def tail_exponent(scores: npt.NDArray[np.float64]) -> float:
    """The exponent a of the best tenth; infinite if those scores are all equal."""
    best = np.sort(scores)[::-1][: max(2, int(len(scores) * TAIL))]
    mean = float(np.log(best / best[-1]).mean()) if best[-1] > 0 else 0.0
    return 1.0 + 1.0 / mean if mean > 0 else float("inf")


def draw_distribution(scores: npt.NDArray[np.float64], title: str, small_print: str) -> bytes:
    """The plot as the bytes of a PNG file."""
    ordered = np.sort(scores[scores > 0])[::-1]
    places = np.unique(np.geomspace(1, max(1, len(ordered)), POINTS).astype(np.int64)) - 1
    figure = Figure(figsize=(7.2, 4.6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    if len(ordered):
        axes.loglog(ordered[places], (places + 1) / len(scores), color="#0072b2", linewidth=2)
    axes.set_title(f"{title}: the best tenth falls with exponent {tail_exponent(scores):.2f}", loc="left", fontsize=11)
    axes.set_xlabel(f"score\n{small_print}", loc="left", fontsize=9)
    axes.set_ylabel("share of pages with this score or more")
    axes.grid(visible=True, which="major", color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()
