import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.graph import Graph, graph_from_links, row_shares
from centime.rank.crew import Crew
from centime.rank.push import Pushing, one_iteration, rounding_of_sums
from tests.rank.exact import graphs, pagerank_of, plain, vectors, walk


def weights_of(graph: Graph) -> np.ndarray:
    return np.empty(0) if graph.weights is None else row_shares(graph.offsets, graph.weights)[0]


def emphasis_of(values: list[float] | None) -> np.ndarray | None:
    return None if values is None else np.array(values) * len(values) / sum(values)


@given(graphs(), st.floats(0, 0.95), st.integers(1, 3), st.integers(0, 6), st.data())
def test_what_is_owed_is_always_what_the_equation_lacks(
    graph: Graph, damping: float, threads: int, sweeps: int, data: st.DataObject
) -> None:
    emphasis = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    start = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    with Crew(threads) as crew:
        pushing = Pushing(graph, weights_of(graph), damping, emphasis, start, crew)
        for _ in range(sweeps):
            pushing.sweep()
        owed = np.concatenate([debt[pushing._range(part)] for part, debt in enumerate(pushing.debts)])
    base = (1 - damping) * (np.ones(graph.pages) if emphasis is None else emphasis)
    lacking = base + damping * walk(graph).astype(float) @ pushing.paid - pushing.paid
    assert owed == pytest.approx(lacking, abs=1e-12)


@given(graphs(), st.floats(0, 0.95), st.integers(1, 3), st.data())
def test_sweeps_lead_to_equation_2_and_the_bound_holds_on_the_way(
    graph: Graph, damping: float, threads: int, data: st.DataObject
) -> None:
    emphasis = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    exact = pagerank_of(graph, damping, emphasis)
    with Crew(threads) as crew:
        pushing = Pushing(graph, weights_of(graph), damping, emphasis, None, crew)
        for _ in range(12):
            pushing.sweep()
        bound = pushing.bound()
        scores, moved, hidden = pushing.certify()
    if np.isfinite(bound):
        assert damping / (1 - damping) * moved / graph.pages <= bound + 1e-12
    certified = (damping * moved + hidden) / graph.pages / (1 - damping)
    assert np.abs(scores - exact).sum() / graph.pages <= certified


def test_debts_are_balanced_so_that_a_graph_that_mixes_takes_few_sweeps() -> None:
    random = np.random.default_rng(3)
    links = random.integers(0, 500, (5_000, 2))
    graph = graph_from_links(500, links[:, 0], links[:, 1])
    with Crew(2) as crew:
        pushing = Pushing(graph, np.empty(0), 0.99, None, None, crew)
        for _ in range(15):
            pushing.sweep()
        assert abs(sum(pushing._balance_of(part)[0] for part in range(2))) <= 1e-12
        assert pushing.bound() <= 1e-6  # each sweep would shrink a sum of debts by 0.99


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_takes_one_sweep_in_either_direction(step: int) -> None:
    chain = np.arange(1_000)[::step]
    graph = graph_from_links(1_000, chain[:-1], chain[1:])
    with Crew(1) as crew:
        pushing = Pushing(graph, np.empty(0), 0.95, None, None, crew)
        pushing.sweep()
        assert pushing.debt == pytest.approx(0.0, abs=1e-9)


def test_a_start_at_the_solution_owes_nothing_even_if_pages_dangle() -> None:
    graph = Graph(np.array([0, 2, 3, 3]), np.array([1, 2, 2], dtype=np.int32))
    exact = pagerank_of(graph, 0.85).astype(float)
    with Crew(1) as crew:
        pushing = Pushing(graph, np.empty(0), 0.85, None, exact, crew)
    assert pushing.debt == pytest.approx(0, abs=1e-14)
    assert pushing.paid == pytest.approx(plain(graph, 0.85).astype(float))


@given(graphs(), st.floats(0, 0.99), st.integers(1, 3), st.data())
def test_one_iteration_is_off_the_dense_one_by_no_more_than_it_says(
    graph: Graph, damping: float, threads: int, data: st.DataObject
) -> None:
    emphasis = data.draw(st.none() | vectors(graph.pages))
    before = np.array(data.draw(vectors(graph.pages)))
    before *= graph.pages / before.sum()
    with Crew(threads) as crew:
        after, moved, hidden = one_iteration(graph, weights_of(graph), damping, emphasis_of(emphasis), before, crew)
    wide = before.astype(np.longdouble)
    carried = np.longdouble(damping) * walk(graph) @ wide
    lean = np.ones(graph.pages) if emphasis is None else np.array(emphasis) * graph.pages / np.longdouble(sum(emphasis))
    exact = carried + (1 - carried.sum() / graph.pages) * lean
    assert np.abs(after - exact).sum() <= hidden <= 1e-13 * graph.pages
    assert moved == pytest.approx(float(np.abs(exact - wide).sum()), abs=1e-12)
    assert rounding_of_sums(graph.in_degree, after) > 0
