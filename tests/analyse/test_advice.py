"""The golden rules of Section 1.2: what is advised gains what it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.advice import Advice, advice
from centime.analyse.fate import fate
from centime.analyse.subgraph import subgraph
from centime.analyse.transition import transition
from centime.model.graph import Graph, graph_from_links
from tests.analyse.dense import communities, dampings, graphs, linked, matrix, others, scores_of

close = pytest.approx


def links_of(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(np.repeat(np.arange(graph.pages), graph.out_degree).tolist(), graph.targets.tolist(), strict=True))


def energy_after(graph: Graph, community: list[int], each: Advice, d: float) -> float:
    """The energy of the community once the advice is followed, while the rest of the web gives it what it gives now."""
    links, pages, members = links_of(graph), graph.pages, list(community)
    match each.rule:
        case "split":
            links.append((pages, each.page))
            members.append(pages)
            pages += 1
        case "link back":
            links.append((each.page, each.other))
        case "move links":
            leaving = [link for link in links if link[0] == each.page and link[1] not in community]
            assert len(leaving) == each.links
            for link in leaving:
                links.remove(link)
                links.append((each.other, link[1]))
    changed = matrix(graph_from_links(pages, [link[0] for link in links], [link[1] for link in links]))
    outside = others(graph.pages, community)
    given = d * changed[np.ix_(members, outside)] @ scores_of(graph, d)[outside] + (1 - d)
    inside = changed[np.ix_(members, members)]
    return float(np.linalg.solve(np.eye(len(members)) - d * inside, given).sum())


@given(st.data(), graphs(weighted=False), dampings)
def test_every_advice_gains_what_it_says(data: st.DataObject, graph: Graph, d: float) -> None:
    community = data.draw(communities(graph))
    x = scores_of(graph, d)
    part = subgraph(transition(graph), community)
    found = advice(graph, x, part, fate(part, d))
    assert [each.gain for each in found] == sorted((each.gain for each in found), reverse=True)
    for each in found:
        gain = energy_after(graph, community, each, d) - x[community].sum()
        if each.rule == "split":
            assert gain >= each.gain - 1e-9
        else:
            assert each.gain == close(gain, abs=2e-4 * d / (1 - d) * graph.pages)
        assert each.gain > 0


def test_the_dangling_page_with_the_highest_score_is_to_link_back_first() -> None:
    graph = linked(5, [(1, 2), (1, 3), (2, 3), (3, 1), (1, 4), (2, 5), (3, 5)])
    part = subgraph(transition(graph), range(5))
    best = advice(graph, scores_of(graph, 0.85), part, fate(part, 0.85))[0]
    assert (best.rule, best.page) == ("link back", 4)
    assert best.other in (0, 1, 2)


def test_links_out_are_moved_to_a_page_with_a_small_score_and_many_links_inside() -> None:
    inside = [(1, 2), (2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (3, 4)]
    graph = linked(6, [*inside, (1, 5), (1, 6), (5, 1), (6, 1)])
    part = subgraph(transition(graph), range(4))
    moved = next(
        each for each in advice(graph, scores_of(graph, 0.85), part, fate(part, 0.85)) if each.rule == "move links"
    )
    assert (moved.page, moved.links) == (0, 2)
    assert moved.other in (2, 3)


def test_weighted_links_keep_their_weight_when_they_move() -> None:
    graph = graph_from_links(4, [0, 0, 1, 2, 2, 3], [1, 3, 0, 0, 1, 0], [1.0, 5.0, 1.0, 1.0, 1.0, 1.0])
    part = subgraph(transition(graph), [0, 1, 2])
    moved = next(
        each for each in advice(graph, scores_of(graph, 0.85), part, fate(part, 0.85)) if each.rule == "move links"
    )
    assert (moved.page, moved.other) == (0, 2)
    changed = matrix(graph_from_links(4, [0, 1, 2, 2, 2, 3], [1, 0, 0, 1, 3, 0], [1.0, 1.0, 1.0, 1.0, 5.0, 1.0]))[
        :3, :3
    ]
    given = [0.85 * scores_of(graph, 0.85)[3] + 0.15, 0.15, 0.15]
    gain = np.linalg.solve(np.eye(3) - 0.85 * changed, given).sum() - scores_of(graph, 0.85)[:3].sum()
    assert moved.gain == close(gain, abs=2e-3)


def test_a_lone_page_that_dangles_has_nowhere_to_link_back_to() -> None:
    graph = linked(2, [(1, 2)])
    part = subgraph(transition(graph), [1])
    assert [each.rule for each in advice(graph, scores_of(graph, 0.85), part, fate(part, 0.85))] == ["split"]
