from pathlib import Path

import pytest

from tests.lab.carried_out import by_column, carried_out


def test_on_all_pages_greedy_beats_cycle_beats_random_and_the_exact_ledger_beats_off_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = by_column(carried_out("convergence", tmp_path, capsys))
    assert error["visits in N"] == list(range(1, 11))
    for crawl in range(10):
        assert error["OPIC greedy"][crawl] < error["OPIC cycle"][crawl] < error["OPIC random"][crawl]
        assert error["exact settled"][crawl] < 1e-7
        assert error["OPIC cycle, last crawl"][crawl] < error["off-line"][crawl]
        if crawl >= 1:
            assert error["exact greedy"][crawl] < error["off-line"][crawl]
            assert error["exact cycle"][crawl] < error["off-line"][crawl]
    assert error["exact greedy"][9] < 1e-6
    assert 5 * error["OPIC greedy"][4] == pytest.approx(
        10 * error["OPIC greedy"][9], rel=0.2
    )  # its error falls like 1/t


def test_on_the_top_pages_greedy_beats_the_other_orders_always_and_off_line_at_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = by_column(carried_out("convergence-top", tmp_path, capsys))
    for crawl in range(10):
        assert error["OPIC greedy"][crawl] < min(error["OPIC cycle"][crawl], error["OPIC random"][crawl])
    assert error["OPIC greedy"][0] < error["off-line"][0]
    assert error["OPIC greedy"][1] < error["off-line"][1]
    assert error["exact greedy"][1] < error["OPIC greedy"][9]
