"""The refresh book: what reads show, what is due, and laws that hold whatever is called.

Over 400 lines: all cases share the book and the web at the top."""

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.errors import BadSetting, ScheduleBroken
from centime.refresh.book import RefreshBook
from centime.refresh.observation import CHANGED, DATED, FAILED, FIRST, QUIET
from centime.refresh.settings import Policy, RefreshSettings
from centime.refresh.sweep import PROBE_WORTH
from centime.refresh.tables import ASKED, EXACT

DAY = 86400.0
HOSTS = 7


def hosts_of(pages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return pages % HOSTS


def importance_of(pages: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return 0.25 + 1.5 * ((pages * 2654435761) % 1024) / 1024


def make_book(**changes: Any) -> RefreshBook:
    return RefreshBook(1000.0, RefreshSettings(**{"budget": 0.001, "least_interval": 60.0, **changes}), hosts_of)


def read(
    book: RefreshBook,
    pages: Any,
    now: float,
    verdict: int = FIRST,
    since: float = 0.0,
    cost: float = 1000.0,
    stood: float = math.nan,
) -> None:
    pages = np.atleast_1d(np.asarray(pages, dtype=np.int64))
    count = len(pages)
    verdicts = np.full(count, verdict, dtype=np.uint8)
    book.record(
        pages, hosts_of(pages), now, verdicts, np.full(count, since), np.full(count, cost), importance_of(pages), stood
    )


def evidence(book: RefreshBook, pages: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The changes that were seen of pages, and the seconds for which they were seen unchanged."""
    arrays = book.state()[1]
    return arrays["s"][pages] / 1024, arrays["b"][pages].astype(np.float64)


CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(0, 60), st.sampled_from([FIRST, QUIET, CHANGED, DATED, FAILED])),
        st.tuples(st.just("forget"), st.integers(0, 60), st.just(0)),
        st.tuples(st.just("claim"), st.integers(0, 60), st.integers(1, 5)),
        st.tuples(st.just("inspect"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 2_000_000), st.just(0)),
        st.tuples(st.just("budget"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("alpha"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("policy"), st.sampled_from(["optimal", "paper", "uniform"]), st.just(0)),
    ),
    max_size=60,
)


def play(
    book: RefreshBook, calls: list[tuple[str, Any, int]], now: float, check: bool = False
) -> tuple[float, list[list[int]]]:
    given_out = []
    for name, value, more in calls:
        kept = book.settings
        if name == "read":
            read(book, np.arange(value, value + 5), now, more, since=100.0 * more, stood=1e5 * (value % 3) or math.nan)
        elif name == "forget":
            book.forget(np.array([value, value + 100]))
        elif name == "claim":
            book.claim(np.array([value]), np.array([3600.0 * more]), np.array([0.5]))
        elif name == "inspect":
            given_out.append(book.inspect(now, importance_of, value)[0].tolist())
        elif name == "wait":
            now += value
        elif name == "budget":
            book.configure(
                RefreshSettings(budget=10.0**-value, least_interval=60.0, alpha=kept.alpha, policy=kept.policy)
            )
        elif name == "alpha":
            book.configure(
                RefreshSettings(budget=kept.budget, least_interval=60.0, alpha=float(value), policy=kept.policy)
            )
        else:
            book.configure(RefreshSettings(budget=kept.budget, least_interval=60.0, by_bytes=True, policy=value))
        if check:
            book.check(importance_of)
    return now, given_out


@settings(max_examples=60)
@given(CALLS, CALLS)
def test_whatever_is_called_pages_lie_in_one_slot_and_a_copy_of_the_state_continues_alike(
    before: list[tuple[str, Any, int]], after: list[tuple[str, Any, int]]
) -> None:
    book = make_book()
    now, _ = play(book, before, 2000.0, check=True)
    facts, arrays = book.state()
    twin = RefreshBook.from_state(facts, arrays, hosts_of)
    assert play(book, after, now) == play(twin, after, now)
    ours, theirs = book.state(), twin.state()
    assert ours[0] == theirs[0]
    assert all(ours[1][name].tobytes() == theirs[1][name].tobytes() for name in ours[1])
    book.refile(now, importance_of)
    book.check(importance_of, in_full=True)


def test_a_page_is_due_when_its_index_reaches_the_threshold_and_not_before() -> None:
    book = make_book(budget=20 / DAY)
    read(book, np.arange(100), 1000.0)
    for _ in range(3):  # the first finds how far the sums are off, the second files by it
        book.refile(1000.0, importance_of)
    pages = np.arange(100)
    due = book.due_times(pages, importance_of(pages))
    first = due.min()
    assert math.isfinite(first)
    assert not len(book.inspect(first - 2.0, importance_of, 100)[0])
    given_out, worths = book.inspect(first + 2.0, importance_of, 100)
    assert due[given_out].max() <= first + 2.0
    assert (worths >= book.threshold).all()
    own = book.worth(given_out, first + 2.0, importance_of(given_out))
    assert np.allclose(worths, np.where(own >= book.threshold, own, PROBE_WORTH * book.threshold))


def test_settings_out_of_range_are_rejected() -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"policy": "best"},
        {"alpha": -1.0},
        {"alpha": 0.0, "beta": 0.0},
        {"budget": math.nan},
        {"least_interval": 0.0},
    )
    for changes in wrong:
        with pytest.raises(BadSetting):
            RefreshSettings(**{"budget": 0.001, **changes}).check()


def test_nan_and_missing_elements_are_broken_invariants() -> None:
    book = make_book()
    with pytest.raises(ScheduleBroken, match="from -1 to -1"):
        read(book, [-1], 0.0)
    with pytest.raises(ScheduleBroken, match="the time or the importance"):
        read(book, [1], math.nan)
    with pytest.raises(ScheduleBroken, match="a verdict that does not exist"):
        read(book, [1], 0.0, verdict=9)
    with pytest.raises(ScheduleBroken, match="the time since the change"):
        read(book, [1], 0.0, since=math.nan)
    with pytest.raises(ScheduleBroken, match="a published period"):
        book.claim(np.array([1]), np.array([-1.0]), np.array([1.0]))
    with pytest.raises(ScheduleBroken, match="inspected at the time nan"):
        book.inspect(math.nan, importance_of, 1)
    with pytest.raises(ScheduleBroken, match="each read needs one of each"):
        book.record(np.array([1]), np.zeros(0), 0.0, np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))


def test_the_check_sees_a_page_that_is_filed_twice_or_not_at_all() -> None:
    book = make_book()
    read(book, np.arange(10), 1000.0)
    facts, arrays = book.state()
    for name, value in (("heads", -1), ("next", 3), ("flags", 1), ("b", math.nan)):
        broken = {**arrays, name: np.where(arrays[name] >= 0, np.array(value, dtype=arrays[name].dtype), arrays[name])}
        with pytest.raises(ScheduleBroken):
            RefreshBook.from_state(facts, broken, hosts_of).check(importance_of)


def test_when_the_budget_exceeds_all_demand_pages_are_read_at_their_least_interval() -> None:
    book = make_book(budget=100.0)
    pages = np.arange(50)
    read(book, pages, 1000.0)
    assert book.threshold == 0.0
    assert (book.due_times(pages, importance_of(pages)) == 1060.0).all()
    assert not len(book.inspect(1059.0, importance_of, 100)[0])
    assert sorted(book.inspect(1062.0, importance_of, 100)[0]) == pages.tolist()


def test_without_a_budget_no_page_is_due() -> None:
    book = make_book(budget=0.0)
    read(book, np.arange(50), 1000.0)
    assert book.threshold == math.inf
    assert not len(book.inspect(1e10, importance_of, 100)[0])
    assert (book.due_times(np.arange(50), np.ones(50)) == math.inf).all()
    book.configure(RefreshSettings(budget=1.0))
    assert len(book.inspect(1e10 + 1, importance_of, 100)[0]) == 50


def test_a_due_page_is_returned_again_at_a_twentieth_more_than_its_age_until_it_is_read() -> None:
    book = make_book(budget=100.0)
    read(book, [5], 1000.0)
    assert book.inspect(1400.0, importance_of, 9)[0].tolist() == [5]
    assert book.inspect(1415.0, importance_of, 9)[0].tolist() == []
    read(book, [5], 1418.0, FAILED)
    assert book.inspect(1422.0, importance_of, 9)[0].tolist() == [5]
    read(book, [5], 1502.0, QUIET)
    assert book.inspect(1550.0, importance_of, 9)[0].tolist() == []
    assert book.worth(np.array([5]), 1502.0, np.ones(1)).tolist() == [0.0]


def test_a_forgotten_page_comes_no_more_and_starts_anew_if_it_is_read() -> None:
    book = make_book(budget=100.0)
    read(book, [1, 2], 1000.0)
    read(book, [1], 2000.0, CHANGED)
    book.forget(np.array([1, 77]))
    assert book.contains(np.array([1, 2, 77, -1])).tolist() == [False, True, False, False]
    assert book.inspect(9000.0, importance_of, 9)[0].tolist() == [2]
    assert math.isnan(book.worth(np.array([1]), 9000.0, np.ones(1))[0])
    read(book, [1], 9000.0)
    assert len(book) == 2
    shapes, _ = book.beliefs(np.array([1, 3]), np.ones(2))
    assert shapes[0] == shapes[1]
    book.check(importance_of)


def test_evidence_moves_the_rate_and_its_bounds() -> None:
    book = make_book()
    read(book, [1, 2, 3, 4], 1000.0)
    book.claim(np.array([4]), np.array([60.0]), np.array([5.0]))
    for day in range(1, 20):
        read(book, [1], day * DAY, QUIET)
        read(book, [2], day * DAY, CHANGED)
        read(book, [3], day * DAY, DATED, since=60.0)
    mean, low, high = book.rates(np.arange(1, 5))
    assert (low < mean).all()
    assert (mean < high).all()
    assert mean[0] < 0.1 / DAY < 1 / DAY < mean[1] < mean[2] < 1 / 30
    assert mean[3] > 10 * book.statistics()["prior_mean_rate"]


@pytest.mark.parametrize("period", [1.0, 5 * DAY, 3650 * DAY])
def test_a_published_period_counts_within_what_its_weight_lets_it_differ(period: float) -> None:
    book = make_book(first_rate=1 / DAY)
    pages = np.arange(3)
    usual = 1 / book.discovery_worth(np.zeros(1, dtype=np.int64))[0]
    book.claim(pages, np.full(3, period), np.array([0.0, 0.5, 1.5]))
    changes, quiet = evidence(book, pages)
    assert changes == pytest.approx([0.0, 0.5, 1.5])
    within = [min(max(period, 1 / usual / factor), factor / usual) for factor in (1, 4, 64)]
    assert quiet == pytest.approx([0.0, 0.5 * within[1], 1.5 * within[2]], rel=1e-4)
    read(book, pages, 1000.0)
    book.refile(1001.0, importance_of)
    book.check(importance_of, in_full=True)


@pytest.mark.parametrize(
    ("stood", "s", "b"),
    [
        (5 * DAY, 1.0, 5 * DAY),
        (math.nan, 0.0, 0.0),
        (0.0, 0.0, 0.0),
        (-DAY, 0.0, 0.0),
    ],
)
def test_the_age_of_the_content_at_the_first_read_counts_once_with_the_second(stood: float, s: float, b: float) -> None:
    book = make_book()
    read(book, [1, 2], 1000.0, stood=stood)
    assert not any(evidence(book, [1])), "the first read has no read before it"
    read(book, [1], 1000.0 + 2 * DAY, QUIET, stood=stood)
    read(book, [2], 1000.0 + 2 * DAY, DATED, since=DAY, stood=stood)
    changes, quiet = evidence(book, [1, 2])
    assert changes == pytest.approx([s, s + 1], abs=0.05)  # two days fade a little
    assert quiet == pytest.approx([b + 2 * DAY, b + DAY], rel=0.05)
    read(book, [1], 1000.0 + 4 * DAY, QUIET, stood=stood)
    assert evidence(book, [1])[0] == pytest.approx([s], abs=0.05)
    book.refile(1000.0 + 4 * DAY, importance_of)
    book.check(importance_of, in_full=True)


def test_a_million_pages_due_at_once_come_over_several_calls_and_each_once() -> None:
    count = 100_000
    book = make_book(budget=1e9)
    read(book, np.arange(count), 1000.0)
    seen: list[int] = []
    now = 1100.0
    while len(seen) < count:
        pages, _ = book.inspect(now, importance_of, 5000)
        assert 0 < len(pages) <= 5000
        seen += pages.tolist()
    assert sorted(seen) == list(range(count))


@pytest.mark.parametrize("policy", ["optimal", "paper", "uniform"])
@pytest.mark.parametrize("by_bytes", [False, True])
def test_another_budget_is_in_force_at_once(policy: str, by_bytes: bool) -> None:
    book = make_book(policy=policy, budget=1.0, by_bytes=by_bytes)
    pages = np.arange(20_000)
    read(book, pages, 1000.0)
    book.refile(1000.0, importance_of)
    for budget in (0.2, 3.0, 0.5):
        rule = cast(Policy, policy)
        book.configure(RefreshSettings(policy=rule, budget=budget, least_interval=60.0, by_bytes=by_bytes))
        cost = 1000.0 if by_bytes else 1.0
        by_worth = (1.0 - book.probe_share) * budget
        asked = (cost / (book.due_times(pages, importance_of(pages), probed=False) - 1000.0)).sum()
        assert asked == pytest.approx(by_worth, rel=0.05)
        assert book.demand(book.threshold) == pytest.approx(by_worth, rel=0.01)
        assert book.threshold_for(by_worth) == book.threshold


def test_other_weights_are_in_force_at_the_next_inspection_and_exact_after_a_pass() -> None:
    book = make_book(budget=1.0)
    pages = np.arange(20_000)
    read(book, pages, 1000.0)
    book.refile(1000.0, importance_of)
    book.configure(RefreshSettings(budget=1.0, least_interval=60.0, alpha=0.7, beta=0.1))
    book.inspect(1001.0, importance_of, 1)
    for _ in range(2):
        asked = (1 / (book.due_times(pages, importance_of(pages), probed=False) - 1000.0)).sum()
        assert asked == pytest.approx(1.0 - book.probe_share, rel=0.1)
        book.refile(1001.0, importance_of)
        book.check(importance_of, in_full=True)


def test_new_settings_in_the_middle_of_a_pass_do_not_spoil_the_sums() -> None:
    book = make_book(budget=1.0)
    pages = np.arange(20_000)
    read(book, pages, 1000.0)
    book.configure(RefreshSettings(budget=1.0, alpha=1.0))
    book.inspect(1001.0, importance_of, 1)
    assert book.sweeping
    book.configure(RefreshSettings(budget=1.0, alpha=0.5))
    while book.sweeping:
        book.inspect(1001.0, importance_of, 1)
        book.check(importance_of)
    book.check(importance_of, in_full=True)


def test_nothing_is_due_before_the_next_inspection_that_is_announced() -> None:
    book = make_book(budget=10 / DAY)
    assert book.earliest() == math.inf
    read(book, np.arange(40), 1000.0)
    now = 1000.0
    found: list[int] = []
    while not found:
        assert book.earliest() > now
        now = book.earliest()
        found = book.inspect(now, importance_of, 100)[0].tolist()
    due = book.due_times(np.arange(40), importance_of(np.arange(40)))
    assert now - 2 <= due.min() <= now


def test_new_settings_of_an_empty_book_leave_nothing_to_do() -> None:
    book = make_book()
    book.configure(RefreshSettings(policy="paper", budget=3.0))
    assert book.earliest() == math.inf
    assert not len(book.inspect(2000.0, importance_of, 5)[0])


def test_a_host_that_nobody_mentioned_and_an_importance_that_is_nan_do_no_harm() -> None:
    book = RefreshBook(1000.0, RefreshSettings(budget=0.001, least_interval=60.0), lambda pages: pages + 10**9)
    read(book, np.arange(300), 1000.0)
    read(book, np.arange(300), 9000.0, CHANGED)
    found, _ = book.inspect(1e8, lambda pages: np.full(len(pages), math.nan), 300)
    assert not len(found)
    assert math.isfinite(book.statistics()["roots"])
    # the pass that the fallen threshold wanted has filed them anew
    assert len(book.inspect(1.1e8, importance_of, 300)[0])
    book.check(importance_of)


def test_reads_out_of_order_are_no_evidence() -> None:
    book = make_book()
    read(book, [1], 5000.0)
    before = evidence(book, [1])
    read(book, [1], 4000.0, CHANGED)
    read(book, [1], 5000.0, QUIET)
    assert evidence(book, [1]) == before
    assert book.read_times(np.array([1, 2]))[0] == 5000.0


def test_what_a_read_is_expected_to_cost_follows_what_reads_took() -> None:
    book = make_book(by_bytes=True)
    read(book, [1, 2], 1000.0, cost=20_000.0)
    costs = []
    for day in range(1, 13):
        read(book, [1], day * DAY, QUIET, cost=200.0)
        costs.append(int(book.state()[1]["cost"][1]))
    assert (np.diff(costs[:8]) < 0).all()
    assert 2 ** (costs[0] / 8) == pytest.approx(0.75 * 20_000 + 50, rel=0.1)
    assert 2 ** (costs[-1] / 8) < 1200


@given(CALLS)
@settings(max_examples=20)
def test_the_same_calls_give_the_same_state(calls: list[tuple[str, Any, int]]) -> None:
    books = make_book(), make_book()
    assert play(books[0], calls, 2000.0) == play(books[1], calls, 2000.0)
    states = [book.state()[1] for book in books]
    assert all(states[0][name].tobytes() == states[1][name].tobytes() for name in states[0])


@pytest.mark.parametrize(("name", "what"), [("demand", "the demand"), ("sums", "a sum")])
def test_the_full_check_sees_sums_that_are_wrong(name: str, what: str) -> None:
    book = make_book(budget=20 / DAY)
    read(book, np.arange(100), 1000.0)
    book.refile(1000.0, importance_of)
    book.check(importance_of, in_full=True)
    facts, arrays = book.state()
    with pytest.raises(ScheduleBroken, match=what):
        RefreshBook.from_state(facts, {**arrays, name: arrays[name] * 1.001}, hosts_of).check(
            importance_of, in_full=True
        )


@pytest.mark.parametrize(("fact", "what"), [(ASKED, "the exact demand is"), (EXACT, "the factor of the demand is")])
def test_the_full_check_sees_what_the_sums_are_multiplied_with(fact: int, what: str) -> None:
    book = make_book(budget=20 / DAY)
    read(book, np.arange(100), 1000.0)
    book.refile(1000.0, importance_of)
    facts, arrays = book.state()
    arrays["facts"][fact] *= 1.001
    with pytest.raises(ScheduleBroken, match=what):
        RefreshBook.from_state(facts, arrays, hosts_of).check(importance_of, in_full=True)


def read_many_ways(book: RefreshBook, count: int) -> npt.NDArray[np.int64]:
    """Pages of very different rates, read so seldom that many are nearly given up."""
    chance = np.random.default_rng(5)
    pages = np.arange(count)
    rates = chance.lognormal(math.log(0.3), 1.3, count) / DAY
    read(book, pages, 1000.0)
    for look in range(1, 11):
        since = chance.exponential(1 / rates)
        verdicts = np.where(since < 20 * DAY, DATED, QUIET).astype(np.uint8)
        book.record(
            pages,
            hosts_of(pages),
            1000.0 + look * 20 * DAY,
            verdicts,
            since,
            np.full(count, 1000.0),
            importance_of(pages),
        )
    return pages
