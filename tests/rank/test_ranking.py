import json
import sys
import types
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import centime
from centime.graphs.names import NamedGraph, PageNames
from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadInput, BadSetting, UnknownPage
from centime.model.graph import Graph, graph_from_links
from centime.rank.interest import interest, interest_by_importance
from centime.rank.pagerank import pagerank
from centime.rank.ranking import Ranking, VectorName
from centime.rank.spectral import eigenvector

GRAPH = graph_from_links(4, [0, 0, 1, 2], [1, 2, 2, 0])
NAMES = PageNames.of(["http://a.org/", "http://a.org/x", "http://b.co.uk/", "http://www.b.co.uk/y"])


def test_every_kind_of_graph_gives_the_same_ranking(tmp_path: Path) -> None:
    (tmp_path / "links.txt").write_text("0 1\n0 2\n1 2\n2 0\n")
    three = graph_from_links(3, [0, 0, 1, 2], [1, 2, 2, 0])
    matrix = scipy.sparse.csr_array((np.ones(4), ([0, 0, 1, 2], [1, 2, 2, 0])), shape=(3, 3))
    expected = pagerank(three).scores.tobytes()
    things: list[object] = [three, NamedGraph(three), tmp_path / "links.txt", str(tmp_path / "links.txt"), matrix]
    things.append(nx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 0)]))
    for thing in things:
        assert centime.pagerank(thing).scores.tobytes() == expected


def test_the_facts_are_those_of_the_ranking_and_json_knows_them() -> None:
    ranking = centime.pagerank(NamedGraph(GRAPH, NAMES), error=1e-10)
    facts = json.loads(json.dumps(ranking.facts(top=2)))
    assert {name: facts[name] for name in ("pages", "links", "dangling", "vector", "method")} == {
        "pages": 4,
        "links": 4,
        "dangling": 1,
        "vector": "importance",
        "method": "push",
    }
    assert ranking.certified_error is not None
    assert facts["certified_error"] == ranking.certified_error <= 1e-10
    assert facts["iterations"] >= 1
    assert set(facts["seconds"]) == {"read", "build", "solve"}
    assert 10**7 < facts["peak_memory_bytes"] < 10**11
    assert [page["page"] for page in facts["top"]] == ["http://b.co.uk/", "http://a.org/"]
    assert facts["top"][0]["score"] == ranking["http://b.co.uk/"] == ranking[2]


def test_a_ranking_reads_well_and_answers_for_each_page() -> None:
    ranking = centime.pagerank(weblike(100, seed=1))
    lines = repr(ranking).splitlines()
    assert lines[0].startswith("importance of 100 pages with ")
    assert "certified error" in lines[0]
    assert len(lines) == 7
    assert lines[-1].strip() == "..."
    assert len(ranking) == ranking.pages == 100
    assert ranking.top(3)[0] == (int(np.argmax(ranking.scores)), ranking.scores.max())
    assert ranking.names is None
    with pytest.raises(UnknownPage, match="no page 100"):
        ranking[100]
    assert (
        repr(centime.pagerank(GRAPH, vector="hubs"))
        .splitlines()[0]
        .startswith("hubs of 4 pages with 4 links, residual ")
    )


@pytest.mark.parametrize("vector", get_args(VectorName))
def test_every_vector_is_that_of_its_module(vector: VectorName) -> None:
    graph = weblike(300, seed=3)
    wanted = (np.arange(300) < 20).astype(float)
    bias = list(range(20)) if "interest" in vector else None
    found = centime.pagerank(graph, vector=vector, bias=bias, threads=1)
    match vector:
        case "importance":
            expected = pagerank(graph, threads=1).scores
        case "interest":
            expected = interest(graph, wanted, threads=1).scores
        case "interest-by-importance":
            expected = interest_by_importance(graph, wanted, threads=1).scores
        case _:
            expected = eigenvector(graph, vector, threads=1).scores
            assert (found.method, found.certified_error) == ("power", None)
            assert found.residual is not None
            assert found.residual <= 1e-8
            assert {"eigenvalue", "residual"} < set(found.facts())
    assert found.scores == pytest.approx(expected, abs=1e-12)
    assert found.scores.mean() == pytest.approx(1)
    assert centime.pagerank(graph, vector=vector, bias=bias, normalise="sum").scores.sum() == pytest.approx(1)


