"""Append-only files: writers and readers read items back by offset, and bytes after the end are ignored."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.files import appended
from centime.files.appended import BLOCK, HEAD_BYTES, AppendedFile
from centime.files.disk import room_for
from centime.model.errors import DamagedFile, NoRoom


@given(
    st.lists(st.binary(max_size=40), max_size=8),
    st.lists(st.binary(max_size=40), max_size=8),
    st.sampled_from([1, 4, 8]),
)
@settings(max_examples=40, deadline=None)
def test_items_come_back_by_offset_from_file_and_memory(
    in_file: list[bytes], in_memory: list[bytes], unit: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "items.bin"
        writer = AppendedFile.open(path, "items", None, writable=True, unit=unit)
        places = [writer.append(item) for item in in_file]
        state = writer.state()
        before = path.read_bytes()
        reader = AppendedFile.open(path, "items", state, writable=False, unit=unit)
        places += [reader.append(item) for item in in_memory]
        assert path.read_bytes() == before
        for item in in_memory:
            writer.append(item)
        for place, item in zip(places, in_file + in_memory, strict=True):
            assert place % unit == 0
            assert place >= HEAD_BYTES
            assert reader.read(place, len(item)) == writer.read(place, len(item)) == item
        assert reader.length == writer.length
        assert len(writer.tail) == 0
        assert np.concatenate([reader.base, reader.tail]).tobytes() == writer.base.tobytes()
        writer.close()
        reader.close()
        assert path.stat().st_size == writer.length


def test_going_back_to_a_state_forgets_what_came_behind_and_gives_the_same_file_again(tmp_path: Path) -> None:
    path = tmp_path / "items.bin"
    chance = np.random.default_rng(1)
    items = [chance.integers(0, 255, 300_000, dtype=np.uint8) for _ in range(20)]
    writer = AppendedFile.open(path, "items", None, writable=True, unit=8)
    for item in items[:7]:
        writer.append(item)
    state = writer.state()
    for item in items[7:]:
        writer.append(item)
    end = writer.state()
    content = writer.base.tobytes()
    again = AppendedFile.open(path, "items", state, writable=True, unit=8)  # as after a kill: nothing was closed
    assert again.append(b"other") == int(state[0])
    again.truncate(int(state[0]))
    for item in items[7:]:
        again.append(item)
    assert again.base.tobytes() == content
    assert (again.state() == end).all()
    assert again.damaged_blocks(end) == []
    again.truncate(int(state[0]))
    assert (again.state() == state).all()


def test_a_file_grows_past_its_first_room_and_old_views_live_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appended, "SMALLEST_STEP", 4096)
    file = AppendedFile.open(tmp_path / "items.bin", "items", None, writable=True)
    first = file.append(b"first")
    view = file.base
    for number in range(200):
        file.append(bytes([number]) * 1000)
    assert view[first : first + 5].tobytes() == b"first"
    assert file.base[first + 5 :: 1000].tolist() == list(range(200))
    with pytest.raises(ValueError, match="read-only"):
        file.base[0] = 1
    file.sync()
    file.close()
    file.close()


def test_every_turned_bit_is_found_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "items.bin"
    file = AppendedFile.open(path, "items", None, writable=True)
    file.append(np.arange(BLOCK // 4 + 50, dtype=np.uint64))
    state = file.state()
    file.close()
    for place in (HEAD_BYTES, BLOCK - 1, BLOCK, 2 * BLOCK - 1, int(state[0]) - 1):
        data = bytearray(path.read_bytes())
        data[place] ^= 16
        path.write_bytes(data)
        block = place // BLOCK * BLOCK
        with pytest.raises(
            DamagedFile, match=f"damaged between byte {block} and byte {min(block + BLOCK, int(state[0]))}"
        ):
            AppendedFile.open(path, "items", state, writable=False)
        data[place] ^= 16
        path.write_bytes(data)


@pytest.mark.parametrize("sizes", [(1,), (BLOCK - HEAD_BYTES,), (5, BLOCK * 3, 7), (BLOCK, BLOCK - HEAD_BYTES, 1)])
def test_damage_while_a_file_is_open_is_never_certified(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path = tmp_path / "items.bin"
    file = AppendedFile.open(path, "items", None, writable=True)
    for size in sizes:
        file.append(bytes(range(256)) * (size // 256) + bytes(size % 256))
        with path.open("r+b") as raw:  # somebody turns a bit that was written
            raw.seek(file.length - 1)
            bit = raw.read(1)[0] ^ 1
            raw.seek(file.length - 1)
            raw.write(bytes([bit]))
    state = file.state()
    file.close()
    with pytest.raises(DamagedFile, match="damaged between"):
        AppendedFile.open(path, "items", state, writable=True)
    other = AppendedFile.open(path, "items", state, writable=True, verify=False)
    assert len(other.damaged_blocks(state)) >= 1
    other.close()


def test_a_file_that_is_short_foreign_or_newer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.bin"
    file = AppendedFile.open(path, "items", None, writable=True)
    file.append(b"something")
    state = file.state()
    file.close()
    with pytest.raises(DamagedFile, match="not a 'rows' file"):
        AppendedFile.open(path, "rows", state, writable=False)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(DamagedFile, match="cut short at byte 24 of 25"):
        AppendedFile.open(path, "items", state, writable=True)
    path.write_bytes(data[:7] + b"\x02" + data[8:])
    with pytest.raises(DamagedFile, match="format version 2; this version reads 1"):
        AppendedFile.open(path, "items", state, writable=True)


@pytest.mark.parametrize("size", range(HEAD_BYTES + 1))
def test_a_file_cut_anywhere_in_its_head_is_refused(tmp_path: Path, size: int) -> None:
    file = AppendedFile.open(tmp_path / "x", "test", None, writable=True)
    file.append(b"item")
    state = file.state()
    file.close()
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:size])
    with pytest.raises(DamagedFile, match=f"cut short at byte {size} of {HEAD_BYTES + 4}"):
        AppendedFile.open(tmp_path / "x", "test", state, writable=False)


def test_a_reader_without_a_file_keeps_all_in_memory(tmp_path: Path) -> None:
    reader = AppendedFile.open(tmp_path / "none.bin", "items", None, writable=False)
    place = reader.append(b"mine")
    assert reader.read(place, 4) == b"mine"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, at: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = os.posix_fallocate
    monkeypatch.setattr(appended, "SMALLEST_STEP", 4096)
    file = AppendedFile.open(tmp_path / "items.bin", "items", None, writable=True)
    place = file.append(b"kept")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NoRoom, match=r"items\.bin: the disk is full"):
        file.append(bytes(10_000))
    assert (file.read(place, 4), file.length) == (b"kept", place + 4)
    monkeypatch.setattr(os, "posix_fallocate", real)
    assert file.append(bytes(10_000)) == place + 4


def test_a_small_file_takes_little_room_and_a_large_one_few_steps(tmp_path: Path) -> None:
    file = AppendedFile.open(tmp_path / "items.bin", "items", None, writable=True)
    file.append(b"small")
    assert file.path.stat().st_blocks * 512 <= 300 << 10
    maps = 0
    for _ in range(64):
        before = file._room
        file.append(bytes(1 << 20))
        assert file._room <= 2 * file.length
        maps += file._room != before
    assert maps <= 9


def test_where_there_is_no_room_in_advance_an_item_takes_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, real = 10_000, os.posix_fallocate

    def nearly_full(handle: int, at: int, length: int) -> None:
        nonlocal free
        if length > free:
            real(handle, at, free)  # as ext4 does: a part is allocated, and stays so
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        free -= length
        real(handle, at, length)

    file = AppendedFile.open(tmp_path / "items.bin", "items", None, writable=True)
    monkeypatch.setattr(os, "posix_fallocate", nearly_full)
    places = [file.append(bytes([number]) * 3000) for number in range(3)]
    with pytest.raises(NoRoom, match=r"items\.bin: the disk is full"):
        file.append(bytes(3000))
    assert [file.read(place, 3000)[:1] for place in places] == [b"\0", b"\1", b"\2"]
    assert file.path.stat().st_size == file.length == HEAD_BYTES + 9000
    state = file.state()
    assert AppendedFile.open(file.path, "items", state, writable=False).damaged_blocks(state) == []


def test_a_file_that_the_system_wants_smaller_is_not_called_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(NoRoom, match=r"x: the file is too large for `ulimit -f`"), room_for(tmp_path / "x"):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


LIMITED = """
import resource, sys
from pathlib import Path
from centime.model.errors import NoRoom
from centime.files import appended
appended.SMALLEST_STEP = appended.LARGEST_STEP = 8192
file = appended.AppendedFile.open(Path(sys.argv[1]), "items", None, writable=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    while True:
        file.append(b"x" * 100)
except NoRoom:
    assert file.base[16:].tobytes() == b"x" * (file.length - 16)
    sys.exit(7)
"""


def test_a_real_limit_of_the_system_is_no_room_and_no_crash(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "items.bin")], check=False).returncode == 7


def test_offsets_end_where_32_bits_of_units_do(tmp_path: Path) -> None:
    file = AppendedFile.open(tmp_path / "items.bin", "items", None, writable=True, unit=4)
    file.length = (4 << 32) - 4
    with pytest.raises(NoRoom, match="has reached 16 GiB"):
        file.append(b"five.")
