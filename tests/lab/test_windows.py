from pathlib import Path

import pytest

from centime.lab import windows
from centime.lab.experiment import Findings
from centime.lab.synthetic.graphs import power_law
from tests.lab.carried_out import by_column, carried_out

RATES = (0.001, 0.01, 0.1, 0.5)  # four of the seven of the experiment, for speed
UP_TO_A_FIFTH = 3  # change rates up to 20 %


@pytest.fixture(autouse=True)
def few_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "RATES", RATES)


@pytest.mark.long
def test_a_long_window_is_best_on_a_web_with_few_changes_and_a_short_one_on_a_web_with_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = by_column(carried_out("window-size", tmp_path, capsys))
    assert error["change rate, percent"] == [0.1, 1, 10, 50]
    assert error["Variable 16"][0] < error["Variable 8"][0] < error["Variable 4"][0]
    for rate in range(1, 4):
        assert error["Variable 4"][rate] < error["Variable 8"][rate] < error["Variable 16"][rate]
        assert error["Interpolation"][rate] < error["Variable 8"][rate]
    for rate in range(UP_TO_A_FIFTH):
        best = min(error[name][rate] for name in ("Variable 4", "Variable 8", "Variable 16", "Interpolation"))
        assert error["exact by worth"][rate] <= best / 5


@pytest.mark.long
def test_interpolation_is_the_best_policy_on_a_web_with_changes_and_keeps_one_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = carried_out("window-policy", tmp_path, capsys)
    error = by_column(found)
    policies = ("OPIC greedy", "Fixed", "Improved Fixed", "Variable 8", "Interpolation")
    for rate in range(4):
        assert error["Improved Fixed"][rate] < error["Fixed"][rate]
        assert error["Variable 8"][rate] < error["Fixed"][rate]
        if rate >= 1:
            assert min(policies, key=lambda name: error[name][rate]) == "Interpolation"
        if rate < UP_TO_A_FIFTH:
            assert error["exact by worth"][rate] <= min(error[name][rate] for name in policies) / 5
    assert max(policies, key=lambda name: error[name][3]) == "OPIC greedy"
    measures = {row["ledger"]: row["measures_per_page"] for row in found["results"]}
    assert measures["Interpolation"] == 1
    assert 7.5 < measures["Variable 8"] <= 8
    assert 6.5 < measures["Fixed"] < 8.5
    assert 4 < measures["Improved Fixed"] < 6.5
    assert measures["exact balanced"] is None


@pytest.mark.long
def test_the_same_seed_gives_the_same_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "RATES", (0.1,))
    monkeypatch.setattr(windows, "CRAWLS_BEFORE", 2)
    web = power_law(150, 0)

    def errors(seed: int) -> Findings:
        return windows.run(web, seed, lambda share: None, ("Variable 4", "Interpolation"))

    once = errors(1)
    assert errors(1) == once
    assert errors(2) != once
