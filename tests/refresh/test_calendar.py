import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh import calendar as filing
from centime.refresh.calendar import RECORD, Calendar, advance, clear, earliest_opening, empty_calendar, take

file_page = filing.file_page

TIMES = st.one_of(st.floats(0.0, 3000.0), st.floats(0.0, 3e6), st.floats(0.0, 2e9), st.just(math.inf))
STEPS = st.one_of(st.floats(0.0, 50.0), st.floats(0.0, 5000.0), st.floats(0.0, 1e8))


def opened(calendar: Calendar, records: np.ndarray, now: float, most: int = 1000) -> list[int]:
    advance(calendar, records, now)
    pages = np.empty(most, dtype=np.int64)
    return list(map(int, pages[: take(calendar, records, pages)]))


@given(st.lists(st.tuples(TIMES, STEPS), min_size=1, max_size=60))
def test_pages_come_up_once_in_time_and_never_late(filed: list[tuple[float, float]]) -> None:
    calendar, records = empty_calendar(), np.zeros(len(filed), dtype=RECORD)
    waiting: dict[int, float] = {}
    now = 0.0
    for page, (ahead, step) in enumerate(filed):
        file_page(calendar, records, page, now + ahead)
        waiting[page] = now + ahead
        opening = earliest_opening(calendar)
        now += step
        found = opened(calendar, records, now)
        assert bool(found) == (opening <= now)
        for early in found:
            assert early in waiting
            if waiting[early] <= now:
                del waiting[early]
            else:
                file_page(calendar, records, early, waiting[early])
        assert all(time > now - 1.0 for time in waiting.values())  # every page that was due a second ago has come up


def test_a_slot_of_a_second_holds_only_pages_that_are_due() -> None:
    calendar, records = empty_calendar(), np.zeros(3, dtype=RECORD)
    for page, time in enumerate((10.5, 10.9, 12.0)):
        file_page(calendar, records, page, time)
    assert opened(calendar, records, 10.95) == []
    assert sorted(opened(calendar, records, 11.0)) == [0, 1]
    assert earliest_opening(calendar) == 13.0


def test_a_million_pages_due_at_once_come_a_few_at_a_time() -> None:
    count = 1_000_000
    calendar, records = empty_calendar(), np.zeros(count, dtype=RECORD)
    for page in range(0, count, 1000):
        file_page(calendar, records, page, 5.0)
    seen = []
    while found := opened(calendar, records, 100.0, most=64):
        assert len(found) <= 64
        seen += found
    assert sorted(seen) == list(range(0, count, 1000))


def test_half_of_what_is_taken_may_be_of_coarse_rings_so_that_neither_waits_for_the_other() -> None:
    calendar, records = empty_calendar(), np.zeros(100, dtype=RECORD)
    for page in range(100):
        file_page(calendar, records, page, 2.0 if page < 50 else 1100.0)
    found = opened(calendar, records, 1030.0, most=10)
    assert sum(page < 50 for page in found) == 5


def test_time_that_runs_backwards_opens_nothing() -> None:
    calendar, records = empty_calendar(), np.zeros(2, dtype=RECORD)
    opened(calendar, records, 5000.0)
    file_page(calendar, records, 0, 10.0)
    assert opened(calendar, records, 4000.0) == []
    assert opened(calendar, records, -math.inf) == []
    assert opened(calendar, records, 5001.0) == [0]


def test_a_cleared_calendar_is_empty() -> None:
    calendar, records = empty_calendar(), np.zeros(3, dtype=RECORD)
    for page in range(3):
        file_page(calendar, records, page, 1000.0 * page)
    advance(calendar, records, 1.0)
    clear(calendar)
    assert earliest_opening(calendar) == math.inf
    assert opened(calendar, records, 1e9) == []
