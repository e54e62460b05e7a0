"""Section 5 of "Inside PageRank": the largest scores, linear growth, and promoting communities that were planted."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.planting import HELD_OUT, SHAPES, Community, judge, plant
from centime.analyse.promotion import largest_score, least_energy, promotions
from centime.analyse.transition import transition
from centime.lab.synthetic.graphs import power_law, weblike
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.pagerank import pagerank
from tests.analyse.dense import communities, dampings, graphs, linked, matrix, others, scores_of

close = pytest.approx
DAMPINGS = [0.1, 0.5, 0.85, 0.95]


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize("pages", [2, 3, 10])
def test_theorem_5_1_the_islands_of_figure_7_have_the_largest_scores(d: float, pages: int) -> None:
    with_self = linked(pages, [(page, 1) for page in range(1, pages + 1)])
    without = linked(pages, [link for page in range(2, pages + 1) for link in [(page, 1), (1, page)]])
    assert scores_of(with_self, d)[0] == close(1 + (pages - 1) * d) == close(largest_score(pages, d, self_links=True))
    assert (
        scores_of(without, d)[0]
        == close((d * (pages - 1) + 1) / (d + 1))
        == close(largest_score(pages, d, self_links=False))
    )


@given(graphs(), dampings)
def test_theorem_5_1_no_page_of_any_graph_has_a_larger_score(graph: Graph, d: float) -> None:
    assert scores_of(graph, d).max() <= largest_score(graph.pages, d, self_links=True) + 1e-9


@given(graphs(weighted=False), dampings)
def test_theorem_5_1_without_links_to_themselves_the_largest_score_is_about_half(graph: Graph, d: float) -> None:
    sources = np.repeat(np.arange(graph.pages), graph.out_degree)
    kept = sources != graph.targets
    plain = graph_from_links(graph.pages, sources[kept], graph.targets[kept])
    if graph.pages > 1:
        assert scores_of(plain, d).max() <= largest_score(graph.pages, d, self_links=False) + 1e-9


@pytest.mark.parametrize("left", [1, 2, 4])
def test_section_5_1_the_first_page_of_figure_7_b_may_drop_any_links_but_one(left: int) -> None:
    graph = linked(6, [*((page, 1) for page in range(2, 7)), *((1, page) for page in range(2, 2 + left))])
    assert scores_of(graph, 0.85)[0] == close(largest_score(6, 0.85, self_links=False))


@given(graphs(weighted=False), dampings)
def test_eq_42_gives_the_score_of_a_page_by_three_numbers_and_rises_with_beta(graph: Graph, d: float) -> None:
    """gamma is 1 for Figure 7(b), not 0 as in the paper's footnote; its derivative by beta has + d gamma where it
    prints - d gamma."""
    n = graph.pages
    walk, x = matrix(graph), scores_of(graph, d)
    np.fill_diagonal(walk, 0.0)
    x = np.linalg.solve(np.eye(n) - d * walk, np.full(n, 1 - d))
    rest = x[1:].sum()
    if n > 1:
        alpha, beta, gamma = walk[0, 1:] @ x[1:] / rest, (walk[1:, 1:] @ x[1:]).sum() / rest, walk[1:, 0].sum()

        def score(b: float) -> float:
            return float((1 - d) * (1 - d * b + d * alpha * (n - 1)) / (1 - d * b - d**2 * alpha * gamma))

        assert x[0] == close(score(beta))
        slope = (1 - d) * d**2 * (n - 1 + d * gamma) * alpha / (1 - d * beta - d**2 * alpha * gamma) ** 2
        assert (score(beta + 1e-6) - score(beta - 1e-6)) / 2e-6 == close(slope, rel=1e-4, abs=1e-6)


@given(st.data(), graphs(weighted=False), dampings)
def test_theorem_5_2_any_promoting_community_gives_its_target_energy_in_proportion_to_its_pages(
    data: st.DataObject, graph: Graph, d: float
) -> None:
    target = data.draw(communities(graph))
    supporters = [page for page in others(graph.pages, target) if set(graph.row(page).tolist()) & set(target)]
    if supporters:
        most = max(len(graph.row(page)) for page in supporters)
        assert scores_of(graph, d)[target].sum() >= least_energy(len(supporters), most, d) - 1e-12


@pytest.mark.parametrize("pattern", ["star", "ring", "random"])
def test_figure_3_the_energy_of_the_target_grows_linearly_whatever_the_pattern(pattern: str) -> None:
    random = np.random.default_rng(1)

    def energy(size: int) -> float:
        members = range(2, size + 2)
        links = [(page, 1) for page in members]
        if pattern == "ring":
            links += [(page, 2 + (page - 1) % size) for page in members]
        if pattern == "random":
            links += [(page, int(random.integers(2, size + 2))) for page in members for _ in range(4)]
        return float(scores_of(linked(size + 1, links), 0.85)[0])

    small, large = energy(100), energy(200)
    assert large / small == close(2, rel=0.1)


@pytest.mark.parametrize(("arguments", "error"), [((0, 0.85), "island"), ((1, 0.85), "island"), ((3, 1.0), "damping")])
def test_islands_that_cannot_be_are_refused(arguments: tuple[int, float], error: str) -> None:
    with pytest.raises(BadSetting, match=error):
        largest_score(*arguments, self_links=False)
    with pytest.raises(BadSetting, match="at least one link"):
        least_energy(3, 0, 0.85)


@pytest.mark.parametrize("model", [weblike, power_law], ids=["weblike", "power-law"])
@pytest.mark.parametrize("shapes", [SHAPES, ("chains", "alliance", "mixed")], ids=["eight-shapes", "held-out"])
def test_communities_that_were_planted_are_found_once_and_nothing_else(
    model: Callable[[int, int], Graph], shapes: tuple[str, ...]
) -> None:
    graph, planted = plant(model(30_000, 0), 16, seed=1, shapes=shapes)
    found = promotions(transition(graph), pagerank(graph, normalisation="plain").scores, 0.85)
    finding = judge(planted, found)
    assert finding.precision >= 0.9
    assert finding.recall >= 0.9
    assert [each.given for each in found] == sorted((each.given for each in found), reverse=True)
    assert {each.pattern for each in planted} == set(shapes)
    for each in found:
        assert 0.9 <= each.own <= 1
        assert 0 < each.share <= 1


@pytest.mark.parametrize("back", [False, True], ids=["farm", "site"])
def test_a_site_whose_front_page_leads_to_its_pages_is_no_farm(back: bool) -> None:
    """The same pages link to page 0 in both; the front page of a site links to the first, and each page to the next."""
    members = np.arange(1, 101)
    links = [(members, np.zeros(100, dtype=int)), (members[:-1], members[1:])]
    rest = np.arange(101, 1101)
    links += [(rest, np.roll(rest, 1)), (np.array([0]), np.array([1 if back else 101]))]
    sources, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    graph = graph_from_links(1101, sources, targets)
    found = promotions(transition(graph), pagerank(graph, normalisation="plain").scores, 0.85)
    assert [int(each.targets[0]) for each in found] == ([] if back else [0])


@pytest.mark.parametrize("levels", [(190, 10), (500,)], ids=["two-levels", "one-level"])
def test_a_farm_is_found_with_all_of_its_levels(levels: tuple[int, ...]) -> None:
    web = weblike(3000, 0)
    sources, targets = [np.repeat(np.arange(3000), web.out_degree)], [web.targets.astype(np.int64)]
    first, above = 3000, np.array([int(web.in_degree.argmin())])
    for size in reversed(levels):
        pages = np.arange(first, first + size)
        sources.append(pages)
        targets.append(above[np.arange(size) % len(above)])
        first, above = first + size, pages
    graph = graph_from_links(first, np.concatenate(sources), np.concatenate(targets))
    [found] = promotions(transition(graph), pagerank(graph, normalisation="plain").scores, 0.85)
    assert found.supporters.tolist() == list(range(3000, first))
    assert found.own == 1.0


def test_a_community_found_twice_counts_once() -> None:
    _, [planted] = plant(weblike(1000, 0), 1, seed=3)
    half = Community(planted.targets, planted.supporters[::2])
    finding = judge([planted], [half, half, Community(planted.targets + 1, planted.supporters)])
    assert (finding.right, finding.recall, finding.missed) == (1, 1.0, ())
    assert finding.precision == close(1 / 3)


def test_a_planted_community_is_the_same_for_the_same_seed_and_all_of_it_leads_to_a_target() -> None:
    model = weblike(1000, 0)
    shapes = (*SHAPES, *HELD_OUT)
    (one, planted), (other, _) = (plant(model, len(shapes), seed=3, shapes=shapes) for _ in range(2))
    assert (one.targets == other.targets).all()
    assert (one.offsets[:500] >= model.offsets[:500]).all()
    assert min(each.supporters.min() for each in planted) == model.pages
    turned = one.transpose()
    for each in planted:
        leading = waiting = set(each.targets.tolist())
        inside = set(each.supporters.tolist())
        while waiting:
            waiting = {page for near in waiting for page in turned.row(near).tolist()} & inside - leading
            leading = leading | waiting
        assert inside <= leading


@pytest.mark.parametrize("pages", [0, 1, 30])
def test_nothing_is_found_where_nothing_is(pages: int) -> None:
    graph = graph_from_links(pages, [], [])
    assert promotions(transition(graph), np.full(pages, 0.15), 0.85) == []
    assert judge([], []).precision == 1.0


def test_what_cannot_be_planted_is_refused() -> None:
    with pytest.raises(BadSetting, match="100 pages or more"):
        plant(weblike(50, 0), 1, 0)
    with pytest.raises(BadSetting, match="one or more, not 0"):
        plant(weblike(500, 0), 0, 0)


def test_a_community_with_two_targets_in_common_is_one_and_weights_count() -> None:
    members = np.arange(2, 102)
    sources = np.concatenate([members, members, np.arange(102, 202)])
    targets = np.concatenate([np.zeros(100, dtype=int), np.ones(100, dtype=int), np.arange(102, 202)])
    graph = graph_from_links(202, sources, targets, np.full(len(sources), 3.0))
    [found] = promotions(transition(graph), scores_of(graph, 0.85), 0.85)
    assert sorted(found.targets.tolist()) == [0, 1]
    assert found.supporters.tolist() == members.tolist()
    assert found.given == close(100 * 0.15 * 0.85)
    assert found.own == 1.0
