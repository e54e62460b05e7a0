from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.graph import Graph, graph_from_links, row_shares
from centime.rank.certificate import certified_error, one_iteration, rounding_of_sums
from centime.rank.crew import Crew
from centime.rank.pagerank import pagerank
from centime.rank.push import Pushing
from centime.rank.sweep import HANDED_ON, LOOPED, SHORT
from tests.rank.exact import graphs, pagerank_of, vectors, walk


def weights_of(graph: Graph) -> np.ndarray:
    return np.empty(0) if graph.weights is None else row_shares(graph.offsets, graph.weights)[0]


def emphasis_of(values: list[float] | None) -> np.ndarray | None:
    return None if values is None else np.array(values) * len(values) / sum(values)


def owed_by(pushing: Pushing) -> np.ndarray:
    return np.concatenate([debt[pushing._range(part)] for part, debt in enumerate(pushing.debts)])


@given(graphs(), st.floats(0, 0.95), st.integers(1, 3), st.integers(0, 6), st.data())
def test_what_is_owed_is_always_what_the_equation_lacks(
    graph: Graph, damping: float, threads: int, sweeps: int, data: st.DataObject
) -> None:
    emphasis = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    start = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    with Crew(threads) as crew:
        pushing = Pushing(graph, weights_of(graph), damping, emphasis, start, crew)
        pushing._overpay(data.draw(st.sampled_from([1.0, 1.2])))
        for _ in range(sweeps):
            pushing.sweep()
        pushing.settle()
        owed = np.where(pushing.share > 0, owed_by(pushing), 0.0)
        solution = pushing.paid
    given_to_all = owed + solution - damping * walk(graph).astype(float) @ solution
    lean = np.ones(graph.pages) if emphasis is None else emphasis
    assert given_to_all == pytest.approx(given_to_all.sum() / graph.pages * lean, abs=1e-12 * solution.sum())


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
        before = pushing.links
        scores, moved, hidden = pushing.certify(data.draw(st.sampled_from([1e-300, 1e-6, np.inf])))
    assert pushing.links in (before, before + graph.links)
    if np.isfinite(bound):
        assert damping / (1 - damping) * moved / graph.pages <= bound + 1e-12
    assert np.abs(scores - exact).sum() / graph.pages <= certified_error(damping, moved, hidden, graph.pages)


NEAR_ONE = [0.99, 1 - 1e-9, 1 - 2.0**-53]


def exact_iteration(
    graph: Graph, damping: float, emphasis: np.ndarray | None, values: list[Fraction]
) -> list[Fraction]:
    """Gh without any rounding."""
    lean = [Fraction(1)] * graph.pages if emphasis is None else [Fraction(one) for one in emphasis]
    following = [Fraction(0)] * graph.pages
    for page, value in enumerate(values):
        for target in graph.row(page):
            following[target] += Fraction(damping) * value / len(graph.row(page))
    left = (graph.pages - sum(following, Fraction(0))) / sum(lean, Fraction(0))
    return [one + left * share for one, share in zip(following, lean, strict=True)]


@settings(max_examples=50)
@given(graphs(weighted=False), st.sampled_from([0, 1e-17, 0.5, *NEAR_ONE]), st.integers(1, 3), st.data())
def test_what_debts_certify_holds_in_exact_arithmetic(
    graph: Graph, damping: float, threads: int, data: st.DataObject
) -> None:
    emphasis = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    start = emphasis_of(data.draw(st.none() | vectors(graph.pages)))
    with Crew(threads) as crew:
        pushing = Pushing(graph, np.empty(0), damping, emphasis, start, crew)
        for _ in range(data.draw(st.sampled_from([0, 2, 30]))):
            pushing.sweep()
        due = np.where(pushing.share > 0, 0.0, owed_by(pushing))  # pages without links get what is owed to them
        before = [Fraction(one) + Fraction(other) for one, other in zip(pushing.paid, due, strict=True)]
        links = pushing.links
        scores, moved, hidden = pushing.certify(1e300)
    if pushing.links == links and sum(before) > 0:  # otherwise from the links
        values = [one * graph.pages / sum(before) for one in before]
        after = exact_iteration(graph, pushing.damping, emphasis, values)
        off = sum(abs(Fraction(one) - max(Fraction(0), other)) for one, other in zip(scores, after, strict=True))
        far = sum(abs(Fraction(one) - other) for one, other in zip(scores, values, strict=True))
        d = Fraction(pushing.damping)
        assert d * far + off <= d * Fraction(moved) + Fraction(hidden)


def test_the_rounding_of_values_is_counted_at_their_size() -> None:
    graph = graph_from_links(3, [0, 1], [1, 0])  # the links hold all that the start has and get 1e-9 of what comes in
    with Crew(1) as crew:
        pushing = Pushing(graph, np.empty(0), 0.5, np.array([1e-9, 1e-9, 3.0]), np.array([2.0, 1.0, 0.0]), crew)
        for _ in range(100):
            pushing.sweep()
    assert pushing.total > 1e8
    assert pushing.drift >= 100 * 2.0**-53 * pushing.total


