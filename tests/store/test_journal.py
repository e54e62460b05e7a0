"""The journal: after whatever happens it is a prefix of what was written, or it says where it is damaged.

Over 400 lines: one promise of the journal after the other, on the same few helpers.
"""

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.files.frame import FRAME, LARGEST_FRAME
from centime.files.listing import list_files
from centime.files.mark import SLOT_BYTES, Mark, create_mark, read_mark
from centime.model.errors import DamagedFile, NoRoom, StoreBroken
from centime.store.journal import CHUNK, HEAD_BYTES, Journal, mark_path

Frame = tuple[int, bytes]
IDENTITY = 77


def opened(folder: Path, writable: bool) -> Journal:
    """The journal in a folder, which is created if need be."""
    if writable and not any(folder.glob("*.log")):
        Journal.create(folder, IDENTITY)
    return Journal.open(folder, writable, IDENTITY)


def write(folder: Path, segments: list[list[Frame]]) -> None:
    journal = opened(folder, writable=True)
    for number, frames in enumerate(segments):
        if number:
            journal.rotate()
        for kind, payload in frames:
            journal.append(kind, payload)
    journal.close()


def read(folder: Path, start: int = 0) -> list[Frame]:
    found = list(opened(folder, writable=False).frames(start))
    assert [index for index, _, _ in found] == list(range(start, start + len(found)))
    return [(kind, payload) for _, kind, payload in found]


frames_of_a_segment = st.lists(st.tuples(st.integers(1, 255), st.binary(max_size=50)), max_size=6)


