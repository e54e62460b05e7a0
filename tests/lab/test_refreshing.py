from pathlib import Path

import numpy as np
import pytest

from centime.lab.refreshing import BUDGETS, webbox_history
from centime.lab.webbox.box import WebBox
from centime.lab.webbox.change_process import DAY
from tests.lab.carried_out import carried_out


def test_the_history_of_a_box_has_every_change_of_every_page() -> None:
    box = WebBox(hosts=5, pages=60, seed=3)
    history = webbox_history(box, 200)
    assert history.pages == 60
    assert history.end == box.start + 200 * DAY
    for page in range(60):
        changes = history.times[history.offsets[page] : history.offsets[page + 1]]
        assert changes.tolist() == box.changes(page, history.end).tolist()
        assert history.hosts[page] == box.site(page)
    assert np.isclose(history.importance.mean(), 1.0)
    assert np.allclose(history.rates * DAY, box.rates(), rtol=1e-12)


def test_pages_of_sites_with_an_honest_last_modified_are_dated() -> None:
    history = webbox_history(WebBox(hosts=100, pages=1000, seed=1), 1)
    by_host = {host: set(history.dated[history.hosts == host].tolist()) for host in range(100)}
    assert all(len(said) == 1 for said in by_host.values())
    assert 0.5 < np.mean([True in said for said in by_host.values()]) < 0.9
    assert by_host[0] == {True}


@pytest.mark.long
def test_the_experiment_puts_the_rules_and_policies_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = carried_out("refresh", tmp_path, capsys)
    fresh = {(row["rates"], row["policy"], row["budget"]): row["freshness"] for row in found["results"]}
    for budget in BUDGETS:
        for name in ("uniform", "proportional", "square root"):
            assert fresh["known", "threshold", budget] >= fresh["known", name, budget]
        for name in ("uniform", "paper", "nutch", "storm"):
            assert fresh["learned", "optimal", budget] > fresh["learned", name, budget]
            assert fresh["learned", "oracle", budget] > fresh["learned", name, budget]
