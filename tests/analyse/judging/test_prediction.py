import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kendalltau

from centime.analyse.judging.measures import auc, curve, cut_marks, folds_of, precision_at, tau_b
from centime.analyse.judging.ordinal import best_ridge, cross_validated, fit

VALUES = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=2, max_size=30)


@given(VALUES)
def test_tau_b_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    values, marks = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    found = tau_b(values * 1e9, marks)
    expected = float(kendalltau(values, marks).statistic) if len(set(values)) > 1 < len(set(marks)) else None
    assert found == (None if expected is None else pytest.approx(expected))


@given(VALUES)
def test_auc_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[int, int]]) -> None:
    values, marks = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    kept = marks >= 3
    better = [(a > b) + (a == b) / 2 for a in values[kept] for b in values[~kept]]
    assert auc(values, kept) == (pytest.approx(np.mean(better)) if better else None)


def test_precision_and_recall_take_sites_of_equal_value_together() -> None:
    points = curve(np.array([5.0, 3.0, 3.0, 1.0]), np.array([True, False, True, True]))
    assert [(one.sites, one.precision, one.recall) for one in points] == [
        (1, 1.0, 1 / 3),
        (3, 2 / 3, 2 / 3),
        (4, 3 / 4, 1.0),
    ]
    assert precision_at(points, 0.5) == 2 / 3
    assert curve(np.array([1.0]), np.array([False])) == []
    assert precision_at([], 0.5) is None


def test_cuts_come_from_the_other_folds_and_keep_the_shares_of_marks() -> None:
    values = np.arange(40, dtype=np.float64)
    marks = np.repeat([1, 2, 3, 4], 10)
    folds = folds_of(tuple(map(str, range(40))), marks, 5)
    assert np.bincount(folds).tolist() == [8] * 5
    assert all(set(marks[folds == fold].tolist()) == {1, 2, 3, 4} for fold in range(5))
    assert (cut_marks(values, marks, folds) == marks).mean() >= 0.9
    shuffled = np.random.default_rng(0).permutation(marks)
    assert (cut_marks(values, shuffled, folds) == shuffled).mean() < 0.5


def planted(sites: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(7)
    criteria = chance.normal(size=(sites, 4)) * [1, 100, 1, 0] + [0, 50, 0, 3]
    worth = 1.5 * criteria[:, 0] - 0.01 * criteria[:, 1] + noise * chance.logistic(size=sites)
    return criteria, 1 + np.searchsorted([-1.5, 0.0, 1.5], worth)


def test_the_fit_is_the_maximum_that_an_independent_optimiser_finds() -> None:
    criteria, marks = planted(120, 1.0)
    ridge = 2.0
    model = fit(criteria, marks, ridge)
    z = model.standardised(criteria)

    def loss(parameters: np.ndarray) -> float:
        cuts, beta = np.cumsum(np.append(parameters[0], np.exp(parameters[1:3]))), parameters[3:]
        below = 1 / (1 + np.exp(-(cuts - (z @ beta)[:, None])))
        edges = np.column_stack([np.zeros(len(z)), below, np.ones(len(z))])
        right = np.diff(edges, axis=1)[np.arange(len(z)), marks - 1]
        return float(-np.log(right).sum() + ridge / 2 * beta @ beta)

    found = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-6})
    mine = np.concatenate([[model.thresholds[0]], np.log(np.diff(model.thresholds)), model.coefficients])
    assert loss(mine) <= found.fun + 1e-6
    assert model.coefficients == pytest.approx(found.x[3:], abs=1e-3)
    assert model.coefficients[3] == 0.0, "a criterion that is the same for all sites"
    assert model.contributions(criteria).sum(axis=1) == pytest.approx(z @ model.coefficients)
    assert model.probabilities(criteria).sum(axis=1) == pytest.approx(np.ones(120))


def test_a_model_predicts_marks_that_it_has_not_seen_and_none_from_noise() -> None:
    criteria, marks = planted(200, 0.5)
    folds = folds_of(tuple(map(str, range(200))), marks, 5)
    seen = cross_validated(criteria, marks, folds)
    commonest = np.bincount(marks).max() / 200
    assert (seen.mark == marks).mean() > commonest + 0.2
    shuffled = np.random.default_rng(1).permutation(marks)
    folds = folds_of(tuple(map(str, range(200))), shuffled, 5)
    blind = cross_validated(criteria, shuffled, folds)
    assert (blind.mark == shuffled).mean() < commonest + 0.08
    assert best_ridge(criteria, shuffled, folds) > best_ridge(criteria, marks, folds)


def test_a_mark_that_was_never_given_is_never_predicted() -> None:
    criteria, marks = planted(60, 0.5)
    model = fit(criteria, np.where(marks == 2, 3, marks), 1.0)
    assert model.levels.tolist() == [1, 3, 4]
    assert set(model.predict(criteria).mark.tolist()) <= {1, 3, 4}
    assert model.log_loss(criteria[:1], np.array([2])) > 600
    assert fit(criteria, np.full(60, 3), 1.0).predict(criteria).mean.tolist() == [3.0] * 60
