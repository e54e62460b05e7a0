"""Frames: only the frame that was written is accepted, and a frame after a gap is recognised."""

from hypothesis import given
from hypothesis import strategies as st

from centime.files.frame import FRAME, frame_at, frame_behind, frame_head

CHAIN = 5


def framed(kind: int, index: int, payload: bytes) -> bytes:
    return frame_head(kind, index, payload, CHAIN)[0] + payload


@given(st.integers(1, 255), st.integers(0, 2**64 - 1), st.binary(max_size=100), st.binary(max_size=20))
def test_a_frame_is_read_back_whatever_follows(kind: int, index: int, payload: bytes, rest: bytes) -> None:
    assert frame_at(b"xy" + framed(kind, index, payload) + rest, 2, index, CHAIN) == (
        kind,
        payload,
        frame_head(kind, index, payload, CHAIN)[1],
    )


@given(st.integers(1, 255), st.integers(0, 2**64 - 1), st.binary(max_size=60), st.data())
def test_a_frame_with_any_bit_turned_or_cut_is_none(kind: int, index: int, payload: bytes, data: st.DataObject) -> None:
    frame = bytearray(framed(kind, index, payload))
    assert frame_at(bytes(frame), 0, index + 1, CHAIN) is None
    assert frame_at(bytes(frame[: data.draw(st.integers(0, len(frame) - 1))]), 0, index, CHAIN) is None
    assert frame_at(bytes(frame), 0, index, CHAIN + 1) is None
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= 1 << data.draw(st.integers(0, 7))
    assert frame_at(bytes(frame), 0, index, CHAIN) is None


def test_zeros_are_no_frame() -> None:
    assert all(frame_at(bytes(4096), 0, index, CHAIN) is None for index in range(1000))
    assert frame_behind(bytes(4096), 0) is None


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=8), st.binary(max_size=40), st.integers(0, 10**6))
def test_the_first_frame_behind_a_hole_is_found_by_its_index(
    payloads: list[bytes], follower: bytes, index: int
) -> None:
    hole = sum(FRAME.size + len(payload) for payload in payloads)
    data = bytes(hole) + framed(7, index + len(payloads), follower)
    assert frame_behind(data, index) == hole


@given(st.integers(0, 3), st.binary(max_size=40))
def test_a_frame_whose_index_does_not_fit_the_hole_is_not_taken_for_a_follower(back: int, payload: bytes) -> None:
    assert frame_behind(bytes(30) + framed(7, 100 - back, payload), 100) is None
    assert frame_behind(bytes(30) + framed(7, 102, payload), 100) is None  # 30 bytes have no room for two frames


def test_what_a_stopped_writer_leaves_has_no_frame_behind() -> None:
    text = b"".join(index.to_bytes(4, "little") for index in range(5000))
    assert frame_behind(framed(3, 9, text)[:-1], 9) is None


@given(st.lists(st.binary(max_size=10), min_size=2, max_size=6, unique=True), st.data())
def test_a_chain_stands_for_all_frames_before_it_in_their_order(payloads: list[bytes], data: st.DataObject) -> None:
    def chain_of(listed: list[bytes]) -> int:
        chain = CHAIN
        for index, payload in enumerate(listed):
            chain = frame_head(1, index, payload, chain)[1]
        return chain

    other = data.draw(st.permutations(payloads))
    assert (chain_of(payloads) == chain_of(other)) == (payloads == other)
    assert chain_of(payloads[1:]) != chain_of(payloads)
