import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from centime.refresh.learning.gamma import digamma, quantile, shape_of_spread, share_below

SHAPES = st.floats(0.05, 200.0)


@given(SHAPES)
def test_digamma_is_that_of_the_library(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-10, abs=1e-10)


@given(SHAPES, st.floats(0.0, 500.0))
def test_the_share_below_is_that_of_the_library(shape: float, y: float) -> None:
    assert share_below(shape, y) == pytest.approx(special.gammainc(shape, y), rel=1e-9, abs=1e-12)


@given(SHAPES, st.floats(0.001, 0.999))
def test_a_quantile_has_its_share_below_it(shape: float, share: float) -> None:
    assert quantile(shape, share) == pytest.approx(special.gammaincinv(shape, share), rel=1e-7)


@given(st.floats(0.3, 9.0))
def test_the_shape_of_a_spread_is_found_again_and_kept_within_bounds(k: float) -> None:
    assert shape_of_spread(math.log(k) - digamma(k), 0.2, 10.0) == pytest.approx(k, rel=1e-6)
    assert shape_of_spread(np.inf, 0.2, 10.0) == pytest.approx(0.2)
    assert shape_of_spread(0.0, 0.2, 10.0) == pytest.approx(10.0)
