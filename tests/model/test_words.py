"""Words are columns of one length."""

import numpy as np

from centime.model.words import Words


def test_a_page_has_as_many_words_as_each_column_has_entries() -> None:
    column = np.arange(3, dtype=np.int64)
    assert len(Words(column, column, column, column, 1)) == 3
