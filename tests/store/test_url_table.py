"""The URL table against a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.errors import NoRoom, StoreBroken
from centime.store import url_table
from centime.store.url_table import UrlTable

fingerprints = st.one_of(
    st.integers(1, 40), st.integers(1, 2**64 - 1), st.sampled_from([1 << 63, 1024, 2048, 4096, 2**64 - 1])
)


@given(st.lists(st.lists(fingerprints, max_size=60), max_size=6), st.lists(fingerprints))
@settings(deadline=None)
def test_pages_are_numbered_as_a_dictionary_would(batches: list[list[int]], asked: list[int]) -> None:
    table = UrlTable()
    model: dict[int, int] = {}
    for batch in batches:
        pages, is_new = table.find_or_add(np.array(batch, dtype=np.uint64))
        for fingerprint, page, new in zip(batch, pages.tolist(), is_new.tolist(), strict=True):
            assert new == (fingerprint not in model)
            assert page == model.setdefault(fingerprint, len(model))
    assert table.count == len(model)
    assert table.fingerprints.tolist() == list(model)
    assert table.find(np.array(asked, dtype=np.uint64)).tolist() == [
        model.get(fingerprint, -1) for fingerprint in asked
    ]
    table.check()


def test_a_table_grows_and_is_made_again_from_its_fingerprints_alone() -> None:
    chance = np.random.default_rng(5)
    every = chance.integers(1, 2**64 - 1, 100_000, dtype=np.uint64)
    table = UrlTable()
    for batch in np.array_split(every, 7):
        table.find_or_add(batch)
    table.check()
    again = UrlTable(table.state()["fingerprints"].copy())
    again.check()
    assert (again.find(every) == table.find(every)).all()
    pages, is_new = again.find_or_add(np.array([every[77], 3], dtype=np.uint64))
    assert (pages.tolist(), is_new.tolist()) == ([77, 100_000], [False, True])
    assert table.nbytes <= 100_000 * (8 * 5 / 4 + 4 / 0.375)


def test_how_fingerprints_are_cut_into_batches_changes_nothing() -> None:
    every = np.random.default_rng(6).integers(1, 5000, 20_000, dtype=np.uint64)
    whole, split = UrlTable(), UrlTable()
    whole.find_or_add(every)
    for batch in np.array_split(every, 33):
        split.find_or_add(batch)
    assert (whole.fingerprints == split.fingerprints).all()


def test_check_finds_two_pages_of_one_fingerprint_and_slots_that_are_wrong() -> None:
    with pytest.raises(StoreBroken, match="page 2 is found as page 0"):
        UrlTable(np.array([5, 6, 5], dtype=np.uint64)).check()
    table = UrlTable(np.array([5, 6], dtype=np.uint64))
    table._slots[900] = 1
    with pytest.raises(StoreBroken, match="3 slots in use for 2 pages"):
        table.check()


def test_page_numbers_end_where_32_bits_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_table, "LARGEST_PAGE_COUNT", 1024)
    with pytest.raises(NoRoom, match="1024 pages"):
        UrlTable().find_or_add(np.arange(1, 1100, dtype=np.uint64))
