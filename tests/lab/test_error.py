import numpy as np
import pytest

from centime.lab.error import mean_error, top_pages, true_importance
from centime.lab.synthetic.graphs import power_law


def test_the_error_is_the_mean_of_relative_errors_in_percent() -> None:
    assert mean_error(np.array([1.5, 2.0]), np.array([1.0, 4.0])) == pytest.approx(50.0)


def test_the_error_among_the_top_counts_the_tenth_of_the_pages_that_is_most_important() -> None:
    importance = np.arange(1.0, 21.0)
    estimate = importance.copy()
    estimate[[18, 19]] *= [1.1, 1.3]
    assert mean_error(estimate, importance, "top") == pytest.approx(20.0)
    assert mean_error(estimate, importance) == pytest.approx(2.0)


def test_a_web_of_few_pages_has_a_top_page_too() -> None:
    assert top_pages(np.array([1.0, 3.0, 2.0])).tolist() == [1]


def test_the_true_importance_is_the_same_from_any_start() -> None:
    web = power_law(500, 1)
    cold = true_importance(web)
    assert mean_error(true_importance(web, start=np.arange(500.0)), cold) < 1e-9
    assert cold.mean() == pytest.approx(1.0)
