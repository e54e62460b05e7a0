from collections import Counter
from typing import Any

import numpy as np
import pytest

from centime.frontier.frontier import Frontier
from centime.frontier.kind import LEVELS, REQUISITE, kind_of, kinds_of
from centime.model.errors import BadSetting, ScheduleBroken
from centime.model.ids import HostId

NO_OFFSETS = np.zeros(128)


def filled(rows: list[tuple[int, int, int, float]], **settings: Any) -> Frontier:
    frontier = Frontier(**settings)
    frontier.add(*(np.array([row[k] for row in rows]) for k in range(4)))
    return frontier


def bits(frontier: Frontier) -> tuple[dict[str, Any], dict[str, bytes]]:
    facts, arrays = frontier.state()
    return facts, {name: array.tobytes() for name, array in arrays.items()}


def test_kinds_of_arrays_are_the_kinds_of_their_elements() -> None:
    assert kinds_of(np.array([1, 5]), np.array([127, 3])).tolist() == [kind_of(1, 127), kind_of(5, 3)]


def test_an_empty_frontier_has_nothing_to_give() -> None:
    frontier = Frontier()
    assert frontier.lease(0.0, 5, np.zeros(0)).tolist() == []
    assert frontier.earliest(3.0) == np.inf
    assert (len(frontier), frontier.hosts, frontier.pages_of(HostId(7))) == (0, 0, 0)
    assert frontier.best(3, NO_OFFSETS).tolist() == []
    frontier.check()
    assert bits(Frontier.from_state(*frontier.state())) == bits(frontier)


def test_pages_come_by_importance_whatever_the_number_of_hosts() -> None:
    rng = np.random.default_rng(7)
    count = 30_000
    keys = rng.integers(0, 5000, count).astype(np.float32)
    for hosts in (1, 40, count):
        frontier = Frontier(leases_per_host=count)
        frontier.add(np.arange(count), rng.integers(0, hosts, count), np.full(count, kind_of(5)), keys)
        frontier.check()
        leased = np.concatenate([frontier.lease(0.0, 777, NO_OFFSETS) for _ in range(39)])
        assert leased.tolist() == np.lexsort((np.arange(count), -keys)).tolist()
        frontier.check()


@pytest.mark.slow
def test_memory_given_back_by_one_host_serves_another() -> None:
    frontier = Frontier()
    sizes = []
    for host in range(20):
        pages = np.arange(5000) + host * 17
        frontier.add(pages, np.full(5000, host), np.full(5000, kind_of(5)), np.zeros(5000))
        frontier.check()
        frontier.remove(pages[::-1] if host % 2 else pages)
        frontier.check()
        sizes.append(frontier.statistics()["bytes"])
    assert len(frontier) == 0
    assert sizes[-1] < 1.2 * sizes[0]


@pytest.mark.compiled
@pytest.mark.parametrize("hosts", [1, 200])
def test_a_page_takes_at_most_sixteen_bytes_at_any_time_of_growth(hosts: int) -> None:
    rng = np.random.default_rng(3)
    frontier = Frontier()
    empty = frontier.statistics()["bytes"]
    for first in range(0, 400_000, 1000):
        frontier.add(
            np.arange(first, first + 1000), rng.integers(0, hosts, 1000), np.full(1000, kind_of(5)), rng.random(1000)
        )
        if first >= 100_000:
            assert frontier.statistics()["bytes"] - empty <= 16 * len(frontier) + 120 * hosts * 9 // 8 + 8 * 8 * hosts


def test_offsets_decide_between_classes_and_never_within_one() -> None:
    rows = [(page, page, kind_of(5, page % 2), float(page)) for page in range(6)]
    assert filled(rows).lease(0.0, 6, np.array([0.0, 0.0])).tolist() == [5, 4, 3, 2, 1, 0]
    assert filled(rows).lease(0.0, 6, np.array([10.0, 0.0])).tolist() == [4, 2, 0, 5, 3, 1]


