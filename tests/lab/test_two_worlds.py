from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.lab import two_worlds
from centime.lab.synthetic.graphs import weblike
from centime.model.errors import InterestBroken
from centime.shard.interest.interest import Interest
from tests.lab.carried_out import carried_out


@pytest.fixture
def one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_worlds, "RUNS", 1)


@pytest.mark.long
@pytest.mark.usefixtures("one_run")
def test_interest_finds_clustered_and_named_xml_pages_earlier_than_importance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = carried_out("two-worlds", tmp_path, capsys)
    half: dict[Any, float] = {(row["shape"], row["crawler"]): row["half at"] for row in found["table"]}
    for shape in ("clustered", "spread, named"):
        assert half[shape, "interest"] < half[shape, "importance"]
    for row in found["results"]:
        if row["certified_error"] is not None:
            assert row["crawler"] == "interest"
            assert 0 <= row["true_error"] <= row["certified_error"] + 1e-8
    assert found["facts"]["certified_error_of_interest_when_half_is_read"] < 1


@pytest.mark.parametrize("shape", two_worlds.SHAPES)
def test_two_percent_of_the_pages_are_xml_and_have_no_links(shape: str) -> None:
    graph = weblike(3000, 0)
    web = two_worlds.web_of(graph, shape, 0, 0)
    assert 60 <= web.is_xml.sum() <= 120
    assert (graph.out_degree[web.is_xml] == 0).all()
    assert len(set(web.urls)) == 3000
    named = np.array([url.endswith(".xml") for url in web.urls])
    assert bool(named.any()) == (shape == "spread, named")


@pytest.mark.parametrize("crawler", two_worlds.CRAWLERS)
def test_every_crawler_reads_the_same_pages_each_once(crawler: str) -> None:
    web = two_worlds.web_of(weblike(400, 1), "clustered", 1, 0)
    order = two_worlds.order_of(web, crawler, 1)
    assert sorted(order) == sorted(two_worlds.order_of(web, "breadth first", 1))
    assert len(set(order.tolist())) == len(order)


def test_a_bound_that_does_not_hold_stops_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interest, "error", lambda self, rows: 1e-12 if self.are_wanted().any() else None)
    web = two_worlds.web_of(weblike(400, 1), "clustered", 1, 0)
    with pytest.raises(InterestBroken, match=r"certified error of interest 1e-12 is below the true error"):
        two_worlds.order_of(web, "interest", 1, {})