@given(st.lists(frames_of_a_segment, min_size=1, max_size=4), st.data())
@settings(max_examples=30, deadline=None)
def test_frames_come_back_from_any_start_over_all_segments(segments: list[list[Frame]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "journal"
        write(folder, segments)
        everything = [frame for frames in segments for frame in frames]
        start = data.draw(st.integers(0, len(everything)))
        assert read(folder, start) == everything[start:]
        again = opened(folder, writable=True)
        assert (again.next_index, again.cut_bytes) == (len(everything), 0)
        assert again.append(9, b"more") == len(everything)
        again.close()
        assert read(folder) == [*everything, (9, b"more")]


def test_frames_larger_than_a_chunk_come_back(tmp_path: Path) -> None:
    frames = [(1, bytes(CHUNK - 5)), (2, b"x" * (3 * CHUNK + 1)), (3, b""), (4, b"y" * CHUNK), (5, b"end")]
    write(tmp_path, [frames])
    assert read(tmp_path) == frames


def test_what_is_appended_but_not_flushed_is_not_there_and_a_sync_brings_it(tmp_path: Path) -> None:
    journal = opened(tmp_path, writable=True)
    assert [journal.append(1, b"a"), journal.append(2, b"b")] == [0, 1]
    assert read(tmp_path) == []
    journal.sync()
    assert read(tmp_path) == [(1, b"a"), (2, b"b")]
    journal.close()
    journal.close()
    with pytest.raises(StoreBroken, match="closed"):
        journal.flush()


def test_a_frame_needs_a_kind_and_a_size_that_can_be_written(tmp_path: Path) -> None:
    journal = opened(tmp_path, writable=True)
    for kind, payload in ((0, b""), (256, b""), (1, bytes(LARGEST_FRAME + 1))):
        with pytest.raises(StoreBroken, match="a frame has a kind"):
            journal.append(kind, payload)
    journal.close()


def test_old_segments_are_dropped_whole_and_only_when_nothing_in_them_is_needed(tmp_path: Path) -> None:
    write(tmp_path, [[(1, b"0"), (1, b"1")], [(1, b"2")], [(1, b"3")]])
    journal = opened(tmp_path, writable=True)
    assert journal.drop_before(1) == 0
    assert journal.drop_before(2) == 1
    assert (journal.first_index, read(tmp_path, 2)) == (2, [(1, b"2"), (1, b"3")])
    assert journal.drop_before(99) == 1
    assert read(tmp_path, 3) == [(1, b"3")]
    assert journal.nbytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    with pytest.raises(DamagedFile, match="begins with frame 3"):
        list(journal.frames(2))
    journal.close()


def test_a_journal_without_segments_or_without_the_last_ones_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    write(folder, [[(1, b"a")], [(2, b"b"), (3, b"c")]])
    (folder / "000002.log").rename(tmp_path / "last")
    for writable in (False, True):
        with pytest.raises(DamagedFile, match=r"ends with frame 0 in segment 1, but 2 more frames were confirmed"):
            Journal.open(folder, writable, IDENTITY)
    (folder / "000001.log").rename(tmp_path / "first")
    for writable in (False, True):
        with pytest.raises(DamagedFile, match="all segments of the journal are missing"):
            Journal.open(folder, writable, IDENTITY)
    assert list(folder.iterdir()) == []
    (tmp_path / "first").rename(folder / "000001.log")
    (tmp_path / "last").rename(folder / "000002.log")
    assert read(folder) == [(1, b"a"), (2, b"b"), (3, b"c")]


def test_segments_of_another_crawl_or_of_another_past_are_refused(tmp_path: Path) -> None:
    folder, other = tmp_path / "journal", tmp_path / "other"
    write(folder, [[(1, b"a")], [(1, b"b")]])
    Journal.create(other, IDENTITY + 1)
    Journal.open(other, True, IDENTITY + 1).close()
    kept = (folder / "000001.log").read_bytes()
    (folder / "000001.log").write_bytes((other / "000001.log").read_bytes())
    with pytest.raises(DamagedFile, match="belongs to another crawl"):
        Journal.open(folder, True, IDENTITY)
    past = tmp_path / "past" / "journal"
    past.parent.mkdir()
    write(past, [[(1, b"A")], [(1, b"b")]])
    (folder / "000001.log").write_bytes((past / "000001.log").read_bytes())
    with pytest.raises(DamagedFile, match=r"000002.log: does not follow the frames before it"):
        read(folder)
    (folder / "000001.log").write_bytes(kept)
    (folder / "000002.log").write_bytes((past / "000002.log").read_bytes())
    with pytest.raises(DamagedFile, match="are not those that were confirmed"):
        read(folder)


def test_a_snapshot_of_other_frames_does_not_go_with_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    write(folder, [[(1, b"a"), (1, b"b")], [(1, b"c")]])
    journal = opened(folder, writable=False)
    for frame in range(4):
        chain = journal.chain_at(frame)
        assert [index for index, _, _ in journal.frames(frame, chain)] == list(range(frame, 3))
        with pytest.raises(DamagedFile, match=f"the frames before frame {frame} are not those of the snapshot"):
            list(journal.frames(frame, chain ^ 1))
    with pytest.raises(DamagedFile, match="ends before frame"):
        list(journal.frames(4))
    with pytest.raises(DamagedFile, match="ends before frame"):
        journal.chain_at(4)


def test_a_lost_mark_is_said_and_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    write(folder, [[(1, b"a")]])
    for damage in (None, b"", b"x" * 8192, bytes(10), b"other"):
        if damage is None:
            mark_path(folder).unlink()
        elif damage == b"other":
            create_mark(mark_path(folder), Mark(IDENTITY + 1, 5, 1, 9, 9))
        else:
            mark_path(folder).write_bytes(damage)
        assert read(folder) == [(1, b"a")]
        journal = opened(folder, writable=True)
        assert len(journal.troubles) == 1
        assert "nothing proves that the journal is complete after frame 0" in journal.troubles[0]
        journal.close()
        assert opened(folder, writable=False).troubles == ()
        assert read_mark(mark_path(folder)) == Mark(IDENTITY, 0, 1, 1, journal.chain)


def test_a_torn_mark_leaves_the_one_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    journal = opened(folder, writable=True)
    for number in range(4):
        journal.append(1, bytes([number]))
        journal.sync()
        found = read_mark(mark_path(folder))
        assert found is not None
        assert found.frame == found.number == number + 1
        kept = mark_path(folder).read_bytes()
        torn = bytearray(kept)
        torn[found.number % 2 * SLOT_BYTES + 20] ^= 4
        mark_path(folder).write_bytes(torn)
        before = read_mark(mark_path(folder))
        assert before is not None
        assert before.frame == number
        assert len(read(folder)) == number + 1
        mark_path(folder).write_bytes(kept)
    journal.close()


def test_a_segment_whose_beginning_was_interrupted_never_was(tmp_path: Path) -> None:
    write(tmp_path, [[(1, b"a")]])
    (tmp_path / ".000002.log").write_bytes(b"CENT")
    assert read(tmp_path) == [(1, b"a")]
    assert (tmp_path / ".000002.log").exists()
    opened(tmp_path, writable=True).close()
    assert not (tmp_path / ".000002.log").exists()


@given(st.lists(frames_of_a_segment, min_size=1, max_size=3), st.data())
@settings(max_examples=60, deadline=None)
def test_a_journal_cut_anywhere_in_its_last_segment_is_a_prefix_unless_more_was_confirmed(
    segments: list[list[Frame]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "journal"
        write(folder, segments)
        everything = [frame for frames in segments for frame in frames]
        first = len(everything) - len(segments[-1])
        confirmed = data.draw(st.integers(first, len(everything)))
        chain = opened(folder, writable=False).chain_at(confirmed)
        create_mark(mark_path(folder), Mark(IDENTITY, 9, len(segments), confirmed, chain))
        last = sorted(folder.iterdir())[-1]
        length = data.draw(st.integers(HEAD_BYTES, last.stat().st_size))
        tail = data.draw(st.sampled_from([b"", bytes(1), bytes(5), bytes(4096), b"x" * 30, last.read_bytes()[-40:]]))
        kept = last.read_bytes()
        cut = kept[:length] + tail
        last.write_bytes(cut)
        whole = HEAD_BYTES + sum(FRAME.size + len(payload) for _, payload in segments[-1][: confirmed - first])
        if length < whole and last.read_bytes()[:whole] != kept[:whole]:
            for writable in (False, True):
                with pytest.raises(DamagedFile, match="confirmed"):
                    opened(folder, writable)
            return
        found = read(folder)
        assert found == everything[: len(found)]
        assert len(found) >= confirmed
        assert last.read_bytes() == cut  # a reader changes nothing
        journal = opened(folder, writable=True)
        assert journal.next_index == len(found)
        assert last.stat().st_size == len(cut) - journal.cut_bytes
        journal.append(5, b"goes on")
        journal.close()
        assert read(folder) == [*found, (5, b"goes on")]


SMALL = [[(1, b"first"), (2, b""), (3, b"third frame")], [(4, b"fourth"), (5, b"\0\0\0\0\0\0\0"), (6, b"last")]]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "journal"
    write(folder, SMALL)
    return folder


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("marked", [True, False])
def test_one_wrong_byte_anywhere_is_damage_unless_it_is_in_a_frame_that_was_not_confirmed(
    small: Path, tmp_path: Path, writable: bool, marked: bool
) -> None:
    """Without a mark, nothing tells whether the last frame was confirmed."""
    folder = tmp_path / "journal"
    folder.mkdir()
    everything = [frame for frames in SMALL for frame in frames]
    paths = sorted(small.iterdir())
    last_frame = paths[1].stat().st_size - len(b"last") - 21
    for path in paths:
        original = path.read_bytes()
        for place in range(len(original)):
            for other in paths:
                (folder / other.name).write_bytes(other.read_bytes())
            if marked:
                mark_path(folder).write_bytes(mark_path(small).read_bytes())
            else:
                mark_path(folder).unlink(missing_ok=True)
            changed = bytearray(original)
            changed[place] ^= 1 << (place % 8)
            (folder / path.name).write_bytes(changed)
            if path == paths[1] and place >= last_frame and not marked:
                journal = opened(folder, writable)
                assert [frame[1:] for frame in journal.frames()] == everything[:-1]
            else:
                with pytest.raises(DamagedFile, match=path.name):
                    list(opened(folder, writable).frames())


def test_damage_names_the_byte_of_the_bad_frame_and_the_next_good_one(small: Path, tmp_path: Path) -> None:
    write(tmp_path, SMALL[:1])
    mark_path(tmp_path).unlink()
    path = tmp_path / "000001.log"
    data = bytearray(path.read_bytes())
    data[HEAD_BYTES + 2] = 255  # the length of the first frame: nothing says where the second one begins
    path.write_bytes(data)
    with pytest.raises(
        DamagedFile, match=rf"000001.log: frame 0 at byte {HEAD_BYTES} is damaged.*at byte {HEAD_BYTES + 26}$"
    ):
        opened(tmp_path, writable=True)
    assert path.read_bytes() == data


def test_a_missing_swapped_or_newer_segment_is_reported(tmp_path: Path) -> None:
    write(tmp_path, [[(1, b"a")], [(1, b"b")], [(1, b"c")]])
    middle = tmp_path / "000002.log"
    kept = middle.read_bytes()
    middle.unlink()
    with pytest.raises(DamagedFile, match=r"000002\.log: this segment of the journal is missing"):
        opened(tmp_path, writable=False)
    middle.write_bytes((tmp_path / "000001.log").read_bytes())
    with pytest.raises(DamagedFile, match=r"000002\.log: this is segment 1 under the wrong name"):
        opened(tmp_path, writable=False)
    other = tmp_path / "other"
    write(other, [[(1, b"x"), (1, b"y")], [(1, b"z")]])
    middle.write_bytes((other / "000002.log").read_bytes())
    with pytest.raises(DamagedFile, match=r"000002\.log: does not follow the frames before it"):
        list(opened(tmp_path, writable=False).frames())
    middle.write_bytes(kept)
    assert len(read(tmp_path)) == 3


def test_a_reader_sees_what_was_flushed_while_the_writer_goes_on(tmp_path: Path) -> None:
    writer = opened(tmp_path, writable=True)
    writer.append(1, b"a")
    writer.flush()
    reader = opened(tmp_path, writable=False).frames()
    assert next(reader) == (0, 1, b"a")
    writer.append(1, b"b")
    writer.rotate()
    writer.append(1, b"c")
    writer.close()
    assert [payload for _, _, payload in reader] == [b"b"]  # it began before the second segment was there
    assert read(tmp_path) == [(1, b"a"), (1, b"b"), (1, b"c")]


@pytest.mark.parametrize("trouble", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_what_was_flushed_and_appending_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: int
) -> None:
    real, room = os.pwrite, 7

    def full(handle: int, data: memoryview, at: int) -> int:
        nonlocal room
        if room == 0:
            raise OSError(trouble, os.strerror(trouble))
        room -= (written := real(handle, data[:room], at))
        return written

    journal = opened(tmp_path, writable=True)
    journal.append(1, b"before")
    journal.sync()
    size = journal.nbytes
    journal.append(2, b"does not fit")
    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(2):
        with pytest.raises(NoRoom, match=r"000001\.log: (the disk is full|the file is too large)"):
            journal.sync()
        room = 9
        assert (journal.nbytes, read(tmp_path)) == (size, [(1, b"before")])
    monkeypatch.setattr(os, "pwrite", real)
    journal.append(3, b"after")
    journal.close()
    assert read(tmp_path) == [(1, b"before"), (2, b"does not fit"), (3, b"after")]


LIMITED = """
import resource, sys
from pathlib import Path
from centime.model.errors import NoRoom
from centime.store.journal import Journal
Journal.create(Path(sys.argv[1]), 77)
journal = Journal.open(Path(sys.argv[1]), True, 77)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    while True:
        journal.append(1, bytes(997))
        journal.flush()
except NoRoom:
    sys.exit(7)
"""


def test_a_real_limit_of_the_system_is_no_room(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], check=False).returncode == 7
    assert read(tmp_path) == [(1, bytes(997))] * ((100_000 - HEAD_BYTES) // 1018)


def test_a_failed_sync_closes_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(handle: int) -> None:
        raise OSError(errno.EIO, "broken")

    journal = opened(tmp_path, writable=True)
    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(OSError, match="broken"):
        journal.sync()
    with pytest.raises(StoreBroken, match="closed"):
        journal.sync()


WRITER = """
import random, sys
from pathlib import Path
from centime.store.journal import Journal
folder = Path(sys.argv[1])
if not folder.exists():
    Journal.create(folder, 77)
journal = Journal.open(folder, True, 77)
chance = random.Random(int(sys.argv[2]))
while True:
    for _ in range(chance.randrange(1, 40)):
        index = journal.next_index
        journal.append(1 + index % 200, index.to_bytes(8, "little") * (index % 301))
    journal.sync()
    print(journal.next_index, flush=True)
    if chance.random() < 0.2:
        journal.rotate()
        journal.drop_before(journal.next_index - 2000)
"""


def test_killed_writers_leave_a_prefix_that_holds_all_that_was_synced(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    chance = random.Random(4)
    promised = 0
    for turn in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(turn)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 60)):
            promised = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        promised = max(
            [promised, *(int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n"))]
        )
        writer.wait()
        writer.stdout.close()
        journal = opened(folder, writable=False)
        found = list(journal.frames(journal.first_index))
        assert [index for index, _, _ in found] == list(range(journal.first_index, journal.first_index + len(found)))
        assert journal.first_index + len(found) >= promised
        assert all(
            payload == index.to_bytes(8, "little") * (index % 301) and kind == 1 + index % 200
            for index, kind, payload in found
        )


def test_a_segment_that_is_listed_and_never_there_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal.create(tmp_path / "journal", 1)
    gone = tmp_path / "journal" / "000002.log"
    monkeypatch.setattr("centime.store.journal.list_files", lambda *given: [*list_files(*given), gone])
    with pytest.raises(FileNotFoundError, match=r"000002\.log"):
        Journal.open(tmp_path / "journal", writable=False, identity=1)