def test_equal_importance_goes_to_the_lower_page() -> None:
    rows = [(9, 0, kind_of(5), 1.0), (4, 1, kind_of(5), 1.0), (6, 2, kind_of(5, 1), 0.5), (2, 3, kind_of(5, 2), 1.0)]
    assert filled(rows).lease(0.0, 4, np.array([0.0, 0.5, 0.0])).tolist() == [2, 4, 6, 9]


def test_all_levels_ready_get_a_half_of_what_is_left_each() -> None:
    rows = [
        (level * 1000 + n, level * 1000 + n, kind_of(level), 0.0) for level in range(1, LEVELS + 1) for n in range(640)
    ]
    frontier = filled(rows)
    leased = Counter((frontier.lease(0.0, 640, NO_OFFSETS) // 1000).tolist())
    assert leased == {1: 320, 2: 160, 3: 80, 4: 40, 5: 40}
    assert frontier.statistics()["leased"] == leased


@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.5, 0.9])
def test_an_urgent_level_takes_its_share_of_any_run_of_choices_and_no_more(share: float) -> None:
    rows = [(n, n, kind_of(REQUISITE if n < 2000 else 5), 0.0) for n in range(4000)]
    leased = filled(rows, shares=(share, 0.5, 0.5, 0.5)).lease(0.0, 2000, NO_OFFSETS) < 2000
    assert leased[0], "the urgent level is first"
    taken = np.concatenate([[0], np.cumsum(leased)])
    for run in (1, 2, 7, 100, 999):
        counts = taken[run:] - taken[:-run]
        assert np.floor(share * run - 1e-2) <= counts.min()
        assert counts.max() <= np.ceil(share * run + 1e-2)


def test_a_level_alone_takes_everything_and_loses_no_credit_by_it() -> None:
    frontier = filled([(n, n, kind_of(5), 0.0) for n in range(50)])
    assert len(frontier.lease(0.0, 40, NO_OFFSETS)) == 40
    frontier.add(np.array([100, 101]), np.array([100, 101]), np.full(2, kind_of(1)), np.zeros(2))
    assert frontier.lease(0.0, 4, NO_OFFSETS).tolist() == [100, 40, 101, 41]


def test_a_level_whose_hosts_all_wait_costs_the_upper_one_nothing() -> None:
    frontier = filled([(n, n, kind_of(1), 0.0) for n in range(4)] + [(9, 9, kind_of(5), 0.0)])
    assert frontier.lease(0.0, 1, NO_OFFSETS).tolist() == [0]
    frontier.set_address(HostId(9), 3)
    frontier.delay_address(3, 5.0)
    assert frontier.lease(0.0, 4, NO_OFFSETS).tolist() == [1, 2, 3]
    assert frontier.lease(5.0, 4, NO_OFFSETS).tolist() == [9]


def test_a_host_waits_for_its_time_and_its_addresses_time() -> None:
    frontier = filled([(0, 0, kind_of(5), 2.0), (1, 0, kind_of(5), 1.0), (2, 1, kind_of(5), 0.0)])
    frontier.set_address(HostId(0), 0)
    frontier.set_address(HostId(1), 0)
    assert frontier.lease(0.0, 9, NO_OFFSETS).tolist() == [0, 2]
    assert frontier.earliest(0.0) == np.inf, "one host is busy, the other has no pages"
    frontier.release(HostId(0), 4.0)
    frontier.delay_address(0, 6.0)
    assert frontier.earliest(1.0) == 6.0
    frontier.delay_address(0, 3.0)
    assert frontier.earliest(1.0) == 4.0
    assert frontier.lease(3.5, 1, NO_OFFSETS).tolist() == []
    assert frontier.earliest(4.5) == 4.5
    assert frontier.lease(4.0, 1, NO_OFFSETS).tolist() == [1]
    frontier.check()


