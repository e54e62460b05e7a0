from pathlib import Path
from typing import Any

import pytest

from centime.lab import growth
from centime.lab.synthetic.graphs import weblike
from centime.ledger.exact import ExactLedger
from centime.model.errors import LedgerImbalance
from tests.lab.carried_out import carried_out


def of(found: dict[str, Any], crawler: str) -> list[dict[str, Any]]:
    return [row for row in found["results"] if row["crawler"] == crawler]


def test_the_certified_error_is_never_below_the_true_one_and_importance_finds_important_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = carried_out("growth", tmp_path, capsys)
    best = of(found, "best first")
    assert all(0 < row["true_error"] <= row["certified_error"] < 0.2 for row in best)
    assert found["facts"]["smallest_certified_over_true_error"] >= 1
    read = {row["crawler"]: row for row in found["table"]}
    for crawler in ("best first", "OPIC greedy", "breadth first"):
        assert read[crawler]["25%"] > read["random order"]["25%"] + 5
        assert read[crawler]["50%"] > read["random order"]["50%"] + 5
    assert read["best first"]["50%"] > read["breadth first"]["50%"]
    for crawler in read:
        for earlier, later in zip(of(found, crawler)[:-1], of(found, crawler)[1:], strict=True):
            assert earlier["pages_read"] < later["pages_read"]
            assert earlier["important_found_percent"] <= later["important_found_percent"]
        assert all(row["important_read_percent"] <= row["important_found_percent"] for row in of(found, crawler))


def test_a_bound_that_does_not_hold_stops_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExactLedger, "error", lambda self: 1e-9)
    with pytest.raises(LedgerImbalance, match=r"certified error 1e-09 is below the true error"):
        growth.run(weblike(500, 0), 0, lambda share: None)
