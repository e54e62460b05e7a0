import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.errors import DamagedFile
from centime.store.versions.chain import packed, unpacked


@given(st.lists(st.binary(max_size=400), min_size=1, max_size=5))
def test_every_version_is_restored(versions: list[bytes]) -> None:
    before: bytes | None = None
    restored: bytes | None = None
    for version in versions:
        restored = unpacked(packed(version, before), restored, len(version))
        assert restored == version
        before = version


def large(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("size", [1 << 12, 1 << 20, 5 << 20])
def test_a_small_edit_of_a_document_takes_little_room_wherever_it_is(size: int) -> None:
    before = large(1, size)
    for edited in (
        b"x" + before,
        before + b"x",
        before[: size // 2] + b"edit" + before[size // 2 :],
        before[size // 2 :],
    ):
        frame = packed(edited, before)
        assert len(frame) < 60 + size // 500
        assert unpacked(frame, before, len(edited)) == edited


def test_a_frame_that_is_damaged_cut_or_of_another_version_is_an_error() -> None:
    before, body = large(1, 5_000), large(1, 5_000) + large(2, 300)
    frame = packed(body, before)
    with pytest.raises(DamagedFile):
        unpacked(frame[:-1], before, len(body))
    with pytest.raises(DamagedFile):
        unpacked(frame + b"x", before, len(body))
    with pytest.raises(DamagedFile):
        unpacked(frame, before, len(body) - 1)
    with pytest.raises(DamagedFile):
        unpacked(b"not a frame", before, len(body))


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(DamagedFile):
        unpacked(packed(bytes(100 << 20), None), None, 1_000)
