import numpy as np
import pytest

from centime.lab import rising
from centime.lab.error import true_importance
from centime.lab.experiment import carry_out
from centime.lab.synthetic.graphs import power_law


def test_the_exact_ledger_lists_a_page_that_becomes_important_before_a_ledger_without_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rising, "CRAWLS_BEFORE", 3)
    monkeypatch.setattr(rising, "TRIALS", 2)
    monkeypatch.setattr(rising, "POLICIES", ("OPIC greedy", "Interpolation"))
    findings = carry_out("rising", 300, 0).findings
    found = {row["ledger"]: row for row in findings.table}
    assert set(found) == {"no window", "Interpolation, 4 months", "exact balanced", "exact by worth"}
    assert found["exact by worth"]["listed"] < min(1.0, found["no window"]["listed"] / 3)
    assert all(0 < row[what] <= rising.MOST_CRAWLS for row in found.values() for what in rising.COUNTED)
    assert "no window" not in rising.draw(findings).axes[0].get_title()


def test_the_page_was_ordinary_and_is_among_the_first() -> None:
    web = power_law(200, 0)
    page, later, links = rising._becoming_important(web, 10, 1)
    assert later.links == web.links + links
    before, after = true_importance(web, error=1e-8), true_importance(later, error=1e-8)
    assert 70 < (before > before[page]).sum() < 130
    assert (after > after[page]).sum() < 5
    changed = [row for row in range(200) if not np.array_equal(later.row(row), web.row(row))]
    assert len(changed) == links
    assert all(later.row(row).tolist() == [*web.row(row).tolist(), page] for row in changed)
