"""Figures over time are written as often as costs little; what happens once, such as compiling, silences nothing."""

import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from centime.crawl.engine.figures import EVERY, LEISURE, FigureWriter

FACTS = dict.fromkeys(("known", "read", "visits", "wire_bytes", "frontier", "hosts"), 0)


def pauses(costs: list[float], folder: Path, patch: pytest.MonkeyPatch) -> list[float]:
    """The seconds from figures to figures, if each look at the crawl costs so many seconds of CPU."""
    cpu = [0.0]
    left = iter(costs)

    def statistics(now: float) -> dict[str, Any]:
        cpu[0] += next(left)
        times.append(now)
        return FACTS | {"errors": {}, "certified_error": None}

    times: list[float] = []
    patch.setattr(time, "thread_time", lambda: cpu[0])
    refreshing = SimpleNamespace(fresh=lambda *given: (0, 0.5))
    pages = SimpleNamespace(count=0, were_read=None)
    shard = SimpleNamespace(refreshing=refreshing, pages=pages, ledger=SimpleNamespace(importance=None))
    opened = SimpleNamespace(statistics=statistics, shard=shard, folder=SimpleNamespace(path=folder))
    writer = FigureWriter(cast("Any", opened))
    now = 1000.0
    while len(times) < len(costs):
        writer.look(now)
        now += 1.0
    return [later - sooner for sooner, later in pairwise(times)]


def test_figures_that_cost_much_once_are_written_soon_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses([4.0, 0.001, 0.001, 4.0, 0.001, 0.001], tmp_path, monkeypatch) == [EVERY] * 5


def test_figures_that_always_cost_much_are_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses([1.0] * 4, tmp_path, monkeypatch) == [EVERY, LEISURE, LEISURE]
