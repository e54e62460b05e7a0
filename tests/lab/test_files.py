from pathlib import Path

import pytest

from centime.lab import files
from centime.lab.experiment import Record, carry_out
from centime.model.errors import NoRoom


@pytest.fixture(scope="module")
def record() -> Record:
    return carry_out("greedy-cash", 200, 0)


def test_files_written_again_replace_the_old_ones(tmp_path: Path, record: Record) -> None:
    (tmp_path / "greedy-cash.csv").write_text("old")
    paths = files.write(record, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert (
        (tmp_path / "greedy-cash.csv")
        .read_text()
        .startswith("experiment,graph,pages,links,seed,damping,algorithm,visits,")
    )


def test_a_file_that_cannot_be_written_to_its_end_leaves_the_old_one(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files.write(record, tmp_path)
    before = [path.read_bytes() for path in paths]

    def full_disk(self: Path, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(NoRoom, match=r"greedy-cash\.png: the disk is full"):
        files.write(record, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert [path.read_bytes() for path in paths] == before
