from pathlib import Path

import pytest

from tests.lab.carried_out import by_column, carried_out


def test_the_page_that_greedy_reads_holds_twice_the_mean_cash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cash = by_column(carried_out("greedy-cash", tmp_path, capsys, "--graph", "poisson"))
    assert cash["OPIC greedy"][1:] == pytest.approx([2.0] * 9, rel=0.1)
    assert cash["OPIC random"] == pytest.approx([1.0] * 10, rel=0.1)


def test_on_a_power_law_the_hubs_come_in_bursts_and_it_is_somewhat_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cash = by_column(carried_out("greedy-cash", tmp_path, capsys))
    assert sum(cash["OPIC greedy"][5:]) / 5 == pytest.approx(2.25, rel=0.1)
