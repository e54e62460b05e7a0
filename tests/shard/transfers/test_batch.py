"""Batches of transfers: entries come back as they were, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.ledger.accounts import Sums
from centime.model.errors import TransferBroken
from centime.shard.transfers.batch import Batch, Name, chain_of, pack_batch, pack_entries, unpack_batch, unpack_entries

ENTRIES = st.dictionaries(st.integers(0, 2**31 - 2), st.integers(-(2**61), 2**61))


@given(ENTRIES)
def test_entries_come_back_as_they_were(entries: dict[int, int]) -> None:
    places = np.array(sorted(entries), dtype=np.int64)
    amounts = np.array([entries[place] for place in sorted(entries)], dtype=np.int64)
    again = unpack_entries(pack_entries(places, amounts), 2**31)
    assert (again[0].tolist(), again[1].tolist()) == (places.tolist(), amounts.tolist())


def test_an_entry_of_a_usual_amount_takes_five_bytes() -> None:
    amounts = np.random.default_rng(1).integers(-(2**26), 2**26, 1000)
    assert len(pack_entries(np.arange(1000), amounts)) <= 5 * 1000


@given(ENTRIES, st.data())
def test_a_place_beyond_the_dictionary_is_refused(entries: dict[int, int], data: st.DataObject) -> None:
    places = np.array(sorted({*entries, 7}), dtype=np.int64)
    packed = pack_entries(places, np.ones(len(places), dtype=np.int64))
    most = data.draw(st.integers(0, int(places[-1])))
    with pytest.raises(TransferBroken, match="damaged, or names a page"):
        unpack_entries(packed, most)


@given(st.binary(max_size=40))
def test_no_bytes_make_an_entry_outside_the_dictionary(octets: bytes) -> None:
    try:
        places, amounts = unpack_entries(octets, 5)
    except TransferBroken:
        return
    assert len(places) == len(amounts)
    assert all(0 <= place < 5 for place in places)


def test_a_batch_comes_back_and_what_is_none_is_refused() -> None:
    batch = Batch(7, Sums(1, 2, 3, 4), [Name("http://a.example/", 2, 1)], b"\x00\x02")
    packed = pack_batch(batch)
    assert unpack_batch(packed) == batch
    assert chain_of(packed) != chain_of(packed + b"\x00")
    with pytest.raises(TransferBroken, match="not a batch"):
        unpack_batch(packed[:-1])
    with pytest.raises(TransferBroken, match="not a batch"):
        unpack_batch(b"\x93\x01\x02\x03")
