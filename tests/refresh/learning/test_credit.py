import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.learning.credit import (
    CHANGE_FREQUENCIES,
    DAY,
    FULL,
    LONGEST,
    MOST_CLAIMED,
    STRANGER,
    Credit,
    claimed,
    credit,
    frequency_verdict,
    period_of_max_age,
    verified,
    weight,
)

outcomes = st.lists(st.booleans(), max_size=600)


def after(source: Credit, outcome: list[bool]) -> Credit:
    for right in outcome:
        source = verified(source, right)
    return source


def test_a_stranger_has_half_the_credit_and_half_a_change_of_weight() -> None:
    assert (credit(STRANGER), weight(STRANGER)) == (0.5, 0.5)


@given(outcomes)
def test_the_record_stays_small_and_credit_and_weight_within_their_bounds(outcome: list[bool]) -> None:
    source = after(STRANGER, outcome)
    assert source.right + source.wrong <= FULL
    assert 0 < credit(source) < 1
    assert 0 < weight(source) < 2


@given(outcomes)
def test_a_right_claim_never_lowers_and_a_wrong_one_never_raises_credit_but_by_what_halving_rounds(
    outcome: list[bool],
) -> None:
    source = after(STRANGER, outcome)
    rounding = 0.01 if source.right + source.wrong == FULL else 0.0
    assert credit(verified(source, right=True)) >= credit(source) - rounding
    assert credit(verified(source, right=False)) <= credit(source) + rounding


@given(st.lists(st.booleans(), max_size=FULL))
def test_the_order_of_claims_does_not_count_until_the_record_is_halved(outcome: list[bool]) -> None:
    assert (
        after(STRANGER, outcome)
        == after(STRANGER, sorted(outcome))
        == Credit(0, sum(outcome), len(outcome) - sum(outcome))
    )


@given(outcomes)
def test_any_credit_is_lost_after_128_lies(outcome: list[bool]) -> None:
    assert credit(after(after(STRANGER, outcome), [False] * 128)) < 0.5


def test_a_publisher_that_lies_loses_its_credit_and_an_honest_one_gains_it() -> None:
    assert credit(after(STRANGER, [False] * 18)) == 0.05
    assert credit(after(STRANGER, [True] * 18)) == 0.95
    assert weight(after(STRANGER, [False] * 18)) == pytest.approx(0.005)


def test_a_claim_counts_until_it_is_verified_and_changes_no_credit_before() -> None:
    source = claimed(STRANGER, 3)
    assert (source, credit(source)) == (Credit(3, 0, 0), 0.5)
    assert after(source, [True, False, True, True]) == Credit(0, 3, 1)
    assert claimed(source, MOST_CLAIMED).claimed == MOST_CLAIMED


def test_a_record_survives_packing() -> None:
    source = Credit(7, 3, 2)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(source), type=Credit) == source


def test_published_names_and_numbers_are_seconds() -> None:
    assert period_of_max_age(86_400) == DAY
    assert [period_of_max_age(seconds) for seconds in (0, -1, math.nan)] == [None, None, None]
    assert period_of_max_age(math.inf) == period_of_max_age(1e12) == LONGEST
    assert list(CHANGE_FREQUENCIES.values()) == sorted(CHANGE_FREQUENCIES.values())


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.5, 2.0, True),
        (2.5, 9.0, True),
        (3.5, 9.0, False),
        (0.05, 0.3, False),
        (0.1, 0.4, True),
        (0.1, 5.0, None),
        (0.0, 0.0, None),
    ],
)
def test_a_published_period_is_judged_when_the_rate_is_known_well_enough(
    low: float, high: float, said: bool | None
) -> None:
    assert frequency_verdict(DAY, low / DAY, high / DAY) is said
