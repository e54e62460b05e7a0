import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from centime.refresh.learning.gamma import digamma, shape_of_spread

SHAPES = st.floats(0.05, 200.0)


@given(SHAPES)
def test_digamma_is_that_of_the_library(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-10, abs=1e-10)


@given(st.floats(0.3, 9.0))
def test_the_shape_of_a_spread_is_found_again_and_kept_within_bounds(k: float) -> None:
    assert shape_of_spread(math.log(k) - digamma(k), 0.2, 10.0) == pytest.approx(k, rel=1e-6)
    assert shape_of_spread(np.inf, 0.2, 10.0) == pytest.approx(0.2)
    assert shape_of_spread(0.0, 0.2, 10.0) == pytest.approx(10.0)
