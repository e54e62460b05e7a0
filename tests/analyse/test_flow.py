import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from centime.analyse.community import Community
from centime.analyse.energy import balance
from centime.analyse.flow import Flow, flow, labels_of
from centime.analyse.sankey import draw_flow
from centime.analyse.subgraph import subgraph
from centime.analyse.transition import transition
from centime.model.errors import BadInput
from centime.model.graph import Graph
from tests.analyse.dense import dampings, graphs, linked, matrix, scores_of

close = pytest.approx


@given(st.data(), graphs(), dampings, st.integers(1, 4))
def test_theorem_4_2_holds_for_every_part_of_a_graph_and_the_flows_are_its_terms(
    data: st.DataObject, graph: Graph, d: float, parts: int
) -> None:
    labels = np.array(
        data.draw(st.lists(st.integers(0, parts - 1), min_size=graph.pages, max_size=graph.pages)), dtype=np.int64
    )
    walk, x = transition(graph), scores_of(graph, d)
    found = flow(walk, x, d, labels, parts)
    assert found.residual == close(np.zeros(parts), abs=1e-9)
    dense = d / (1 - d) * matrix(graph) * x
    amounts = dict(
        zip(zip(found.givers.tolist(), found.receivers.tolist(), strict=True), found.amounts.tolist(), strict=True)
    )
    for giver in range(parts):
        if (labels == giver).any():
            one = balance(walk, x, d, subgraph(walk, np.flatnonzero(labels == giver)))
            assert found.energy[giver] == close(one.energy)
            assert found.received[giver] == close(one.received, abs=1e-9)
            assert found.spread[giver] == close(one.spread, abs=1e-9)
            assert found.lost[giver] == close(one.lost, abs=1e-9)
        for receiver in range(parts):
            if receiver != giver:
                given_ = dense[np.ix_(labels == receiver, labels == giver)].sum()
                assert amounts.get((giver, receiver), 0.0) == close(given_, abs=1e-9)


@given(st.data(), graphs(weighted=False), st.integers(1, 5))
def test_parts_that_are_joined_keep_the_identity(data: st.DataObject, graph: Graph, largest: int) -> None:
    labels = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=graph.pages, max_size=graph.pages)), dtype=np.int64
    )
    whole = flow(transition(graph), scores_of(graph, 0.85), 0.85, labels, 5)
    joined, kept = whole.merged(largest)
    assert len(joined.pages) == len(kept) + 1
    assert joined.residual == close(np.zeros(len(kept) + 1), abs=1e-9)
    assert joined.energy[:-1] == close(whole.energy[kept])
    assert joined.received[:-1] == close(whole.received[kept], abs=1e-9)
    assert joined.energy.sum() == close(whole.energy.sum())


def test_many_flows_are_all_kept() -> None:
    pages = 60
    graph = linked(
        pages, [(one, other) for one in range(1, pages + 1) for other in range(1, pages + 1) if one != other]
    )
    found = flow(transition(graph), np.ones(pages), 0.85, np.arange(pages), pages)
    assert len(found.amounts) == pages * (pages - 1)
    assert found.received == close(np.full(pages, 0.85 / 0.15))


def test_pages_in_no_community_are_the_rest_and_communities_must_not_overlap() -> None:
    one, two = Community("one", np.array([0, 2])), Community("two", np.array([2, 3]))
    assert labels_of([one], 4).tolist() == [0, 1, 0, 1]
    with pytest.raises(BadInput, match="communities one and two share 1 pages"):
        labels_of([one, two], 4)


def small_flow(parts: int) -> Flow:
    graph = linked(6, [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 1), (5, 6)])
    labels = np.minimum(np.arange(6) // 2, parts - 1)
    return flow(transition(graph), scores_of(graph, 0.85), 0.85, labels, parts)


@pytest.mark.parametrize(("parts", "names"), [(3, ["a", "b"]), (2, ["a", "b"]), (1, []), (1, ["all"])])
def test_the_picture_of_the_flows_is_a_png_that_says_what_it_shows(parts: int, names: list[str]) -> None:
    picture = draw_flow(small_flow(parts), names, "Energy of a and b", "damping 0.85")
    assert picture.startswith(b"\x89PNG")
    assert b"Description\x00damping 0.85" in picture
    height, width, _ = imread(io.BytesIO(picture)).shape
    assert width > 1000
    assert height > 500
