"""Theorem 5.3 and Figure 8 of "Inside PageRank", and the local computation of a change against a full one."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.community import Numbers
from centime.analyse.link_change import Change, Link, change, read_links
from centime.analyse.transition import error_bound, transition
from centime.analyse.whatif import Effect, effect, pages_until
from centime.model.errors import BadInput, BadRow, BadSetting
from centime.model.graph import Graph, graph_from_links
from tests.analyse.dense import Vector, dampings, graphs, linked, matrix, scores_of, solved

close = pytest.approx


@st.composite
def changes(draw: st.DrawFn, graph: Graph) -> tuple[list[Link], list[Link]]:
    """Links to add and links to remove."""
    page = st.integers(0, graph.pages - 1)
    added = draw(st.lists(st.tuples(page, page, st.sampled_from([1.0, 2.0, 0.5])), max_size=8))
    chosen = draw(st.lists(st.integers(0, graph.links - 1), unique=True, max_size=8)) if graph.links else []
    sources = np.repeat(np.arange(graph.pages), graph.out_degree)
    return added, [(int(sources[link]), int(graph.targets[link]), 0.0) for link in chosen]


def changed_graph(graph: Graph, added: list[Link], removed: list[Link]) -> Graph:
    """The graph after the change, built anew."""
    sources = np.repeat(np.arange(graph.pages), graph.out_degree).tolist()
    weights = [1.0] * graph.links if graph.weights is None else graph.weights.tolist()
    links = list(zip(sources, graph.targets.tolist(), weights, strict=True))
    for source, target, _ in removed:
        links.remove(next(link for link in links if link[:2] == (source, target)))
    links += added
    return graph_from_links(
        graph.pages, [link[0] for link in links], [link[1] for link in links], [link[2] for link in links]
    )


def effect_of(graph: Graph, proposed: Change, damping: float, accuracy: float = 1e-6) -> Effect:
    return effect(transition(graph), scores_of(graph, damping), damping, proposed, scores_error=0.0, accuracy=accuracy)


@given(st.data(), graphs(), dampings, st.sampled_from([0.5, 1e-3, 1e-9]))
def test_the_local_computation_is_within_its_certified_error_of_a_full_one(
    data: st.DataObject, graph: Graph, d: float, accuracy: float
) -> None:
    added, removed = data.draw(changes(graph))
    found = effect_of(graph, change(graph, Numbers(graph.pages), added, removed), d, accuracy)
    new = scores_of(graph, d)
    new[found.pages] += found.gained
    truth = scores_of(changed_graph(graph, added, removed), d)
    assert np.abs(new - truth).sum() <= found.error + 1e-10
    assert found.error <= accuracy * found.bound + 1e-12
    assert np.abs(scores_of(graph, d) - truth).sum() <= found.bound + 1e-10 <= found.coarse_bound + 2e-10  # Eq. 46


@given(st.data(), graphs(), dampings)
def test_the_error_of_the_old_scores_is_part_of_the_certificate(data: st.DataObject, graph: Graph, d: float) -> None:
    added, removed = data.draw(changes(graph))
    walk = transition(graph)
    old = scores_of(graph, d) * data.draw(st.floats(0.8, 1.2))
    proposed = change(graph, Numbers(graph.pages), added, removed)
    found = effect(walk, old, d, proposed, scores_error=error_bound(walk, old, d))
    old[found.pages] += found.gained
    assert np.abs(old - scores_of(changed_graph(graph, added, removed), d)).sum() <= found.error + 1e-10


@given(st.data(), graphs(weighted=False))
def test_theorem_5_3_delta_is_the_sum_over_unchanged_new_and_removed_links(data: st.DataObject, graph: Graph) -> None:
    """With h for the links before: the paper prints the number of links after, twice. Repeated links are left out,
    as in the paper."""
    page = data.draw(st.integers(0, graph.pages - 1))
    old = sorted(set(graph.row(page).tolist()))
    once = graph_from_links(graph.pages, [page] * len(old), old)
    new = data.draw(st.lists(st.integers(0, graph.pages - 1), unique=True))
    gone, fresh = set(old) - set(new), set(new) - set(old)
    added, removed = [(page, target, 1.0) for target in fresh], [(page, target, 1.0) for target in gone]
    deltas = change(once, Numbers(once.pages), added, removed).deltas()
    h, after, stay = len(old), len(new), len(set(old) & set(new))
    if not gone and not fresh:
        assert len(deltas) == 0
    elif h == 0 or after == 0:
        assert deltas == close([1])
    else:
        assert deltas == close([abs(1 / h - 1 / after) * stay + len(fresh) / after + len(gone) / h])
        assert deltas == close([2 * max(len(gone) / h, len(fresh) / after)])
        assert deltas[0] <= 2


@pytest.mark.parametrize("d", [0.1, 0.5, 0.85])
def test_figure_8_reaches_the_bound_of_theorem_5_3(d: float) -> None:
    graph = linked(3, [(1, 3), (2, 2), (3, 3)])
    assert scores_of(graph, d) == close([1 - d, 1, 1 + d])
    found = effect_of(graph, change(graph, Numbers(3), [(0, 1, 1.0)], [(0, 2, 1.0)]), d, 1e-12)
    assert scores_of(linked(3, [(1, 2), (2, 2), (3, 3)]), d) == close([1 - d, 1 + d, 1])
    assert found.size == close(2 * d)
    assert found.bound == found.coarse_bound == close(2 * d)


def test_theorem_5_3_for_eq_13_needs_up_to_2_for_a_page_that_ceases_to_dangle() -> None:
    """The paper says that the theorem serves Eq. 13 too, where a dangling page pays everyone; with its delta of 1 it
    would not."""
    d, pages = 0.85, 40

    def of_eq_13(links: list[tuple[int, int]]) -> Vector:
        walk = matrix(linked(pages, links))
        walk[:, walk.sum(axis=0) == 0] = 1 / pages
        return solved(walk, d)

    alone = [(page, page) for page in range(2, pages + 1)]
    before, after = of_eq_13(alone), of_eq_13([*alone, (1, 2)])
    assert 1.9 * d / (1 - d) * before[0] < np.abs(before - after).sum() <= 2 * d / (1 - d) * before[0]


def test_the_cost_follows_the_change_and_not_the_graph() -> None:
    pages = 20_000
    ring = graph_from_links(pages, range(pages), [(page + 1) % pages for page in range(pages)])
    found = effect_of_ring(ring, change(ring, Numbers(pages), [(0, 500, 1.0)], []))
    assert found.links_followed < 500
    assert len(found.pages) < 500


def effect_of_ring(ring: Graph, proposed: Change) -> Effect:
    return effect(transition(ring), np.ones(ring.pages), 0.85, proposed, scores_error=0.0)


def test_a_change_that_changes_nothing_moves_no_score() -> None:
    graph = linked(3, [(1, 2), (2, 3), (3, 1)])
    same = change(graph, Numbers(3), [(0, 1, 1.0)], [(0, 1, 1.0)])
    found = effect_of(graph, same, 0.85)
    assert (found.size, found.bound, found.error) == (0, 0, 0)
    nothing = effect_of(graph, change(graph, Numbers(3), [], []), 0.85)
    assert (nothing.size, len(nothing.pages)) == (0, 0)


def test_a_link_that_is_not_there_cannot_be_removed() -> None:
    graph = linked(3, [(1, 2), (1, 2)])
    names = Numbers(3)
    change(graph, names, [], [(0, 1, 1.0), (0, 1, 1.0)])
    with pytest.raises(BadRow, match="no link from 0 to 1 to remove, or fewer"):
        change(graph, names, [], [(0, 1, 1.0)] * 3)
    with pytest.raises(BadRow, match="no link from 1 to 2"):
        change(graph, names, [], [(1, 2, 1.0)])


def test_links_are_read_from_lines_of_two_pages_and_perhaps_a_weight(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("# from to\n\n0 1\n1,2\n2\t0\t0.5\n")
    assert read_links(path, Numbers(3)) == [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 0.5)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n1\n", "line 2: expected two pages and, optionally, a weight"),
        ("0 7\n", "line 1: the graph has no page 7"),
        ("x 1\n", "line 1: the graph has no page x"),
        ("0 1 -2\n", "line 1: a weight must be a finite number, zero or more, not -2"),
        ("0 1 nan\n", "line 1: a weight must be a finite number"),
        ("0 1 heavy\n", "line 1: the weight 'heavy' is not a number"),
    ],
)
def test_a_line_that_is_no_link_is_refused_by_its_number(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        read_links(path, Numbers(3))


def test_section_5_2_how_often_scores_must_be_computed() -> None:
    """alpha pages that change a day move the scores by 2 d alpha / (1 - d) a day: every (1 - d) / (2 d alpha) error
    days."""
    assert 2 * 0.85 / 0.15 * pages_until(0.85, error=1e5) == close(1e5)
    assert pages_until(0.0, error=1.0) == inf


def test_an_accuracy_out_of_range_is_refused() -> None:
    graph = linked(2, [(1, 2)])
    with pytest.raises(BadSetting, match="accuracy"):
        effect_of(graph, change(graph, Numbers(2), [(1, 0, 1.0)], []), 0.85, accuracy=0.0)
