"""The distribution of scores: the exponent of a law that is known, and a picture of anything."""

import numpy as np
import pytest

from centime.analyse.distribution import draw_distribution, tail_exponent


@pytest.mark.parametrize("exponent", [1.8, 2.1, 3.0])
def test_the_exponent_of_a_power_law_is_found(exponent: float) -> None:
    share = (np.arange(100_000) + 0.5) / 100_000
    assert tail_exponent(share ** (-1 / (exponent - 1))) == pytest.approx(exponent, rel=0.02)


def test_scores_that_are_all_alike_have_no_tail() -> None:
    assert tail_exponent(np.ones(50)) == float("inf")
    assert tail_exponent(np.zeros(50)) == float("inf")


@pytest.mark.parametrize("scores", [np.ones(1), np.zeros(3), np.random.default_rng(0).pareto(1.1, 1000)])
def test_any_scores_make_a_picture(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    assert draw_distribution(scores, "Scores", "small print").startswith(b"\x89PNG")
