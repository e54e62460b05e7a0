"""Numbers in as few bytes as they need: they come back as they were, and no bytes lead outside."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from centime.model.varint import LONGEST, read_signed, read_varint, varint_size, write_signed, write_varint


@given(st.integers(0, 2**56 - 1), st.integers(0, 3))
def test_a_number_comes_back_as_it_was(value: int, at: int) -> None:
    octets = np.zeros(at + LONGEST, dtype=np.uint8)
    end = write_varint(octets, at, value)
    assert end - at == varint_size(value) == max(1, -(-value.bit_length() // 7))
    assert read_varint(octets, at) == (value, end)


@given(st.integers(-(2**61), 2**61), st.integers(0, 3))
def test_a_signed_number_comes_back_as_it_was(value: int, at: int) -> None:
    octets = np.zeros(at + LONGEST, dtype=np.uint8)
    end = write_signed(octets, at, value)
    assert end - at <= LONGEST
    assert read_signed(octets, at) == (value, end)


def test_small_numbers_of_both_signs_take_one_byte() -> None:
    octets = np.zeros(LONGEST, dtype=np.uint8)
    assert [write_signed(octets, 0, value) for value in (-64, -1, 0, 1, 63)] == [1] * 5
    assert write_signed(octets, 0, 64) == 2


@given(st.binary(max_size=12))
def test_zeros_follow_the_end_of_the_bytes(octets: bytes) -> None:
    given_bytes = np.frombuffer(octets, dtype=np.uint8)
    padded = np.append(given_bytes, np.zeros(LONGEST, dtype=np.uint8))
    assert read_varint(given_bytes, 0) == read_varint(padded, 0)
    assert read_signed(given_bytes, 0) == read_signed(padded, 0)
    assert 0 <= read_varint(given_bytes, 0)[0] < 2**56
