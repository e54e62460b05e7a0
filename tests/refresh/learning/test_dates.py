import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.learning.dates import (
    FULL,
    MOMENT,
    NOTHING_KNOWN,
    SKEW,
    DateRecord,
    observe,
    reliability,
    reliable,
    stood,
    verdict_of,
)
from centime.refresh.learning.verdict import Verdict

NOW, BEFORE = 1_000_000.0, 900_000.0
RIGHT = (True, 800_000.0, 950_000.0)
LIES = {
    "content changed, date did not": (True, 800_000.0, 800_000.0),
    "content changed, date went back": (True, 800_000.0, 700_000.0),
    "content changed, date from before the last read": (True, 800_000.0, 850_000.0),
    "date in the future": (True, 800_000.0, NOW + SKEW + 1),
    "date in the future, nothing changed": (False, NOW + SKEW + 1, NOW + SKEW + 1),
    "date of this moment": (True, 800_000.0, NOW - 1),
    "date of this moment, nothing changed": (False, 800_000.0, NOW),
}
visits = st.tuples(st.booleans(), *[st.one_of(st.just(math.nan), st.floats(0, 2e6))] * 2)


def after(record: DateRecord, *seen: tuple[bool, float, float]) -> DateRecord:
    for content_changed, date_before, date in seen:
        record = observe(record, content_changed, date_before, date, NOW, BEFORE)
    return record


def test_a_host_is_believed_after_three_right_dates_and_not_before() -> None:
    assert [reliable(after(NOTHING_KNOWN, *[RIGHT] * count)) for count in range(5)] == [False, False, False, True, True]


@pytest.mark.parametrize("kind", LIES)
def test_a_lie_of_any_kind_costs_nine_more_right_dates(kind: str) -> None:
    lied = after(NOTHING_KNOWN, LIES[kind])
    assert lied == DateRecord(0, 4)
    assert not reliable(after(lied, *[RIGHT] * 11))
    assert reliable(after(lied, *[RIGHT] * 12))


def test_a_new_date_without_a_change_counts_a_quarter_of_a_lie() -> None:
    moved = (False, 800_000.0, 950_000.0)
    assert after(NOTHING_KNOWN, moved) == DateRecord(0, 1)
    assert not reliable(after(NOTHING_KNOWN, *[RIGHT, moved] * 10))


@pytest.mark.parametrize(
    "visit",
    [
        (True, math.nan, math.nan),
        (True, 800_000.0, math.nan),
        (False, 800_000.0, 800_000.0),
        (False, math.nan, 800_000.0),
        (True, math.nan, 950_000.0),
    ],
)
def test_no_date_an_old_date_and_a_first_date_say_nothing(visit: tuple[bool, float, float]) -> None:
    assert after(NOTHING_KNOWN, visit) == NOTHING_KNOWN


@given(st.lists(visits, max_size=300))
def test_the_record_fits_two_bytes_and_its_reliability_is_a_share(seen: list[tuple[bool, float, float]]) -> None:
    record = after(NOTHING_KNOWN, *seen)
    assert all(0 <= count <= FULL for count in record)
    assert 0 < reliability(record) < 1
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=DateRecord) == record


@given(st.lists(visits, max_size=300), st.sampled_from(sorted(LIES)))
def test_seven_lies_end_any_belief(seen: list[tuple[bool, float, float]], kind: str) -> None:
    assert not reliable(after(after(NOTHING_KNOWN, *seen), *[LIES[kind]] * 7))


def test_the_longest_good_record_survives_some_lies_and_a_liar_can_be_believed_again() -> None:
    good = after(NOTHING_KNOWN, *[RIGHT] * 63)
    lie = LIES["date of this moment"]
    assert reliable(after(good, *[lie] * 6))
    liar = after(NOTHING_KNOWN, *[lie] * 1000)
    assert not reliable(after(liar, *[RIGHT] * 100))
    assert reliable(after(liar, *[RIGHT] * 300))


def said(**given: object) -> tuple[Verdict, float]:
    visit = {
        "read": True,
        "content_changed": True,
        "read_before": BEFORE,
        "now": NOW,
        "date": 950_000.0,
        "believed": True,
    }
    return verdict_of(**(visit | given))  # type: ignore[arg-type]


def test_a_visit_has_one_of_five_verdicts() -> None:
    assert said() == (Verdict.DATED, 50_000.0)
    assert said(read=False) == (Verdict.FAILED, 0.0)
    assert said(read_before=math.nan) == (Verdict.FIRST, 0.0)
    assert said(content_changed=False) == (Verdict.QUIET, 0.0)
    assert said(believed=False) == (Verdict.CHANGED, 0.0)


@pytest.mark.parametrize("date", [math.nan, BEFORE, BEFORE - 1, NOW + SKEW + 1])
def test_a_date_that_cannot_be_is_not_believed_of_anybody(date: float) -> None:
    assert said(date=date) == (Verdict.CHANGED, 0.0)


def test_a_clock_a_little_ahead_dates_the_change_at_the_read() -> None:
    assert said(date=NOW + SKEW / 2) == (Verdict.DATED, 0.0)


@given(
    read=st.booleans(),
    content_changed=st.booleans(),
    believed=st.booleans(),
    dates=st.tuples(*[visits.map(lambda v: v[1])] * 2),
)
def test_a_dated_change_lies_within_its_interval(
    read: bool, content_changed: bool, believed: bool, dates: tuple[float, float]
) -> None:
    verdict, since = said(
        read=read, content_changed=content_changed, believed=believed, read_before=dates[0], date=dates[1]
    )
    if verdict == Verdict.DATED:
        assert believed
        assert content_changed
        assert 0 <= since < max(NOW - dates[0], 0) + SKEW
    else:
        assert since == 0


def test_content_has_stood_since_its_date_where_that_is_believed() -> None:
    assert stood(1000.0, 400.0, True) == 600.0
    assert math.isnan(stood(1000.0, 400.0, False))
    assert math.isnan(stood(1000.0, 1000.0 - MOMENT, True)), "a page made on demand"
    assert math.isnan(stood(1000.0, 1200.0, True))
    assert math.isnan(stood(1000.0, math.nan, True))
    assert math.isnan(stood(math.nan, 400.0, True))


def test_the_numbers_of_verdicts_never_change() -> None:
    assert {verdict.name: int(verdict) for verdict in Verdict} == {
        "FIRST": 0,
        "QUIET": 1,
        "CHANGED": 2,
        "DATED": 3,
        "FAILED": 4,
    }
