"""A total that is divided among partitions is never exceeded, whatever is ordered and confirmed when."""

from hypothesis import given
from hypothesis import strategies as st

from centime.cluster.division import Division, whole_shares

COUNT = 4
SHARES = st.lists(st.floats(0, 50), min_size=COUNT, max_size=COUNT)
STEPS = st.lists(st.tuples(SHARES, st.lists(st.integers(0, COUNT - 1), max_size=COUNT)), max_size=8)


@given(STEPS)
def test_what_all_have_together_never_exceeds_the_total(steps: list[tuple[list[float], list[int]]]) -> None:
    have = [25.0] * COUNT
    division = Division(100.0, have)
    for aims, confirming in steps:
        scale = 100.0 / max(100.0, sum(aims))
        division.aim([aim * scale for aim in aims])
        for number in confirming:  # the others have not heard of it yet
            have[number] = division.ordered[number]
            division.confirm(number, have[number])
        assert sum(map(max, have, division.ordered)) <= 100.0 + 1e-6


@given(SHARES.map(lambda shares: [share * 100 / max(100.0, sum(shares)) for share in shares]))
def test_what_is_aimed_at_is_reached_when_all_have_confirmed(aims: list[float]) -> None:
    division = Division(100.0, [25.0] * COUNT)
    for _ in range(2):
        division.aim(aims)
        for number in range(COUNT):
            division.confirm(number, division.ordered[number])
    assert all(abs(ordered - aim) < 1e-6 for ordered, aim in zip(division.ordered, aims, strict=True))


@given(st.integers(-5, 1000), st.lists(st.floats(0, 10), min_size=1, max_size=9))
def test_whole_shares_add_up_and_follow_the_weights(total: int, weights: list[float]) -> None:
    shares = whole_shares(total, weights)
    assert sum(shares) == (max(0, total) if sum(weights) else 0)
    assert all(
        abs(share - max(0, total) * weight / sum(weights)) <= 1
        for share, weight in zip(shares, weights, strict=True)
        if sum(weights)
    )
