import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from centime.graphs.names import PageNames
from centime.model.errors import BadInput
from centime.rank import table
from centime.rank.table import write_table

SCORES = np.array([1 / 3, 2.5e-300, 1e22, 0.0, 7.0])
NAMES = ['a,"b"', "two\nlines", "é", "", "plain"]


def names() -> PageNames:
    return PageNames(
        np.frombuffer("".join(NAMES).encode(), dtype=np.uint8), np.cumsum([0, *(len(name.encode()) for name in NAMES)])
    )


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("rows", [2, 100])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_scores_come_back_as_they_were(
    suffix: str, named: bool, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK_ROWS", rows)
    path = tmp_path / f"scores{suffix}"
    path.write_text("an older file")
    write_table(path, 5, lambda first, end: SCORES[first:end], names() if named else None)
    if suffix == ".csv":
        with path.open(newline="") as file:
            heading, *lines = csv.reader(file)
        assert heading == ["page", "score"]
        pages, scores = [line[0] for line in lines], [float(line[1]) for line in lines]
        assert pages == (NAMES if named else [str(page) for page in range(5)])
    else:
        columns = pq.read_table(path).to_pydict()
        assert list(columns) == ["page", "score"]
        pages, scores = columns["page"], columns["score"]
        assert pages == (NAMES if named else list(range(5)))
    assert scores == SCORES.tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_older_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("an older file")

    def fail(first: int, end: int) -> np.ndarray:
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        write_table(path, 5, fail, None)
    assert path.read_text() == "an older file"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_cannot_become_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, sentence in [
        ("scores.txt", "must end in .parquet or .csv"),
        ("folder.csv", "this is a directory"),
        ("no/x.csv", "no such folder"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            write_table(tmp_path / name, 0, lambda first, end: SCORES, None)
