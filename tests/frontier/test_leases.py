import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.frontier.leases import Leases
from centime.model.errors import BadSetting, ScheduleBroken

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["grant", "end", "expired"]),
        st.lists(st.integers(0, 12), max_size=5, unique=True),
        st.integers(0, 4),
    ),
    max_size=60,
)


@given(ACTIONS)
def test_a_lease_ends_once_by_report_or_by_time(actions: list[tuple[str, list[int], int]]) -> None:
    leases, plain, now = Leases(timeout_seconds=5.0), dict[int, float](), 0.0
    for action, pages, step in actions:
        now += step
        if action == "grant":
            new = [page for page in pages if page not in plain]
            leases.grant(np.array(new, dtype=np.int64), now)
            plain.update(dict.fromkeys(new, now + 5.0))
        elif action == "end":
            assert leases.end(np.array(pages, dtype=np.int64)).tolist() == [
                plain.pop(page, None) is not None for page in pages
            ]
        else:
            over = [page for page, deadline in plain.items() if deadline <= now]
            assert leases.expired(now).tolist() == over
            plain = {page: deadline for page, deadline in plain.items() if page not in over}
        leases = Leases.from_state(*leases.state())
        assert leases.held().tolist() == list(plain)
        assert len(leases) == len(plain)
        assert leases.earliest() == min(plain.values(), default=math.inf)


def test_time_that_runs_backwards_counts_as_standing_still() -> None:
    leases = Leases(timeout_seconds=10.0)
    leases.grant(np.array([1]), 100.0)
    leases = Leases.from_state(*leases.state())
    leases.grant(np.array([2]), 50.0)
    assert leases.expired(109.0).tolist() == []
    assert leases.expired(110.0).tolist() == [1, 2]


def test_a_page_cannot_be_leased_twice() -> None:
    leases = Leases()
    with pytest.raises(ScheduleBroken, match="page 1 was leased but has an outstanding lease already"):
        leases.grant(np.array([1, 1]), 0.0)
    leases.grant(np.array([1]), 0.0)
    with pytest.raises(ScheduleBroken, match="page 1 was leased"):
        leases.grant(np.array([2, 1]), 0.0)
    assert leases.held().tolist() == [1]


def test_a_lease_must_last_a_while() -> None:
    with pytest.raises(BadSetting):
        Leases(timeout_seconds=0.0)