def test_a_bias_personalises_importance_by_names_and_a_start_is_taken() -> None:
    named = NamedGraph(GRAPH, NAMES)
    expected = pagerank(GRAPH, personalisation=[0, 0, 1, 0])
    assert centime.pagerank(named, bias=["http://b.co.uk/"]).scores == pytest.approx(expected.scores, abs=1e-7)
    assert centime.pagerank(named, start=[1, 1, 1, 0], method="jacobi", stable_top=2).method == "jacobi"


def test_sites_and_domains_are_ranked_instead_of_pages() -> None:
    named = NamedGraph(graph_from_links(4, [0, 0, 1, 2, 3], [1, 2, 3, 0, 0]), NAMES)
    sites = centime.pagerank(named, by="site")
    assert sites.names is not None
    assert sorted(sites.names) == ["a.org", "b.co.uk", "www.b.co.uk"]
    domains = centime.pagerank(named, by="domain", bias=["b.co.uk"])
    assert [page for page, _ in domains.top()] == ["b.co.uk", "a.org"]
    with pytest.raises(BadInput, match="no names"):
        centime.pagerank(GRAPH, by="site")


def test_links_of_weight_0_do_not_keep_a_page_from_dangling() -> None:
    assert centime.pagerank(graph_from_links(3, [0, 1, 1], [1, 0, 2], [0.0, 0.0, 2.0])).dangling == 2
    nothing = centime.pagerank(Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)))
    assert (nothing.pages, nothing.dangling, nothing.top(), isinstance(nothing, Ranking)) == (0, 0, [], True)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"vector": "beauty"}, "unknown vector 'beauty'; the vectors are importance"),
        ({"by": "planet"}, "unknown kind of ranking 'planet'; the kinds are page"),
        ({"vector": "interest"}, "interest needs a bias"),
        ({"vector": "hubs", "bias": [1]}, "hubs is an eigenvector"),
        ({"vector": "hubs", "normalise": "plain"}, "hubs is an eigenvector"),
        ({"vector": "hubs", "stable_top": 3}, "hubs is an eigenvector"),
        ({"vector": "hubs", "method": "push"}, "hubs is an eigenvector"),
        ({"damping": 1}, "damping"),
        ({"bias": [99]}, "the graph has no page 99"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises((BadSetting, BadInput), match=sentence):
        centime.pagerank(GRAPH, **wrong)


def test_a_thing_that_is_no_graph_is_refused() -> None:
    with pytest.raises(BadInput, match="not int"):
        centime.pagerank(7)


def test_a_ranking_iterates_from_the_best_page_on() -> None:
    ranking = centime.pagerank([("a", "c"), ("b", "c"), ("c", "a")])
    assert list(ranking) == ranking.top(3)
    assert [page for page, _ in ranking] == ["c", "a", "b"]
    assert ranking.to_dict() == dict(ranking) == {page: ranking[page] for page in "abc"}
    assert "a" in ranking
    assert "d" not in ranking
    assert ("a", ranking["a"]) not in ranking


def test_a_ranking_is_a_table_with_pages_as_they_were_given() -> None:
    for links, pages in (([("a", "b")], ["b", "a"]), ([(7, 900)], [900, 7]), ([(1, 2)], [2, 1])):
        ranking = centime.pagerank(links)
        table = ranking.to_arrow()
        assert table["page"].to_pylist() == pages
        assert table["score"].to_pylist() == [ranking[page] for page in pages]


def test_a_ranking_is_a_data_frame_of_a_library_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.ModuleType("polars")
    made.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", made)
    monkeypatch.setitem(sys.modules, "pandas", None)
    ranking = centime.pagerank([("a", "b")])
    frame = ranking.to_frame("polars")
    assert frame["page"] == ["b", "a"]
    assert frame["score"].tolist() == [ranking["b"], ranking["a"]]
    with pytest.raises(BadSetting, match="pandas is not installed"):
        ranking.to_frame()
    with pytest.raises(BadSetting, match="one of pandas or polars"):
        ranking.to_frame("arrow")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [float("nan"), 2.5, -1, "3", None, True])
def test_a_count_that_is_no_whole_number_gets_a_sentence(count: Any) -> None:
    with pytest.raises(BadSetting, match="count must be a whole number, 0 or more"):
        centime.pagerank([("a", "b")]).top(count)
