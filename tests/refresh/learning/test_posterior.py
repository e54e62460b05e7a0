import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.learning import posterior
from centime.refresh.learning.pooling import first_weights, with_prior
from centime.refresh.learning.posterior import CENTRE, LEAST_SHAPE, MOST_SHAPE
from centime.refresh.tables import GRID_POINTS, RefreshTables, empty_refresh_tables

weigh = posterior.weigh
fresh_shares = posterior.fresh_shares
matching_gamma = posterior.matching_gamma
mean_gamma = posterior.mean_gamma
quantile_octaves = posterior.quantile_octaves

M = 1e-6
RATIOS = np.exp2((np.arange(GRID_POINTS) - CENTRE) / 2)


def weighed(n: float, c: float, v: float) -> RefreshTables:
    t = with_prior(empty_refresh_tables(), M)
    weigh(t, n, c, v, M)
    return t


@given(st.floats(0.0, 64.0), st.one_of(st.just(0.0), st.floats(1.0, 1e8)), st.floats(0.0, 1e8))
def test_the_posterior_is_the_prior_times_the_likelihood(n: float, c: float, v: float) -> None:
    rates = M * RATIOS
    logs = np.log(first_weights()) - rates * v + n * (np.log(-np.expm1(-rates * c)) if c else np.log(rates))
    expected = np.exp(logs - logs.max())
    expected /= expected.sum()
    assert weighed(n, c, v).scratch == pytest.approx(expected, rel=0.05, abs=2e-3)


@given(st.floats(0.0, 64.0), st.one_of(st.just(0.0), st.floats(1e3, 1e7)), st.floats(0.0, 1e8), st.floats(1e3, 1e7))
def test_the_gamma_is_as_fresh_as_the_posterior_at_its_age_and_until_then(
    n: float, c: float, v: float, age: float
) -> None:
    t = weighed(n, c, v)
    fresh, mean, _ = fresh_shares(t, M, age)
    shape, rate = matching_gamma(fresh, mean, age)
    assert LEAST_SHAPE <= shape <= MOST_SHAPE
    if 1e-6 < fresh < 0.999:
        assert (1 + age / rate) ** -shape == pytest.approx(fresh, rel=1e-6)
        whole = rate / age * math.expm1((1 - shape) * math.log1p(age / rate)) / (1 - shape) if shape != 1 else mean
        assert whole == pytest.approx(mean, abs=0.02)


def test_where_the_mean_decides_the_gamma_has_it() -> None:
    t = weighed(3.0, 1e5, 4e6)
    shape, rate = mean_gamma(t, M)
    assert shape / rate == pytest.approx(M * (t.scratch * RATIOS).sum())


@given(st.floats(0.01, 0.99))
def test_a_quantile_has_its_share_below_it(share: float) -> None:
    t = weighed(0.0, 0.0, 0.0)
    edges = (np.arange(GRID_POINTS + 1) - CENTRE - 0.5) / 2
    below = np.interp(quantile_octaves(t, share), edges, np.concatenate([[0.0], np.cumsum(t.scratch)]))
    assert below == pytest.approx(share, abs=1e-3)
