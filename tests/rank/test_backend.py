import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.rank import backend

GRAPH = nx.gnp_random_graph(60, 0.03, directed=True, seed=1)


def without_cache(graph: nx.Graph, **settings: Any) -> dict[Any, float]:
    graph.__networkx_cache__ = None
    ranked: dict[Any, float] = nx.pagerank(graph, backend="centime", **settings)
    return ranked


def assert_same(graph: nx.Graph, **settings: Any) -> None:
    settings = {"tol": 1e-11, "max_iter": 10_000, **settings}
    expected, found = nx.pagerank(graph, **settings), without_cache(graph, **settings)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.long
def test_networkx_own_tests_pass_and_call_this_backend(tmp_path: Path) -> None:
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "centime", "NETWORKX_FALLBACK_TO_NX": "1"}
    log = tmp_path / "log"
    options = ["-p", "no:cacheprovider", f"--log-file={log}", "--log-file-level=DEBUG", f"--rootdir={tmp_path}"]
    tests = "networkx.algorithms.link_analysis.tests.test_pagerank"
    command = [sys.executable, "-m", "pytest", "-q", *options, "--pyargs", tests]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    passed = re.search(r"^(\d+) passed in", ended.stdout, re.MULTILINE)
    assert passed, ended.stdout
    assert int(passed[1]) >= 50
    called = log.read_text().count("Using backend 'centime' for call to 'pagerank'")
    assert called >= 20
    assert "instead of 'centime' backend for call to 'pagerank'" not in log.read_text()


@given(st.integers(0, 1000), st.floats(0, 0.95), st.booleans(), st.booleans(), st.booleans())
def test_every_combination_of_dictionaries_gives_what_networkx_gives(
    seed: int, alpha: float, personal: bool, begun: bool, followed: bool
) -> None:
    graph = nx.gnp_random_graph(8, 0.2, directed=True, seed=seed)
    settings = {
        "personalization": {0: 1, 3: 2.5, 99: 4} if personal else None,
        "nstart": {1: 1, 2: 3} if begun else None,
        "dangling": {2: 1, 5: 1} if followed else None,
    }
    assert_same(graph, alpha=alpha, **settings)


def test_kinds_of_graphs_weights_and_nodes_are_those_of_networkx() -> None:
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph = kind()
        for source, target, weight in [
            (1, 2, 2.0),
            (2, "3", 0.0),
            ("3", 3, 1.0),
            (3, 3, 4.0),
            (3, 1, 1.0),
            (1, 2, 3.0),
        ]:
            graph.add_edge(source, target, weight=weight, cost=1 + weight)
        for attribute in ("weight", "cost", "missing", None):
            assert_same(graph, weight=attribute)
    same_words = nx.DiGraph([(Path("a"), "a"), ("a", frozenset())])
    assert_same(same_words)
    assert nx.pagerank(nx.DiGraph(), backend="centime") == {}


def test_the_error_of_the_sum_is_at_most_tol_also_for_a_dangling_dictionary() -> None:
    graph = nx.DiGraph(nx.scale_free_graph(300, seed=1))
    for dangling in (None, {0: 1.0, 5: 3.0}):
        exact = without_cache(graph, tol=1e-13, max_iter=10_000, dangling=dangling)
        found = without_cache(graph, tol=1e-4, dangling=dangling)
        assert sum(abs(found[node] - exact[node]) for node in graph) <= 1e-4
        assert sum(found.values()) == pytest.approx(1)


def test_too_few_sweeps_fail_unless_networkx_would_have_been_content() -> None:
    for few in (0, 1, 2):
        with pytest.raises(nx.PowerIterationFailedConvergence):
            without_cache(GRAPH, max_iter=few, tol=1e-9)
    strict = without_cache(GRAPH, alpha=0.97, max_iter=10_000, tol=1e-12)
    # NetworkX is content with a change of N tol = 6e-4; 30 sweeps do not certify 1e-5 but reach that.
    found = without_cache(GRAPH, alpha=0.97, max_iter=30, tol=1e-5)
    assert found == pytest.approx(strict, abs=0.97 / 0.03 * 60 * 1e-5)
    assert found != strict


def test_what_is_left_to_networkx_is_said() -> None:
    for settings in ({"alpha": 1.0}, {"tol": 0.0}, {"personalization": {0: -1.0}}, {"nstart": {0: float("nan")}}):
        with pytest.raises(NotImplementedError):
            without_cache(GRAPH, **settings)
    with pytest.raises(NotImplementedError) as refused:
        without_cache(nx.DiGraph([(0, 1, {"weight": -1})]))
    assert "from 0 to 1 has the weight -1.0" in str(refused.value.__cause__)
    for zeros in ({"personalization": {0: 0}}, {"dangling": {99: 1}}):
        with pytest.raises(ZeroDivisionError):
            without_cache(GRAPH, **zeros)


def test_networkx_knows_the_backend_without_loading_anything_heavy() -> None:
    loaded = "'numba' in sys.modules, 'numpy' in sys.modules"
    code = f"import sys, networkx as nx; print('centime' in nx.utils.backends.backends, {loaded})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "True False False\n"
    assert backend.about()["backend_name"] == "centime"
    assert backend.convert_to_nx({1: 1.0}) == {1: 1.0}
    assert "certified" in nx.pagerank.__doc__


@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved to cache")
def test_a_graph_ranked_with_weights_is_then_ranked_without() -> None:
    graph = nx.gnp_random_graph(60, 0.05, directed=True, seed=1)
    for source, target in graph.edges:
        graph[source][target]["weight"] = (source + target) % 5 + 0.5
    nx.pagerank(graph, backend="centime")
    again = nx.pagerank(graph, backend="centime", weight=None)
    expected = nx.pagerank(graph, backend="networkx", tol=1e-12, weight=None)
    assert sum(abs(again[node] - expected[node]) for node in graph) < 1e-5
