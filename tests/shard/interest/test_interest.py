"""Interest on-line: the laws of `flow.py`, against brute force and the off-line interest, in any order of reads."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from centime.ledger.memory_rows import MemoryRows
from centime.model.errors import InterestBroken
from centime.model.row_batch import Pages, RowBatch
from centime.rank.interest import interest as offline_interest
from centime.settings.want import want_of
from centime.shard.interest.interest import FLOOR, Interest, Shown
from centime.shard.visit_rows import tidy_rows

PAGES = 8
DAMPING = 0.85

Reads = list[tuple[int, set[int], bool]]
reads = st.lists(
    st.tuples(st.integers(0, PAGES - 1), st.sets(st.integers(0, PAGES - 1)), st.booleans()), min_size=1, max_size=40
)


class Web:
    """Pages that are read in any order, and what is kept of their interest."""

    def __init__(self, want: str = "xml", pages: int = PAGES, suffix: str = "") -> None:
        self.rows = MemoryRows()
        self.interest = Interest(want_of(want), DAMPING)
        self.urls = [f"http://h{page % 2}.example/d{page % 3}/p{page}{suffix}" for page in range(pages)]
        self.interest.join(np.arange(pages), self.urls)
        self.wanted = self.interest.are_wanted().copy()
        self.importance = np.zeros(pages)
        self.visits = 0

    def read(self, page: int, links: set[int], wanted: bool) -> Pages:
        pages, row = np.array([page]), row_of(links)
        self.interest.relink(pages, self.rows.gather(pages), row)
        self.rows.replace(pages, row)
        self.visits += 1
        before, self.importance[page] = self.importance[page], 1.0 + self.visits / 10
        self.wanted[page] = wanted
        shown = Shown(pages, np.array([wanted]), np.array([before]), self.importance[pages])
        return self.interest.observe(shown, np.array([True]))

    def check(self) -> None:
        self.interest.check(self.rows, self.wanted, self.importance)

    def solved(self) -> np.ndarray:
        """y by solving the linear system of the known links."""
        graph = self.rows.graph(len(self.urls))
        matrix = np.zeros((len(self.urls), len(self.urls)))
        matrix[np.repeat(np.arange(graph.pages), graph.out_degree), graph.targets] = 1.0
        degree = np.maximum(matrix.sum(axis=0), 1.0)
        return np.linalg.solve(np.eye(len(self.urls)) - DAMPING * matrix / degree, self.wanted.astype(np.float64))


def row_of(links: set[int]) -> RowBatch:
    return tidy_rows(np.array(sorted(links), dtype=np.int64), np.array([len(links)], dtype=np.int64))


@given(reads)
def test_every_count_follows_from_rows_and_reads_in_any_order(made: Reads) -> None:
    web = Web()
    for page, links, wanted in made:
        web.read(page, links, wanted)
    web.check()


@given(reads)
def test_the_certified_error_bounds_the_distance_to_the_solution_at_any_time(made: Reads) -> None:
    web = Web()
    for page, links, wanted in made:
        web.read(page, links, wanted)
        solved = web.solved()
        error = web.interest.error(web.rows)
        if solved.sum() > 0 and error is not None:
            exact = solved * (PAGES / solved.sum())
            assert np.abs(web.interest.scores() - exact).mean() <= error + 1e-9


@given(reads)
@example([(0, set(), True), (0, {0}, False)])  # what was wanted is not any more, and goes round a loop
def test_sweeps_lead_to_the_interest_of_the_off_line_ranking(made: Reads) -> None:
    web = Web()
    for page, links, wanted in made:
        web.read(page, links, wanted)
    web.interest.settle(web.rows, 200)
    web.check()
    if web.wanted.any():
        offline = offline_interest(web.rows.graph(PAGES), web.wanted.astype(np.float64), error=1e-10)
        assert np.allclose(web.interest.scores(), offline.scores, atol=1e-7)
        assert (web.interest.error(web.rows) or 0.0) < 1e-7
    else:
        assert web.interest.error(web.rows) is None
        assert not web.interest.scores().any()


@given(reads, st.integers(0, 39))
def test_a_snapshot_continues_exactly_as_the_original(made: Reads, cut: int) -> None:
    one, other = Web(), Web()
    for place, (page, links, wanted) in enumerate(made):
        if place == cut:
            arrays = {name: array.copy() for name, array in other.interest.state().items()}
            other.interest = Interest(other.interest.want, DAMPING, arrays)
        one.read(page, links, wanted)
        other.read(page, links, wanted)
        one.interest.sweep(one.rows, 1, 1)
        other.interest.sweep(other.rows, 1, 1)
    ours, theirs = one.interest.state(), other.interest.state()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not np.array_equal(ours[name], theirs[name])] == []


def test_a_page_that_alone_links_to_many_wanted_pages_counts_them_at_once() -> None:
    web = Web(pages=30)
    web.read(0, set(range(1, 21)), False)
    for page in range(1, 21):
        web.read(page, set(), True)
    assert web.interest.leads_to(np.array([0]))[0] == pytest.approx(20 * DAMPING)


def test_interest_moves_on_from_parent_to_parent_without_a_sweep() -> None:
    web = Web(pages=5)
    for page in range(4):
        web.read(page, {page + 1}, False)
    web.read(4, set(), True)
    assert web.interest.leads_to(np.arange(4)) == pytest.approx([DAMPING**steps for steps in (4, 3, 2, 1)])


def test_wanted_pages_are_valued_by_importance_and_others_by_what_they_lead_to() -> None:
    web = Web(pages=6)
    web.read(0, {1, 2}, False)
    web.read(1, set(), True)
    web.read(3, {4}, False)
    importance = np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    value = web.interest.value(np.arange(6), importance)
    scale = web.importance[1]
    assert value[1] == pytest.approx(3.0 + FLOOR * 3.0)
    assert value[0] == pytest.approx(DAMPING * scale + FLOOR * 2.0)
    assert value[3] == pytest.approx(FLOOR * 5.0)


def test_an_unread_page_is_expected_to_be_what_its_siblings_are() -> None:
    web = Web(pages=30)
    web.read(0, {2, 4, 6, 8}, False)  # its children are wanted
    web.read(1, {3, 5, 7, 9}, False)  # and those are not
    for page in (2, 4, 6):
        web.read(page, set(), True)
    for page in (3, 5, 7):
        web.read(page, set(), False)
    wanted, _, _ = web.interest.expected(np.array([8, 9]))
    assert wanted[0] > 0.5 > 0.2 > wanted[1]


def test_before_any_page_was_read_the_suffix_decides() -> None:
    interest = Interest(want_of("xml"), DAMPING)
    interest.join(np.arange(3), ["http://a.example/b.xml", "http://a.example/b.html", "http://a.example/b"])
    wanted, _, _ = interest.expected(np.arange(3))
    assert wanted[0] > 0.5 > wanted[1] == wanted[2]


def test_a_suffix_that_proves_wrong_is_not_believed_for_long() -> None:
    web = Web(pages=20, suffix=".xml")
    for page in range(10):
        web.read(page, set(), False)
    wanted, _, _ = web.interest.expected(np.arange(10, 20))
    assert wanted.max() < 0.2


def test_pages_that_a_pattern_matches_are_wanted_before_they_are_read() -> None:
    web = Web("/d1/")
    assert web.wanted.tolist() == [page % 3 == 1 for page in range(PAGES)]
    web.read(0, {1, 4}, False)
    assert web.interest.leads_to(np.array([0]))[0] == pytest.approx(2 * DAMPING)
    wanted, _, _ = web.interest.expected(np.array([1, 2]))
    assert wanted.tolist() == [1.0, 0.0]
    web.check()


def test_a_crawl_that_has_found_nothing_it_wants_goes_by_importance() -> None:
    web = Web(pages=4)
    for page in range(4):
        web.read(page, set(), False)
    importance = np.array([0.5, 3.0, 1.0, 2.0])
    assert np.argsort(-web.interest.value(np.arange(4), importance)).tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("degree", "links to page 3"),
        ("links", "links of page 3"),
        ("parent", "parent that links to page 3"),
        ("children", "children of page 3"),
        ("child_read", "children that were read of page 3"),
        ("child_wanted", "children that are wanted of page 3"),
        ("child_expected", "children that were expected of page 3"),
        ("child_interest", "interest of the children of page 3"),
        ("group_read", "pages that were read of group 3"),
        ("group_wanted", "pages that are wanted of group 3"),
        ("group_sums", "interest of group 3"),
        ("marks", "page that is marked as wanted 3"),
        ("total", "sum of all interest"),
        ("wanted_read", "number of wanted pages"),
        ("wanted_importance", "sum of their importance"),
    ],
)
def test_whatever_is_wrong_is_found(column: str, message: str) -> None:
    web = Web()
    web.read(0, {1, 2}, False)
    web.read(1, {2}, True)
    state = {name: array.copy() for name, array in web.interest.state().items()}
    state[column][min(3, len(state[column]) - 1)] += 1
    web.interest = Interest(web.interest.want, DAMPING, state)
    with pytest.raises(InterestBroken, match=message):
        web.check()


def test_siblings_are_valued_again_each_time_when_twice_as_many_were_read() -> None:
    web = Web(pages=30)
    web.read(0, set(range(1, 20)), False)
    again = [len(web.read(page, set(), True)) for page in range(1, 18)]
    assert [place for place, parents in enumerate(again, 1) if parents] == [1, 2, 4, 8, 16]


def test_the_parent_of_a_page_is_the_one_that_leads_to_clearly_more_per_link() -> None:
    web = Web(pages=20)
    web.read(0, {*range(2, 8), *range(10, 20)}, False)  # links to everything
    for page in range(10, 20):
        web.read(page, set(), False)
    web.read(1, set(range(2, 8)), False)  # and this one to what is wanted
    for page in range(2, 7):
        web.read(page, set(), True)
    before, _, _ = web.interest.expected(np.array([7]))
    web.interest.settle(web.rows, 1)
    web.check()
    after, _, _ = web.interest.expected(np.array([7]))
    assert after[0] > 1.5 * before[0]
