"""A ranking that is divided among processes: both ways give the scores of one process, within certified errors."""

import os
import signal
from collections.abc import Iterable
from socket import socket

import numpy as np
import pytest

from centime.cluster.process import Process
from centime.cluster.ranking import divided
from centime.cluster.ranking.crewing import LocalCrew
from centime.cluster.ranking.divided import WAYS, Way, rank_divided
from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadSetting, CentimeError
from centime.model.graph import Graph, graph_from_links
from centime.rank.pagerank import pagerank

WEB = weblike(3_000, 1)


def weighted() -> Graph:
    random = np.random.default_rng(5)
    weights = random.random(WEB.links)
    weights[:50] = 0.0
    return Graph(WEB.offsets, WEB.targets, weights)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("graph", [WEB, weighted()], ids=["plain", "weighted"])
def test_the_scores_are_those_of_one_process_within_the_certified_errors(way: Way, graph: Graph) -> None:
    truth = pagerank(graph, error=1e-13)
    found, exchanged = rank_divided(graph, way, 3, error=1e-9)
    assert found.certified_error <= 1e-9
    off = np.abs(found.scores - truth.scores).sum() / graph.pages
    assert off <= found.certified_error + truth.certified_error
    assert exchanged.boundary > 0
    assert exchanged.bytes > 8 * exchanged.values > 0


def test_a_synchronous_ranking_exchanges_each_boundary_value_once_an_iteration() -> None:
    found, exchanged = rank_divided(WEB, "bsp", 2, error=1e-6)
    assert exchanged.values == exchanged.boundary * (found.iterations + 1)


def test_a_chaotic_ranking_exchanges_fewer_values_an_iteration() -> None:
    found, exchanged = rank_divided(WEB, "chaotic", 2, error=1e-6)
    assert exchanged.values < exchanged.boundary * (found.iterations + 1)


@pytest.mark.parametrize("way", WAYS)
def test_small_and_odd_graphs_are_ranked_too(way: Way) -> None:
    for graph in (graph_from_links(2, [0, 1, 1], [0, 0, 1]), graph_from_links(5, [], []), graph_from_links(0, [], [])):
        found, _ = rank_divided(graph, way, 3, error=1e-9)
        assert found.certified_error <= 1e-9
        assert found.scores == pytest.approx(pagerank(graph, error=1e-12).scores, abs=1e-8)


def test_an_error_below_rounding_ends_with_what_was_reached() -> None:
    found, _ = rank_divided(WEB, "bsp", 2, error=1e-18)
    assert 1e-18 < found.certified_error < 1e-11


def test_another_way_is_refused() -> None:
    with pytest.raises(BadSetting, match="one of bsp, chaotic"):
        rank_divided(WEB, "push", 2)  # type: ignore[arg-type]


class Deadly(LocalCrew):
    """Processes of which some are killed."""

    def __init__(self, count: int, deaths: int) -> None:
        super().__init__(count)
        self.started: list[Process] = []
        self._deaths, self._turns = deaths, 0

    def start(self, number: int, first: bytes, others: Iterable[socket]) -> Process:
        self.started.append(super().start(number, first, others))
        return self.started[-1]

    def turn(self) -> None:
        self._turns += 1
        if self._turns % 5 == 0 and self._deaths:
            self._deaths -= 1
            os.kill(self.started[-2].pid, signal.SIGKILL)


@pytest.mark.parametrize("way", WAYS)
def test_a_process_that_is_lost_costs_time_alone(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divided, "KEEP_SECONDS", 0.01)
    crew = Deadly(3, 1)
    found, _ = rank_divided(WEB, way, crew, error=1e-10)
    assert len(crew.started) == 4
    assert found.certified_error <= 1e-10
    assert np.abs(found.scores - pagerank(WEB, error=1e-13).scores).sum() / WEB.pages <= 1.1e-10


def test_processes_that_end_again_and_again_end_the_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divided, "MOST_LOST", 2)
    with pytest.raises(CentimeError, match="ended 3 times"):
        rank_divided(WEB, "bsp", Deadly(2, 50), error=1e-14)
