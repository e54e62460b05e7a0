import numpy as np
import pytest

from centime.model.errors import StoreBroken
from centime.store.columns import Columns


def test_columns_grow_together_and_begin_as_zeros() -> None:
    columns = Columns({"host": np.uint32, "depth": np.uint8})
    for count in (1, 5, 5, 3, 100, 101):
        before = columns.count
        columns.reach(count)
        assert columns.count == max(before, count)
        columns["host"][before:] = np.arange(before, columns.count)
        assert columns["host"].tolist() == list(range(columns.count))
        assert not columns["depth"].any()
    assert columns.nbytes >= 101 * 5
    assert columns.nbytes <= 126 * 5


def test_columns_are_made_again_from_their_state() -> None:
    columns = Columns({"host": np.uint32})
    columns.reach(10)
    columns["host"][:] = 7
    again = Columns({"host": np.uint32}, columns.state())
    again["host"][3] = 9
    assert columns["host"][3] == 7  # nothing is shared
    again["host"][3] = 7
    again.reach(12)
    assert again["host"].tolist() == [7] * 10 + [0, 0]
    with pytest.raises(StoreBroken, match=r"not \[1, 2\]"):
        Columns({"a": np.uint8, "b": np.uint8}, {"a": np.zeros(1, np.uint8), "b": np.zeros(2, np.uint8)})
