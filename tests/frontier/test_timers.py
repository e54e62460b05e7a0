import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.frontier.timers import Timers, retry_time
from centime.model.errors import ScheduleBroken
from centime.model.ids import PageId

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9), st.integers(0, 20).map(float)),
        st.tuples(st.just("remove"), st.integers(0, 9), st.just(0.0)),
        st.tuples(st.just("due"), st.just(0), st.integers(0, 20).map(float)),
    ),
    max_size=300,
)


def test_the_wait_doubles_from_a_minute_to_a_day() -> None:
    waits = [retry_time(failures, 1000.0, most_failures=99) for failures in (1, 2, 3, 11, 12, 90)]
    assert waits == [1060.0, 1120.0, 1240.0, 1000.0 + 61440, 1000.0 + 86400, 1000.0 + 86400]


def test_a_page_is_given_up_after_the_most_failures() -> None:
    assert retry_time(4, 0.0) is not None
    assert retry_time(5, 0.0) is None
    assert retry_time(1, 0.0, most_failures=1) is None


def test_a_retry_without_a_failure_and_a_time_that_is_nan_are_broken_invariants() -> None:
    with pytest.raises(ScheduleBroken):
        retry_time(0, 0.0)
    with pytest.raises(ScheduleBroken):
        Timers().add(PageId(1), math.nan)


@given(ACTIONS)
def test_pages_are_due_once_at_the_time_last_given(actions: list[tuple[str, PageId, float]]) -> None:
    timers, plain = Timers(), dict[PageId, float]()
    for action, page, time in actions:
        if action == "add":
            timers.add(page, time)
            plain[page] = time
        elif action == "remove":
            timers.remove(page)
            plain.pop(page, None)
        else:
            due = sorted((when, page) for page, when in plain.items() if when <= time)
            twin = Timers.from_state(*timers.state())
            assert timers.due(time).tolist() == twin.due(time).tolist() == [page for _, page in due]
            plain = {page: when for page, when in plain.items() if when > time}
        assert timers.earliest() == min(plain.values(), default=math.inf)
        assert len(timers) == len(plain)
        assert (page in timers) == (page in plain)


def test_a_page_moved_for_ever_takes_no_more_room() -> None:
    timers = Timers()
    for time in range(10_000):
        timers.add(PageId(1), float(time))
    assert len(timers._heap) < 100
    assert timers.due(9999.0).tolist() == [1]
