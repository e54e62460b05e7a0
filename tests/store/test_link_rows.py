"""Rows on disk against rows in memory: the same links of the same weights, however rows are replaced, compacted and
read."""

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.files.appended import HEAD_BYTES
from centime.ledger.exact import ExactLedger
from centime.ledger.memory_rows import MemoryRows
from centime.model.errors import DamagedFile, NoRoom
from centime.model.row_batch import NO_WEIGHTS, RowBatch, RowStore
from centime.store.link_rows import DiskRows

Links = list[tuple[int, float]]
EVERY = np.arange(12, dtype=np.int64)

links_of_a_row = st.lists(
    st.tuples(st.one_of(st.integers(0, 300), st.integers(0, 2**31 - 1)), st.floats(0.001, 1.0)), max_size=8
)
steps_of_batches = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 9), links_of_a_row, max_size=4), st.booleans()), max_size=6
)


def batch(rows: list[Links], weighted: bool) -> RowBatch:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    targets = np.array([target for row in rows for target, _ in row], dtype=np.int32)
    weights = np.array([weight for row in rows for _, weight in row]) if weighted else NO_WEIGHTS
    return RowBatch(np.cumsum(lengths) - lengths, lengths, targets, weights)


def as_multisets(rows: RowBatch) -> list[Links]:
    found = []
    for start, length in zip(rows.starts.tolist(), rows.lengths.tolist(), strict=True):
        weights = (
            rows.weights[start : start + length].tolist() if len(rows.weights) else [1.0 / max(length, 1)] * length
        )
        found.append(sorted(zip(rows.targets[start : start + length].tolist(), weights, strict=True)))
    return found


@given(steps_of_batches, steps_of_batches)
@settings(max_examples=60, deadline=None)
def test_rows_on_disk_are_the_rows_of_memory(
    steps: list[tuple[dict[int, Links], bool]], later: list[tuple[dict[int, Links], bool]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        memory, disk = MemoryRows(), DiskRows.open(Path(name), {}, writable=True)

        def do(stores: list[RowStore], steps: list[tuple[dict[int, Links], bool]]) -> None:
            for rows, weighted in steps:
                for store in stores:
                    store.replace(np.array(list(rows), dtype=np.int64), batch(list(rows.values()), weighted))

        do([memory, disk], steps)
        assert as_multisets(disk.gather(EVERY)) == as_multisets(memory.gather(EVERY))
        reader = DiskRows.open(Path(name), disk.state(), writable=False)
        fresh = disk.compacted()
        assert fresh.garbage == 0.0
        do([memory, disk, reader, fresh], later)
        backwards = EVERY[::-1].copy()
        expected = as_multisets(memory.gather(backwards))
        for rows in (disk, reader, fresh):
            assert as_multisets(rows.gather(backwards)) == expected
            gathered = rows.gather(EVERY)
            for start, length in zip(gathered.starts, gathered.lengths, strict=True):
                assert (np.diff(gathered.targets[start : start + length]) >= 0).all()
        again = DiskRows.open(Path(name), fresh.state(), writable=True)
        assert as_multisets(again.gather(backwards)) == expected
        assert again.garbage == fresh.garbage
        lean = again.compacted()
        used, live = (rows.file.length - HEAD_BYTES for rows in (again, lean))
        assert again.garbage == (1 - live / used if used else 0.0), "what is counted as live is what a copy takes"
        lean.close()
        disk.sync()
        for rows in (disk, reader, fresh, again):
            rows.close()


def test_a_ledger_goes_on_alike_on_disk_and_in_memory(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    on_disk, in_memory = ExactLedger(rows=DiskRows.open(tmp_path, {}, writable=True)), ExactLedger()
    for ledger in (on_disk, in_memory):
        ledger.join(50)
    for _ in range(300):
        page, targets = int(chance.integers(50)), np.sort(chance.integers(0, 50, chance.integers(0, 8)))
        on_disk.visit(page, targets)
        in_memory.visit(page, targets)
    assert on_disk.importance().tolist() == in_memory.importance().tolist()


def test_garbage_is_what_replaced_rows_left(tmp_path: Path) -> None:
    rows = DiskRows.open(tmp_path, {}, writable=True)
    assert rows.garbage == 0.0
    pages = np.arange(100, dtype=np.int64)
    some = batch([[(k, 1.0) for k in range(20)]] * 100, weighted=False)
    rows.replace(pages, some)
    assert rows.garbage == 0.0
    rows.replace(pages, some)
    assert rows.garbage == 0.5
    rows.replace(pages[:50], batch([[]] * 50, weighted=False))
    assert rows.garbage == 0.75
    fresh = rows.compacted()
    assert (fresh.garbage, fresh.generation) == (0.0, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows-000001.bin", "rows-000002.bin"]
    assert rows.nbytes <= 100 * 4 * 5 / 4


def test_rows_that_share_alike_take_no_room_for_weights(tmp_path: Path) -> None:
    rows = DiskRows.open(tmp_path, {}, writable=True)
    alike = [(k, 1.0 / 3) for k in range(3)]
    rows.replace(np.array([0, 1]), batch([alike, [(1, 0.25), (2, 0.75)]], weighted=True))
    assert len(rows.gather(np.array([0])).weights) == 0
    assert as_multisets(rows.gather(np.array([0, 1]))) == [alike, [(1, 0.25), (2, 0.75)]]
    rows.replace(np.empty(0, dtype=np.int64), batch([], weighted=False))
    assert len(rows.gather(np.empty(0, dtype=np.int64)).targets) == 0


def test_a_row_that_leads_to_an_unknown_page_or_does_not_end_is_damage(tmp_path: Path) -> None:
    rows = DiskRows.open(tmp_path, {}, writable=True)
    rows.replace(np.array([3, 5]), batch([[(1, 1.0)], [(2, 1.0), (70, 1.0)]], weighted=False))
    rows.known = lambda: 71
    assert rows.gather(np.array([3, 5])).links().tolist() == [1, 2, 70]
    rows.known = lambda: 70
    with pytest.raises(DamagedFile, match=r"rows-000001\.bin: the row of page 5 is damaged at byte \d+"):
        rows.gather(np.array([3, 5]))
    state = rows.state()
    rows.close()
    opened = DiskRows.open(tmp_path, state, writable=False)
    with (tmp_path / "rows-000001.bin").open("r+b") as file:  # while it is open
        file.seek(-2, os.SEEK_END)
        file.write(b"\xff\xff")
    with pytest.raises(DamagedFile, match="the row of page 5 is damaged"):
        opened.gather(np.array([5]))


def test_a_full_disk_leaves_rows_as_they_were_and_no_half_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, data: memoryview, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    rows = DiskRows.open(tmp_path, {}, writable=True)
    rows.replace(np.array([0]), batch([[(1, 1.0)]], weighted=False))
    real = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda handle, data, at: real(handle, data, at) if at == 0 else full(handle, data, at)
    )
    with pytest.raises(NoRoom):
        rows.replace(np.array([0]), batch([[(2, 1.0)]], weighted=False))
    with pytest.raises(NoRoom):
        rows.compacted()
    assert as_multisets(rows.gather(np.array([0]))) == [[(1, 1.0)]]
    assert [path.name for path in tmp_path.iterdir()] == ["rows-000001.bin"]