@pytest.mark.parametrize("damping", NEAR_ONE)
def test_no_score_is_below_0_however_much_is_rounded(damping: float) -> None:
    graph = graph_from_links(4, [1, 0, 3, 3, 3, 3], [1, 0, 1, 0, 1, 3])
    found = pagerank(graph, damping=damping, personalisation=[1e-14, 1e-14, 1, 1e-14], start=[1e-5, 1e-5, 1, 1e-5])
    assert found.scores.min() >= 0
    exact = pagerank_of(graph, damping, [1e-14, 1e-14, 1, 1e-14])
    assert np.abs(found.scores - exact).sum() / 4 <= found.certified_error < np.inf


def test_a_start_of_which_pages_with_links_have_little_loses_no_digits() -> None:
    graph = graph_from_links(6, [2, 2, 1, 1, 1], [2, 0, 5, 2, 3])
    found = pagerank(graph, damping=0.5, error=1e-14, start=[1, 1e-5, 1e-5, 1, 1, 1])
    assert found.certified_error <= 1e-14
    assert found.scores == pytest.approx(pagerank_of(graph, 0.5).astype(float), abs=1e-14)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_that_own_one_side_each_of_a_bipartite_graph_take_few_sweeps(threads: int) -> None:
    random = np.random.default_rng(4)
    left, right = np.repeat(np.arange(400), 5), 400 + random.integers(0, 100, 2_000)
    graph = graph_from_links(500, np.append(left, right), np.append(right, left))
    found = pagerank(graph, damping=0.99, error=1e-6, threads=threads)
    assert found.iterations <= 40


def test_debts_are_balanced_so_that_a_graph_that_mixes_takes_few_sweeps() -> None:
    random = np.random.default_rng(3)
    links = random.integers(0, 500, (5_000, 2))
    graph = graph_from_links(500, links[:, 0], links[:, 1])
    with Crew(2) as crew:
        pushing = Pushing(graph, np.empty(0), 0.99, None, None, crew)
        for _ in range(15):
            pushing.sweep()
        assert abs(owed_by(pushing).sum()) <= max(1e-12, 0.01 * pushing.debt)
        assert pushing.bound() <= 1e-6  # each sweep would shrink a sum of debts by 0.99


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_takes_one_sweep_in_either_direction(step: int) -> None:
    chain = np.arange(1_000)[::step]
    graph = graph_from_links(1_000, chain[:-1], chain[1:])
    with Crew(1) as crew:
        pushing = Pushing(graph, np.empty(0), 0.95, None, None, crew)
        assert pushing.debt == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("rising", "step"), [(0.0, -1), (0.3, -1), (0.45, 1), (1.0, 1)])
def test_a_sweep_goes_backwards_only_where_most_links_do(rising: float, step: int) -> None:
    random = np.random.default_rng(6)
    ends = np.sort(random.integers(0, 2_000, (20_000, 2)), axis=1)
    turned = random.random(20_000) >= rising
    graph = graph_from_links(2_000, np.where(turned, ends[:, 1], ends[:, 0]), np.where(turned, ends[:, 0], ends[:, 1]))
    with Crew(1) as crew:
        assert Pushing(graph, np.empty(0), 0.85, None, None, crew)._step == step
    found = pagerank(graph, error=1e-12, method="push")
    textbook = pagerank(graph, error=1e-12, method="jacobi").scores
    assert np.abs(found.scores - textbook).sum() / 2_000 <= 2e-12


@pytest.mark.parametrize(
    ("rows", "way"),
    [
        ([[1] * 7, [2] * 7, [3] * 7, [0] * 7], LOOPED),
        ([[1, 2, 3, 1, 2, 1, 2], [2, 3, 0], [3, 0], [0]], SHORT),
        ([[1], [2], [3], [0]], HANDED_ON),
    ],
)
def test_rows_are_paid_in_the_way_that_suits_their_lengths(rows: list[list[int]], way: int) -> None:
    rows = [[target + 4 * copy for target in row] for copy in range(25) for row in rows]
    sources = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    graph = graph_from_links(len(rows), sources, np.concatenate(rows))
    with Crew(1) as crew:
        assert Pushing(graph, np.empty(0), 0.85, None, None, crew)._rows == way


