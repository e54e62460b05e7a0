import gzip
import zlib
from contextlib import suppress

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.fetch.coding import PIECE, BrokenCoding, decoder_for


def _raw(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODERS = {
    "gzip": gzip.compress,
    "X-GZIP": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def _undo(coding: str, data: bytes, step: int = 1 << 20) -> bytes:
    decoder = decoder_for(coding)
    assert decoder is not None
    pieces = [piece for start in range(0, len(data), step) for piece in decoder.pieces(data[start : start + step])]
    assert all(len(piece) <= 2 * PIECE for piece in pieces)
    decoder.finish()
    return b"".join(pieces)


@given(st.sampled_from(sorted(CODERS)), st.binary(max_size=2000), st.integers(1, 300), st.integers(1, 200))
def test_what_was_coded_comes_back_however_it_is_cut(coding: str, data: bytes, times: int, step: int) -> None:
    assert _undo(coding, CODERS[coding](data * times), step) == data * times


@given(st.binary(max_size=5000), st.integers(1, 50))
def test_bare_deflate_is_understood(data: bytes, step: int) -> None:
    assert _undo("deflate", _raw(data + b"x"), step) == data + b"x"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_no_piece_is_larger_than_the_bound(coding: str) -> None:
    data = bytes(20 * PIECE)
    assert _undo(coding, CODERS[coding](data)) == data


def test_codings_of_codings_are_undone_in_order() -> None:
    assert _undo("gzip, br", brotli.compress(gzip.compress(b"hello"))) == b"hello"
    assert _undo("zstd,identity, deflate", zlib.compress(zstd.compress(b"hello"))) == b"hello"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_follow_each_other(coding: str) -> None:
    assert _undo(coding, CODERS[coding](b"a") + CODERS[coding](b"b"), 3) == b"ab"
    assert _undo(coding, CODERS[coding](b"a") + b"\x00\x00 trailing bytes", 3) == b"a"


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "deflate"])
def test_a_body_that_is_not_coded_at_all_is_taken_as_it_is(coding: str) -> None:
    for step in (1, 2, 5, 100):
        assert _undo(coding, b"<html>plain</html>", step) == b"<html>plain</html>"
        assert _undo(coding, b"hello and much more", step) == b"hello and much more"
    assert _undo(coding, b"") == b""


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "deflate"])
@pytest.mark.parametrize("behind", [b"\n", b"x" * 200])
def test_bytes_behind_the_end_are_ignored_however_they_are_cut(coding: str, behind: bytes) -> None:
    packed = CODERS[coding](b"hello" * 50)
    for step in (1, len(packed), len(packed) + 1, 1 << 20):
        assert _undo(coding, packed + behind, step) == b"hello" * 50
    long = bytes(range(256)) * 1000
    assert _undo(coding, CODERS[coding](long) + behind, 5000) == long


@pytest.mark.parametrize("coding", ["deflate", "br", "zstd"])
@settings(max_examples=50)
@given(st.binary(max_size=40), st.integers(0, 60), st.binary(max_size=4), st.integers(1, 30))
def test_a_damaged_body_is_the_same_however_it_is_cut(
    coding: str, data: bytes, at: int, damage: bytes, step: int
) -> None:
    body = bytearray(CODERS[coding](data + b"hello, hello"))
    body[at : at + 2] = damage
    results: list[bytes | None] = []
    for cut in (step, 1 << 20):
        try:
            results.append(_undo(coding, bytes(body), cut))
        except BrokenCoding:
            results.append(None)
    assert results[0] == results[1]


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "deflate"])
def test_a_body_that_ends_early_or_breaks_is_broken(coding: str) -> None:
    data = bytes(range(256)) * 4000
    packed = CODERS[coding](data)
    with pytest.raises(BrokenCoding):
        _undo(coding, packed[: len(packed) // 2])


def test_names_that_mean_nothing_are_passed_over() -> None:
    assert decoder_for("identity") is None
    assert decoder_for("utf-8, none") is None
    with pytest.raises(BrokenCoding):
        decoder_for("gzip, gzip, br, zstd")


@given(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br"]), st.binary(max_size=200), st.integers(1, 50))
@settings(max_examples=300)
def test_whatever_the_bytes_they_are_undone_or_broken(coding: str, data: bytes, step: int) -> None:
    head = {"gzip": gzip.compress(b"")[:10], "zstd": zstd.compress(b"x" * 50)[:6]}.get(coding, b"")
    for start in (b"", head):
        with suppress(BrokenCoding):
            assert isinstance(_undo(coding, start + data, step), bytes)
