from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.foreign import as_graph
from centime.graphs.names import NamedGraph, PageNumbers
from centime.model.errors import BadGraph, BadInput
from tests.graphs.drawn import links_of

ENDS = st.one_of(st.integers(-3, 6), st.integers(-(2**63), 2**63 - 1), st.sampled_from("abc"), st.tuples(st.booleans()))


def labelled(named: NamedGraph) -> list[tuple[Any, Any, float]]:
    links = [(named.label(source), named.label(target), weight) for source, target, weight in links_of(named.graph)]
    return sorted(links, key=str)


@given(st.lists(st.tuples(ENDS, ENDS, st.sampled_from([1.0, 0.5])), min_size=1, max_size=12))
def test_pairs_are_the_links_and_their_ends_are_the_pages(links: list[tuple[Any, Any, float]]) -> None:
    named = as_graph(iter(links))
    kept = all(type(end) is int for link in links for end in link[:2])
    assert named.graph.links == len(links)
    assert named.graph.pages == len({end for link in links for end in link[:2]})
    pages = [named.label(page) for page in range(named.graph.pages)]
    assert [named.find(page) for page in pages] == list(range(len(pages)))
    if kept:
        assert labelled(named) == sorted(links, key=str)
        assert pages == sorted(pages)


@pytest.mark.parametrize(
    "value",
    [
        {"a": ["b", "c"], "c": ["a"]},
        {"a": {"b": 1, "c": 1.0}, "c": {"a": 1}, "b": []},
        (("a", "b"), ("a", "c"), ("c", "a")),
        np.array([("a", "b"), ("a", "c"), ("c", "a")]),
        np.array([("a", "b"), ("a", "c"), ("c", "a")], dtype=object),
        (np.array(["a", "a", "c"]), np.array(["b", "c", "a"])),
        nx.DiGraph([("a", "b"), ("a", "c"), ("c", "a")]),
    ],
)
def test_all_ways_to_give_links_give_the_same_graph(value: object) -> None:
    assert labelled(as_graph(value)) == [("a", "b", 1.0), ("a", "c", 1.0), ("c", "a", 1.0)]


def test_numbers_without_gaps_need_no_names_and_others_stay_numbers() -> None:
    assert as_graph([(0, 1), (1, 2)]).names is None
    from_one = as_graph(np.array([[1, 2], [2, 3]]))
    assert (from_one.names, from_one.first, from_one.graph.pages) == (None, 1, 3)
    with_gaps = as_graph(np.array([[9, 2.0, 0.5], [2, 10**10, 1]]))
    assert isinstance(with_gaps.names, PageNumbers)
    assert labelled(with_gaps) == [(2, 10**10, 1.0), (9, 2, 0.5)]
    assert with_gaps.find("9") == with_gaps.find(9) == 1
    assert with_gaps.find(0) is None
    assert as_graph(np.array([[1, 2**64 - 1]], dtype=np.uint64)).label(1) == 2**64 - 1


def test_a_page_is_found_by_any_number_that_equals_its_own() -> None:
    for named in (as_graph([(5, 7), (7, 9)]), as_graph([(5.0, 7.0), (7.0, 9.0)]), as_graph([(5, 6), (6, 7)])):
        assert [named.find(label) for label in (5, 5.0, np.int64(5), "5")] == [0] * 4
        assert [named.find(label) for label in (5.5, float("nan"), float("inf"), None, "x", ())] == [None] * 6
    named = as_graph([("7", "5"), ("a", "5")])
    assert [named.find(label) for label in (5, "5", 0, 3)] == [1, 1, 0, None]  # by its name, otherwise by its place


def test_keys_of_a_mapping_are_pages_even_without_links() -> None:
    named = as_graph({"lonely": []})
    assert (named.graph.pages, named.graph.links, named.label(0)) == (1, 0, "lonely")
    assert as_graph({5: [], 0: []}).label(1) == 5


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "no pages"),
        ({}, "no pages"),
        ([("a",)], "link 0 of the graph must be"),
        (["ab"], "link 0 of the graph must be"),
        ([7], "link 0 of the graph must be"),
        ([(["a"], "b")], "hashable"),
        ([("a", "b", -1)], "link 0 of the graph has the weight -1"),
        ([("a", "b", "much")], "weights of links must be numbers"),
        ({"a": "bc"}, "the links of page 'a' must be a list"),
        ({"a": 7}, "the links of page 'a' must be a list"),
        (np.eye(4), "scipy.sparse.csr_array"),
        (np.array([[0.5, 1.0]]), "whole numbers or text, not float64"),
        ((np.array([1]), np.array([1, 2])), "columns of the same length"),
        (np.array([[0, np.inf]]), "whole numbers or text, not float64"),
        (np.array([[0, 2.0**63]]), "whole numbers or text, not float64"),
        (np.ma.array([[0, 1]], mask=[[False, True]]), "masked"),
        ((np.array([0, 1]), np.ma.array([1, 0], mask=[False, True])), "masked"),
        ([(None, "a")], "a page of the links is None"),
    ],
)
def test_what_is_no_list_of_links_gets_a_sentence(value: object, sentence: str) -> None:
    with pytest.raises(BadGraph, match=sentence):
        as_graph(value)


def test_a_weight_that_is_named_is_there() -> None:
    with pytest.raises(BadGraph, match="no edge of the graph has the attribute 'w'"):
        as_graph(nx.DiGraph([("a", "b")]), weight="w")


@pytest.mark.parametrize("value", ["links.csv", [("a", "b")], np.array([[0, 1]]), nx.DiGraph([("a", "b")])])
def test_columns_are_never_named_in_vain(value: object) -> None:
    with pytest.raises(BadInput, match="source and target name columns"):
        as_graph(value, source="from", target="to")
