"""The decisions of the book: they follow from its beliefs, and spend the whole budget."""

import numpy as np
import numpy.typing as npt
import pytest

from centime.model.errors import ScheduleBroken
from centime.refresh.book import RefreshBook
from centime.refresh.observation import DATED
from centime.refresh.worth import OPTIMAL, index_at
from tests.refresh.test_book import DAY, hosts_of, importance_of, make_book, read, read_many_ways


def test_the_exact_demand_is_the_budget_after_some_passes() -> None:
    book = make_book(budget=0.005 * 5000 / DAY)
    pages = read_many_ways(book, 5000)
    for _ in range(8):
        book.refile(2e7, importance_of)
    ages = book.due_times(pages, importance_of(pages), probed=False) - book.read_times(pages)
    by_worth = (1.0 - book.probe_share) * book.settings.budget
    assert (1 / ages).sum() == pytest.approx(by_worth, rel=0.005)
    assert book.demand(book.threshold) == pytest.approx(by_worth, rel=1e-3)
    assert book.threshold_for(by_worth) == book.threshold


def test_no_page_is_due_never_and_probes_take_their_share_of_the_budget() -> None:
    book = make_book(budget=0.005 * 5000 / DAY)
    pages = read_many_ways(book, 5000)
    for _ in range(3):
        book.refile(2e7, importance_of)
    importance = importance_of(pages)
    assert np.isfinite(book.due_times(pages, importance)).all()
    # proportional to 1/sqrt(x), and all together 1/mean is the share of the budget
    means = np.sqrt(importance).sum() / (book.probe_share * book.settings.budget) / np.sqrt(importance)
    probe = book.due_times(pages, importance, threshold=1e30) - book.read_times(pages)
    assert (probe / means).mean() == pytest.approx(1.0, rel=0.05), "exponential, of these means"
    assert np.log(np.maximum(probe / means, 1e-9)).std() > 1.0


def test_pages_that_froze_are_found_out_soon() -> None:
    book = make_book(budget=0.1 * 2000 / DAY)
    pages, frozen = np.arange(2000), np.arange(50)
    read(book, pages, 1000.0)
    now = 1000.0
    for _ in range(200):
        now += DAY / 4
        read(book, frozen, now, DATED, since=DAY / 8)

    def importance(some: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.where(some < 50, 10.0, 0.8)

    for _ in range(3):
        book.refile(now, importance)
    waits = book.due_times(frozen, importance(frozen)) - now
    assert np.median(waits) < 60 * DAY, "too fast to be kept fresh, but probed"
    before = book.rates(frozen)[0]
    read(book, frozen, now + 50 * DAY, DATED, since=49 * DAY)
    after = book.rates(frozen)[0]
    assert (before > 2 / DAY).all()
    assert (after < 0.25 / DAY).all()


def test_decisions_follow_from_the_beliefs() -> None:
    book = make_book(budget=0.02 * 500 / DAY)
    pages = read_many_ways(book, 500)
    book.refile(2e7, importance_of)
    importance = importance_of(pages)
    shapes, rates = book.beliefs(pages, importance)
    index = [
        index_at(OPTIMAL, 0.0, 1.0, shape, rate, x, 2e7 - read)
        for shape, rate, x, read in zip(shapes, rates, importance, book.read_times(pages), strict=True)
    ]
    assert book.worth(pages, 2e7, importance) == pytest.approx(index, rel=1e-6)


@pytest.mark.parametrize("policy", ["paper", "uniform"])
def test_the_paper_s_rule_and_the_uniform_one_know_the_mean_alone(policy: str) -> None:
    book = make_book(budget=0.02 * 500 / DAY, policy=policy)
    pages = read_many_ways(book, 500)
    book.refile(2e7, importance_of)
    mean, age = book.rates(pages)[0], 2e7 - book.read_times(pages)
    index = importance_of(pages) * mean * age**2 if policy == "paper" else age
    assert book.worth(pages, 2e7, importance_of(pages)) == pytest.approx(index, rel=1e-9)


def test_the_full_check_sees_a_page_that_would_be_inspected_late() -> None:
    book = make_book(budget=20 / DAY)
    read(book, np.arange(100), 1e7)
    book.refile(1e7, importance_of)
    book.check(importance_of, in_full=True)
    facts, arrays = book.state()
    arrays["read"][8] = 0  # as if it had been read long before, and were due long before its slot opens
    with pytest.raises(ScheduleBroken, match="page 8 is due at"):
        RefreshBook.from_state(facts, arrays, hosts_of).check(importance_of, in_full=True)