def test_time_may_run_backwards() -> None:
    frontier = filled([(0, 0, kind_of(5), 0.0)])
    frontier.delay(HostId(0), 5.0)
    assert frontier.earliest(9.0) == 9.0
    assert frontier.lease(1.0, 1, NO_OFFSETS).tolist() == []
    assert frontier.earliest(1.0) == 5.0


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ((-1, 0, kind_of(5), 0.0), "-1 is not the number of a page"),
        ((2**31, 0, kind_of(5), 0.0), "is not the number of a page"),
        ((8, -2, kind_of(5), 0.0), "-2, the host of page 8"),
        ((8, 0, kind_of(0), 0.0), "level"),
        ((8, 0, kind_of(6), 0.0), "level"),
        ((8, 0, kind_of(5), np.nan), "the key of page 8 is NaN"),
        ((3, 0, kind_of(5), 0.0), "page 3 was added but is already in the frontier"),
        ((7, 0, kind_of(5), 0.0), "page 7 was added twice in one batch"),
    ],
)
def test_a_bad_batch_is_rejected_and_changes_nothing(row: tuple[int, int, int, float], complaint: str) -> None:
    frontier = filled([(3, 0, kind_of(5), 1.0)])
    before = bits(frontier)
    rows = [(7, 0, kind_of(5), 0.0), row]
    with pytest.raises(ScheduleBroken, match=complaint):
        frontier.add(*(np.array([row[k] for row in rows]) for k in range(4)))
    frontier.check()
    assert bits(frontier) == before


def test_nan_missing_elements_and_leases_that_do_not_exist_are_broken_invariants() -> None:
    frontier = filled([(3, 0, kind_of(5, 1), 1.0), (4, 0, kind_of(5), 1.0)])
    before = bits(frontier)
    one, two = np.array([3]), np.array([3, 4])
    for call in (
        lambda: frontier.add(two, one, one, one),
        lambda: frontier.update(two, np.zeros(1)),
        lambda: frontier.update(two, np.array([0.0, np.nan])),
        lambda: frontier.lease(0.0, 1, np.zeros(1)),
        lambda: frontier.lease(0.0, 1, np.array([0.0, np.inf])),
        lambda: frontier.release(HostId(0), 0.0),
        lambda: frontier.release(HostId(9), 0.0),
        lambda: frontier.release_all(np.array([0]), np.array([0.0])),
        lambda: frontier.release_all(np.array([0]), np.zeros(2)),
        lambda: frontier.delay(HostId(0), np.nan),
        lambda: frontier.delay(HostId(-1), 0.0),
        lambda: frontier.set_address(HostId(0), -2),
        lambda: frontier.delay_address(-1, 0.0),
        lambda: frontier.rebuild(np.array([0, 0, 0, 0, np.nan], dtype=np.float32)),
        lambda: frontier.rebuild(lambda pages: np.zeros(len(pages) + 1, dtype=np.float32)),
    ):
        with pytest.raises(ScheduleBroken):
            call()
        frontier.check()
        assert bits(frontier) == before


def test_leases_per_host_change_only_while_no_lease_is_outstanding() -> None:
    frontier = filled([(3, 0, kind_of(5), 1.0), (4, 0, kind_of(5), 0.0)])
    frontier.lease(0.0, 1, NO_OFFSETS)
    with pytest.raises(ScheduleBroken, match="with 1 leases outstanding"):
        frontier.allow(2)
    frontier.release(HostId(0), 0.0)
    frontier.allow(2)
    assert frontier.lease(0.0, 1, NO_OFFSETS).tolist() == [4]


def test_settings_out_of_range_are_rejected() -> None:
    with pytest.raises(BadSetting):
        Frontier(leases_per_host=0)
    with pytest.raises(BadSetting):
        Frontier().allow(0)
    with pytest.raises(BadSetting):
        Frontier(shares=(0.5, 0.5, 0.5, 1.0))
    with pytest.raises(BadSetting):
        Frontier(shares=(0.5, 0.5, 0.5))


def test_a_large_rebuild_orders_everything_anew() -> None:
    count = 20_000
    frontier = Frontier(leases_per_host=2)
    frontier.add(np.arange(count), np.arange(count) % 300, np.full(count, kind_of(5)), np.arange(count))
    frontier.lease(0.0, 10, NO_OFFSETS)
    frontier.rebuild(-np.arange(count, dtype=np.float32))
    frontier.check()
    assert frontier.lease(0.0, 5, NO_OFFSETS).tolist() == [0, 1, 2, 3, 4]
