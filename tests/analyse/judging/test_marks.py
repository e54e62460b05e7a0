from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.judging.marks import Marks, read_marks, rounded
from centime.model.errors import BadInput


def read(path: Path, text: str) -> Marks:
    path.write_text(text)
    return read_marks(path, lambda names: names)


def test_both_forms_of_a_file_give_the_same_marks(tmp_path: Path) -> None:
    long = read(tmp_path / "long.csv", "site,judge,mark\na,x,1\na,y,2\nb,x,4\n")
    wide = read(tmp_path / "wide.csv", "\ufeffSite;x;y\na;1;2\n\nb; 4 ;\n")
    assert long.sites == wide.sites == ("a", "b")
    assert long.judges == wide.judges == ("x", "y")
    assert long.table.tolist() == wide.table.tolist() == [[1, 2], [4, 0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,x,1\n", "the first line must name the columns"),
        ("site\na\n", "needs the name of a judge"),
        ("site,x,x\na,1,1\n", "each its own"),
        ("site,judge,mark\na,x,5\n", "line 2: a mark is 1, 2, 3 or 4, not '5'"),
        ("site,judge,mark\na,x,1\na,x,2\n", "line 3: x marks a 2, and 1 in another line"),
        ("site,judge,mark\na,x\n", "line 2: there are 2 columns instead of 3"),
        ("site,judge,mark\n,x,1\n", "line 2: the name of the site is missing"),
        ("site,judge,mark\na,,1\n", "line 2: the name of the judge is missing"),
        ("site,judge,mark\na,x,\n", "there is no mark in this file"),
        ("", "the first line must name the columns"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=why):
        read(tmp_path / "marks.csv", text)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_marks(tmp_path / "none.csv", lambda names: names)
    (tmp_path / "bytes.csv").write_bytes(b"site,judge,mark\n\xff\n")
    with pytest.raises(BadInput, match="not text in UTF-8"):
        read_marks(tmp_path / "bytes.csv", lambda names: names)


def test_the_score_of_a_judge_is_the_share_of_marks_equal_to_the_rounded_mean() -> None:
    marks = Marks(("a", "b", "c"), ("x", "y", "z"), np.array([[1, 2, 2], [4, 3, 0], [2, 2, 2]]))
    assert marks.reference().tolist() == [2, 4, 2]  # 5/3, and 3.5, whose half is rounded up
    x, y, z = marks.scores()
    assert (x.marked, x.score, x.others) == (3, 2 / 3, 1 / 3)
    assert (y.score, y.others) == (2 / 3, 2 / 3)  # of 1 and 2 the mean 1.5 is rounded up to 2
    assert (z.marked, z.score) == (2, 1.0)
    assert marks.spreads().tolist() == [1, 1, 0]


def test_alpha_is_1_for_judges_who_agree_and_about_0_for_chance() -> None:
    column = np.arange(400) % 4 + 1
    assert Marks(("",) * 400, ("x", "y"), np.column_stack([column, column])).alpha() == 1.0
    chance = np.random.default_rng(3).integers(1, 5, (4000, 2))
    alpha = Marks(("",) * 4000, ("x", "y"), chance).alpha()
    assert alpha is not None
    assert abs(alpha) < 0.05
    assert Marks(("a",), ("x",), np.array([[3]])).alpha() is None


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9))
def test_a_rounded_mean_is_the_nearest_mark(marks: list[int]) -> None:
    (found,) = rounded(np.array([sum(marks)]), np.array([len(marks)])).tolist()
    assert min(marks) <= found <= max(marks)
    assert abs(2 * found * len(marks) - 2 * sum(marks)) <= len(marks)
