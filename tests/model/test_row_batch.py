import numpy as np

from centime.model.row_batch import NO_WEIGHTS, RowBatch


def test_rows_in_ascending_order_keep_their_links_and_weights() -> None:
    starts, lengths = np.array([1, 4]), np.array([3, 2])
    targets = np.array([9, 5, 3, 4, 7, 1], dtype=np.int32)
    weights = np.array([0.0, 0.5, 0.3, 0.2, 0.6, 0.4])
    rows = RowBatch(starts, lengths, targets, weights).ascending()
    assert rows.links().tolist() == [3, 4, 5, 1, 7]
    assert rows.shares().tolist() == [0.3, 0.2, 0.5, 0.4, 0.6]
    equal = RowBatch(starts, lengths, targets, NO_WEIGHTS).ascending()
    assert equal.links().tolist() == [3, 4, 5, 1, 7]
    assert len(equal.shares()) == 0
