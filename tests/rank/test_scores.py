import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from centime.rank.scores import Scores


def scored(values: list[float]) -> Scores:
    return Scores(np.array(values), "none", 0, 0.0, 0.0, 0.0)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]), max_size=30), st.integers(-2, 40))
def test_the_top_is_that_of_a_full_sort_with_the_lower_number_first_among_equals(
    values: list[float], count: int
) -> None:
    expected = sorted(range(len(values)), key=lambda page: (-values[page], page))[: max(0, count)]
    assert scored(values).top(count).tolist() == expected
