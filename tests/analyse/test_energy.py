"""Sections 1.2 and 4 of "Inside PageRank": every theorem and example on energy, against its closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.contribution import contributions
from centime.analyse.energy import Balance, balance, certain_internal_scores, internal_scores, leaks
from centime.analyse.fate import NEVER, fate
from centime.analyse.subgraph import subgraph
from centime.analyse.transition import error_bound, transition
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import Graph
from tests.analyse.dense import communities, dampings, graphs, linked, matrix, others, regular, scores_of, solved

DAMPINGS = [0.1, 0.5, 0.85, 0.95]
close = pytest.approx


def balance_of(graph: Graph, community: list[int], damping: float) -> Balance:
    """The balance of a community whose pages are numbered from 1."""
    walk = transition(graph)
    return balance(walk, scores_of(graph, damping), damping, subgraph(walk, [page - 1 for page in community]))


def terms(found: Balance) -> list[float]:
    """E, E_in, E_out and E_dp."""
    return [found.energy, found.received, found.spread, found.lost]


FIGURE_1 = {
    "a": linked(2, [(1, 2), (2, 1)]),
    "b": linked(2, [(1, 2)]),
    "c": linked(3, [(1, 2), (1, 3)]),
    "d": linked(3, [(3, 1), (1, 2)]),
    "e": linked(3, [(1, 2), (1, 2), (1, 3)]),
}


@pytest.mark.parametrize("d", DAMPINGS)
def test_example_1_1_the_energies_of_figure_1_are_the_closed_forms(d: float) -> None:
    a, b, c, incoming = (balance_of(FIGURE_1[name], [1, 2], d) for name in "abcd")
    assert terms(a) == close([2, 0, 0, 0])
    assert terms(b) == close([2 - d - d**2, 0, 0, d + d**2])
    assert terms(c) == close([2 - 3 * d / 2 - d**2 / 2, 0, d / 2, d + d**2 / 2])
    assert terms(incoming) == close([2 - d**2 - d**3, d, 0, d + d**2 + d**3])
    assert a.energy > incoming.energy > b.energy > c.energy


@pytest.mark.parametrize("d", DAMPINGS)
def test_example_1_2_a_second_link_inside_makes_less_leave(d: float) -> None:
    assert balance_of(FIGURE_1["e"], [1, 2], d).spread == close(d / 3)
    assert d / 3 < balance_of(FIGURE_1["c"], [1, 2], d).spread


def test_section_1_2_the_energy_vanishes_with_damping_near_1_where_it_leaks_and_not_in_figure_1_a() -> None:
    """The paper says that it vanishes in all the cases of Figure 1: in (a), which leaks nothing, it is 2 for every
    d."""
    near = 1 - 1e-9
    assert all(balance_of(FIGURE_1[name], [1, 2], near).energy < 1e-8 for name in "bcde")
    assert balance_of(FIGURE_1["a"], [1, 2], near).energy == close(2)


@pytest.mark.parametrize("d", DAMPINGS)
def test_figure_2_the_golden_rules(d: float) -> None:
    whole = linked(1, [(1, 1)])
    parts = linked(3, [(1, 2), (2, 3), (3, 1)])
    assert balance_of(parts, [1, 2, 3], d).energy == close(3 * balance_of(whole, [1], d).energy)
    dangling = linked(3, [(1, 2), (2, 1), (2, 3)])
    linked_back = linked(3, [(1, 2), (2, 1), (2, 3), (3, 1)])
    assert balance_of(dangling, [1, 2, 3], d).energy < balance_of(linked_back, [1, 2, 3], d).energy
    # Page 2 has the higher score of the two, and fewer links inside: the link that leaves costs less on page 1.
    leaves_1 = linked(4, [(1, 2), (1, 3), (2, 3), (3, 2), (1, 4)])
    leaves_2 = linked(4, [(1, 2), (1, 3), (2, 3), (3, 2), (2, 4)])
    assert balance_of(leaves_1, [1, 2, 3], d).energy > balance_of(leaves_2, [1, 2, 3], d).energy


@given(st.data(), graphs(), dampings)
def test_theorem_4_2_and_corollary_4_1_hold_for_any_community(data: st.DataObject, graph: Graph, d: float) -> None:
    walk, x = transition(graph), scores_of(graph, d)
    community = subgraph(walk, data.draw(communities(graph)))
    found = balance(walk, x, d, community)
    assert found.energy == close(x[community.pages].sum())
    assert found.residual == close(0, abs=1e-9)
    assert found.lost_by_links == close(found.lost, abs=1e-9)
    assert found.energy <= found.pages + found.received + 1e-9  # Eq. 10
    assert leaks(community, x, d).sum() == close(found.spread + found.lost, abs=1e-9)


@given(st.data(), graphs(), dampings, st.floats(1e-9, 1.0))
def test_the_residual_of_scores_that_are_not_exact_is_within_their_certificate(
    data: st.DataObject, graph: Graph, d: float, size: float
) -> None:
    walk, x = transition(graph), scores_of(graph, d)
    off = x * (1 + size * np.array(data.draw(st.lists(st.floats(-1, 1), min_size=graph.pages, max_size=graph.pages))))
    bound = error_bound(walk, off, d)
    assert np.abs(off - x).sum() <= bound + 1e-12
    assert abs(balance(walk, off, d, subgraph(walk, data.draw(communities(graph)))).residual) <= bound + 1e-9


@given(st.data(), graphs(), dampings)
def test_definition_4_1_and_theorem_4_1_split_the_scores_into_an_internal_and_an_external_part(
    data: st.DataObject, graph: Graph, d: float
) -> None:
    whole, x = matrix(graph), scores_of(graph, d)
    community = data.draw(communities(graph))
    outside = others(graph.pages, community)
    inverse = np.linalg.inv(np.eye(len(community)) - d * whole[np.ix_(community, community)])
    internal, external = (1 - d) * inverse.sum(axis=1), d * inverse @ whole[np.ix_(community, outside)] @ x[outside]
    assert internal + external == close(x[community])
    part = subgraph(transition(graph), community)
    assert internal_scores(part, d, error=1e-13) == close(internal, abs=1e-10)
    assert fate(part, d).kept == close(inverse.sum(axis=0), abs=1e-9)


@given(st.data(), graphs(), dampings)
def test_theorem_4_3_splits_what_each_page_brings_into_entrapped_lost_and_spread(
    data: st.DataObject, graph: Graph, d: float
) -> None:
    whole, walk, x = matrix(graph), transition(graph), scores_of(graph, d)
    community = data.draw(communities(graph))
    outside = others(graph.pages, community)
    inverse = np.linalg.inv(np.eye(len(community)) - d * whole[np.ix_(community, community)])
    psi = d * inverse @ whole[np.ix_(community, outside)]
    kept = whole[np.ix_(community, community)].sum(axis=0)
    dangles = whole[:, community].sum(axis=0) == 0
    part = subgraph(walk, community)
    found = contributions(walk, x, part, fate(part, d), outside)
    through = d / (1 - d)
    assert found.brought == close(through * whole[np.ix_(community, outside)].sum(axis=0) * x[outside], abs=1e-9)
    assert found.entrapped == close(psi.sum(axis=0) * x[outside], abs=1e-8)
    assert found.lost == close(through * psi[dangles].sum(axis=0) * x[outside], abs=1e-8)
    assert found.spread == close(through * ((1 - kept) * ~dangles) @ psi * x[outside], abs=1e-8)
    own = contributions(walk, x, part, fate(part, d), community)
    phi = (1 - d) * inverse
    assert own.brought == close(np.ones(len(community)))
    assert own.entrapped == close(phi.sum(axis=0), abs=1e-9)
    assert own.spread == close(through * ((1 - kept) * ~dangles) @ phi, abs=1e-8)
    assert found.brought.sum() == close(balance(walk, x, d, part).received, abs=1e-9)
    assert found.entrapped.sum() + own.entrapped.sum() == close(x[community].sum(), abs=1e-8)


@given(st.data(), graphs(weighted=False), dampings)
def test_lemma_4_1_and_lemma_4_2_with_the_first_step_that_meets_a_leak(
    data: st.DataObject, graph: Graph, d: float
) -> None:
    whole, walk, x = matrix(graph), transition(graph), scores_of(graph, d)
    community = data.draw(communities(graph))
    outside = others(graph.pages, community)
    part = subgraph(walk, community)
    found = contributions(walk, x, part, fate(part, d), outside)
    inside = whole[np.ix_(community, community)]
    step = d * whole[np.ix_(community, outside)]
    into = whole[np.ix_(community, outside)].sum(axis=0)
    reached_leak = np.zeros(len(outside), dtype=bool)
    for length in range(1, graph.pages + 2):
        assert step.sum(axis=0)[~reached_leak] == close(d**length * into[~reached_leak])  # Eq. 30
        reached_leak |= (step[part.leaks] > 0).any(axis=0)
        assert (reached_leak == ((found.steps_to_leak <= length) & (into > 0))).all()
        step = d * inside @ step
    assert (found.steps_to_leak[into == 0] == NEVER).all()
    least = 1 - np.power(d, found.steps_to_leak.astype(float))
    assert (found.entrapped >= least * found.brought - 1e-8).all()  # Eq. 34 and 35
    found_balance = balance(walk, x, d, part)
    assert found_balance.energy >= found_balance.least - 1e-8  # Eq. 36, with the least L_p
    assert found_balance.least == close(
        (1 - d ** float(found.steps_to_leak[into > 0].min(initial=NEVER))) * found_balance.received, abs=1e-9
    )


def test_lemma_4_1_fails_for_the_last_step_without_a_leak_that_the_paper_prints() -> None:
    """Theta_1 = {2, 3} holds the dangling page 2; Theta_n = {3} for n > 1 leaks nothing, so the printed L_p is
    without end."""
    graph, d = linked(3, [(1, 2), (1, 3), (3, 3)]), 0.85
    walk = transition(graph)
    part = subgraph(walk, [1, 2])
    found = contributions(walk, scores_of(graph, d), part, fate(part, d), [0])
    assert found.steps_to_leak[0] == 1
    assert (1 - d) * found.brought[0] < found.entrapped[0] < found.brought[0]


def test_theorem_4_4_fails_for_the_greatest_l_p_that_the_paper_prints() -> None:
    """Page 1 leads to a page that keeps all, page 2 (well linked) to a dangling one: the greatest L_p is without
    end."""
    graph, d = linked(8, [(1, 3), (3, 3), (2, 4), (5, 2), (6, 2), (7, 2), (8, 2)]), 0.85
    found = balance_of(graph, [3, 4], d)
    assert found.least == close((1 - d) * found.received)
    assert found.least < found.energy < found.received


def test_what_is_entrapped_is_at_most_what_is_brought_so_the_portion_is_e_over_c() -> None:
    """The paper calls c/e the portion that is entrapped; in Figure 1(d) that would be above 1."""
    graph, d = FIGURE_1["d"], 0.85
    walk = transition(graph)
    part = subgraph(walk, [0, 1])
    found = contributions(walk, scores_of(graph, d), part, fate(part, d), [2])
    assert found.entrapped[0] / found.brought[0] == close((d * (1 - d) * (1 + d)) / d)
    assert found.brought[0] / found.entrapped[0] > 1


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize(("pages", "k"), [(5, 1), (6, 2), (9, 4)])
def test_example_4_1_a_regular_island_with_a_dangling_page(d: float, pages: int, k: int) -> None:
    """Printed for "a regular graph of degree k"; the formula is that of k links in all, the one to the dangling page
    included."""
    graph = linked(pages + 1, regular(pages, k - 1) + [(page, pages + 1) for page in range(1, pages + 1)])
    assert scores_of(graph, d)[-1] == close(1 - d + pages * d * (1 - d) / (k - d * (k - 1)))
    assert balance_of(graph, list(range(1, pages + 2)), d).lost == close(d + pages * d**2 / (k - d * (k - 1)))
    extended = linked(pages + 1, regular(pages, k) + [(page, pages + 1) for page in range(1, pages + 1)])
    assert scores_of(extended, d)[-1] == close(1 - d + pages * d * (1 - d) / (k + 1 - d * k))


def test_example_4_1_all_is_lost_with_damping_near_1_and_most_without_links() -> None:
    graph = linked(7, regular(6, 2) + [(page, 7) for page in range(1, 7)])
    assert balance_of(graph, list(range(1, 8)), 1 - 1e-9).lost == close(7)
    assert balance_of(linked(7, []), list(range(1, 8)), 0.85).lost == close(0.85 * 7)


def directory(n: int, out: int, entry: int = 1) -> Graph:
    """Figure 6(a): 1 is the root, 2..n its sections, n+1..2n-1 their documents, 2n page 0 (to `entry`), then pages
    outside."""
    sections = [link for page in range(2, n + 1) for link in [(1, page), (page, 1), (page, page + n - 1)]]
    return linked(2 * n + out, [*sections, (2 * n, entry), *((1, 2 * n + page + 1) for page in range(out))])


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize(("n", "o"), [(2, 0), (4, 1), (6, 9)])
def test_example_4_2_what_page_0_brings_to_a_web_directory(d: float, n: int, o: int) -> None:
    """The paper prints 1 + d + d^2 and 2 d^4: with these e + s + o is not c. A section gives its document half of
    what it has."""
    graph = directory(n, o)
    walk = transition(graph)
    x = scores_of(graph, d)
    part = subgraph(walk, range(2 * n - 1))
    found = contributions(walk, x, part, fate(part, d, 1e-13), [2 * n - 1])
    divisor = (n - 1) * (2 - d**2) + 2 * o
    entrapped, spread, lost = (part[0] / x[2 * n - 1] for part in (found.entrapped, found.spread, found.lost))
    assert entrapped == close(2 * d * ((n - 1) * (1 + d + d**2 / 2) + o) / divisor)
    assert spread == close(2 * d**2 * o / ((1 - d) * divisor), abs=1e-9)
    assert lost == close(d**4 * (n - 1) / ((1 - d) * divisor))
    printed = 2 * d * ((n - 1) * (1 + d + d**2) + o) / divisor + spread + 2 * d**4 * (n - 1) / ((1 - d) * divisor)
    assert printed > d / (1 - d) * 1.0001


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize(("n", "o"), [(2, 0), (4, 1), (6, 9), (20, 2)])
def test_example_4_2_entering_at_the_root_is_better_only_while_few_links_leave_it(d: float, n: int, o: int) -> None:
    """The paper says always; it holds while o <= d (N - 1) / 2, and fails by its own formulas for a root with many
    links out."""

    def entrapped(entry: int) -> float:
        graph = directory(n, o, entry)
        walk = transition(graph)
        part = subgraph(walk, range(2 * n - 1))
        return float(contributions(walk, np.ones(graph.pages), part, fate(part, d, 1e-13), [2 * n - 1]).entrapped[0])

    divisor = (n - 1) * (2 - d**2) + 2 * o
    assert entrapped(2) == close(d**2 * ((n - 1) * (1 + d + d**2 / 2) + o) / divisor + d * (1 + d / 2))
    assert (entrapped(1) >= entrapped(2) - 1e-12) == (o <= d * (n - 1) / 2)


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize("n", [2, 5, 9])
def test_example_4_2_the_energy_loss_of_the_directory_as_an_island(d: float, n: int) -> None:
    graph = linked(
        2 * n - 1, [link for page in range(2, n + 1) for link in [(1, page), (page, 1), (page, page + n - 1)]]
    )
    found = balance_of(graph, list(range(1, 2 * n)), d)
    assert found.lost == close((n - 1) * d * (1 + d**2 / ((n - 1) * (2 - d**2)) + d / (2 - d**2)))
    if d == 0.85:
        assert found.lost > 1.4 * (n - 1)
        assert found.energy < n


def test_a_community_keeps_what_it_entraps_wherever_the_energy_comes_from() -> None:
    graph = linked(4, [(1, 2), (2, 1), (3, 1), (4, 3)])
    walk = transition(graph)
    part = subgraph(walk, [0, 1])
    found = contributions(walk, scores_of(graph, 0.85), part, fate(part, 0.85), [2])
    assert found.entrapped == close(found.brought)
    assert found.steps_to_leak[0] == NEVER


@pytest.mark.parametrize("pages", [[], [-1], [3]])
def test_a_community_of_no_page_or_of_pages_that_are_not_there_is_refused(pages: list[int]) -> None:
    with pytest.raises(BadInput, match="community"):
        subgraph(transition(linked(3, [(1, 2)])), pages)


def test_scores_of_other_pages_and_a_damping_of_1_are_refused() -> None:
    walk = transition(linked(3, [(1, 2)]))
    part = subgraph(walk, [0])
    with pytest.raises(BadSetting, match="one score for each of the 3 pages, not 2"):
        balance(walk, np.ones(2), 0.85, part)
    with pytest.raises(BadSetting, match="damping must be at least 0 and below 1, not 1"):
        fate(part, 1.0)


def test_without_damping_every_page_has_its_default_energy_alone() -> None:
    graph = FIGURE_1["d"]
    walk = transition(graph)
    found = balance(walk, solved(matrix(graph), 0.0), 0.0, subgraph(walk, [0, 1]))
    assert (found.energy, found.received, found.spread, found.lost, found.least) == (2, 0, 0, 0, 0)


@pytest.mark.parametrize("periodic", [False, True])
def test_internal_scores_near_a_damping_of_one_take_bounded_work_and_say_their_error(periodic: bool) -> None:
    count, d = 60, 0.99999
    random = np.random.default_rng(7)
    links = [(page, (page + 1) % count) for page in range(count)]
    links += [] if periodic else [(page, int(other)) for page in range(count) for other in random.integers(0, count, 4)]
    links.append((0, count))  # a single way out
    graph = linked(count + 1, [(source + 1, target + 1) for source, target in links])
    part = subgraph(transition(graph), np.arange(count))
    scores, error = certain_internal_scores(part, d)
    exact = np.linalg.solve(np.eye(count) - d * matrix(graph)[:count, :count], np.full(count, 1 - d))
    assert np.abs(scores - exact).mean() <= error + 1e-9
    assert error < (0.1 if periodic else 1e-6)