@pytest.mark.parametrize("wanted", [0.0, 1e-323, 1e-300, 1.0])
@pytest.mark.parametrize("row", [[0], [0, 1], [1, 0, 2, 0], [1, 2, 3, 1, 2, 0, 3, 0, 0], [1, 2, 3, 1, 2, 3]])
@pytest.mark.parametrize("down", [False, True])
def test_the_first_sweep_finds_self_links_however_little_a_page_pays(
    row: list[int], wanted: float, *, down: bool
) -> None:
    rows = [row, [0], [1], [1]]
    sources, targets = np.repeat(np.arange(4), [len(one) for one in rows]), np.concatenate(rows)
    emphasis = np.array([wanted, 1.0, 1.0, 1.0]) * 4 / (3 + wanted)
    if down:
        sources, targets, emphasis = 3 - sources, 3 - targets, emphasis[::-1].copy()
    graph = graph_from_links(4, sources, targets)
    with Crew(1) as crew:
        share = Pushing(graph, np.empty(0), 0.5, emphasis, None, crew).share
    own = [int((graph.row(page) == page).sum()) for page in range(4)]
    assert share == pytest.approx([0.5 / (len(graph.row(page)) - 0.5 * own[page]) for page in range(4)], rel=1e-15)


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_sweep_along_a_chain_pays_self_links_and_dangling_pages_too(step: int, threads: int) -> None:
    pages = np.arange(30)
    looped, onward = pages[::4], pages[pages % 7 != 6][:-1]
    sources, targets = np.concatenate([looped, looped, onward]), np.concatenate([looped, looped, onward + 1])
    if step < 0:
        sources, targets = 29 - sources, 29 - targets
    graph = graph_from_links(30, sources, targets)
    with Crew(threads) as crew:
        pushing = Pushing(graph, np.empty(0), 0.85, None, None, crew)
        assert (pushing._rows, pushing._step, pushing.sweeps) == (HANDED_ON, step, 1)
        for _ in range(9 * (threads - 1)):  # what is handed to another thread waits for its next turn
            pushing.sweep()
        assert pushing.bound() <= 1e-12
        scores, _, _ = pushing.certify(1e-12)
    assert scores == pytest.approx(pagerank_of(graph, 0.85).astype(float))


def streets(side: int, one_way: int) -> Graph:
    """A square of streets, of which every so many are one-way."""
    places = np.arange(side * side)
    east, south = places[places % side < side - 1], places[:-side]
    sources, targets = np.concatenate([east, south]), np.concatenate([east + 1, south + side])
    both = np.arange(len(sources)) % one_way > 0
    return graph_from_links(side * side, np.append(sources, targets[both]), np.append(targets, sources[both]))


@pytest.mark.parametrize(("one_way", "most"), [(10**9, 1.9), (15, 1.3), (2, 1.0)])
@pytest.mark.parametrize("threads", [1, 2])
def test_pages_pay_more_than_they_owe_where_links_are_mutual(one_way: int, most: float, threads: int) -> None:
    graph = streets(40, one_way)
    sweeps = {}
    for allowed in (True, False):
        with Crew(threads) as crew:
            pushing = Pushing(graph, np.empty(0), 0.99, None, None, crew)
            pushing._most_paid = np.inf if allowed else 1.0
            while pushing.bound() > 1e-6:
                pushing.sweep()
            sweeps[allowed] = pushing.sweeps
            assert 1.0 <= pushing._overpaid <= (most if allowed else 1.0)
            assert pushing.drift == np.inf or pushing._overpaid == 1.0
    assert sweeps[True] <= (0.7 if most > 1.0 else 1.0) * sweeps[False]


def test_over_paying_ends_where_debts_grow() -> None:
    ring = graph_from_links(50, np.arange(50), (np.arange(50) + 7) % 50)
    with Crew(1) as crew:
        pushing = Pushing(ring, np.empty(0), 0.99, np.arange(50) / 24.5, None, crew)
        pushing._overpay(1.9)
        for _ in range(100):
            pushing.sweep()
        assert pushing._overpaid == 1.0


def test_a_loose_error_is_certified_without_reading_the_links_again() -> None:
    graph = streets(8, 3)
    for error, again in ((1e-3, 0), (1e-15, graph.links)):
        with Crew(1) as crew:
            pushing = Pushing(graph, np.empty(0), 0.5, None, None, crew)
            while pushing.bound() > error / 2 and pushing.sweeps < 60:
                pushing.sweep()
            before = pushing.links
            scores, _, _ = pushing.certify(error)
        assert pushing.links == before + again
        assert np.abs(scores - pagerank_of(graph, 0.5)).sum() / graph.pages <= error


def test_a_start_at_the_solution_owes_nothing_even_if_pages_dangle() -> None:
    graph = Graph(np.array([0, 2, 3, 3]), np.array([1, 2, 2], dtype=np.int32))
    exact = pagerank_of(graph, 0.85).astype(float)
    with Crew(1) as crew:
        pushing = Pushing(graph, np.empty(0), 0.85, None, exact, crew)
    assert pushing.debt == pytest.approx(0, abs=1e-14)
    pushing.settle()
    solution = pushing.paid
    assert solution / solution.sum() == pytest.approx(exact / exact.sum())


@pytest.mark.parametrize("emphasis", [None, [0, 0, 3], [3, 0, 0]])
def test_a_start_that_pages_with_links_have_no_part_of_is_left_out(emphasis: list[float] | None) -> None:
    graph = Graph(np.array([0, 2, 3, 3]), np.array([1, 2, 2], dtype=np.int32))
    found = pagerank(graph, start=[0, 0, 1], personalisation=emphasis, error=1e-9)
    assert found.scores == pytest.approx(pagerank_of(graph, 0.85, emphasis).astype(float), abs=3e-9)


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
