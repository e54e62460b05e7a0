"""The log of a run: its figures are those of the time since the last ones, whoever else looks at the run."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from centime.crawl.engine.run_log import FIGURES, FIGURES_SECONDS, RunLog


def test_the_pace_is_that_since_the_last_figures(caplog: pytest.LogCaptureFixture) -> None:
    run = SimpleNamespace(visits=10, wire_bytes=500, notes=[])
    found: dict[str, Any] = dict.fromkeys(FIGURES, 0) | {"errors": {}}
    opened = SimpleNamespace(statistics=lambda now: found, folder=SimpleNamespace(path="c"))
    shard = SimpleNamespace(pages=SimpleNamespace(count=3))
    log = RunLog(cast("Any", SimpleNamespace(run_facts=run, opened=opened, shard=shard)))
    with caplog.at_level(logging.INFO, "centime.crawl"):
        log.began(0.0)
        for turn in (1, 2):
            run.visits += 240 * turn
            run.wire_bytes += 6000
            log.look(turn * FIGURES_SECONDS, {})
    logged = [cast("Any", one).facts for one in caplog.records if one.message == "figures"]
    assert [facts["pages_per_second"] for facts in logged] == [4.0, 8.0]
    assert [facts["bytes_per_second"] for facts in logged] == [100.0, 100.0]
