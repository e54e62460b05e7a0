import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.warehouse.sequence_diff import Step, steps

SEQUENCES = st.lists(st.sampled_from("abcdefgh"), max_size=30)


@given(SEQUENCES, SEQUENCES)
def test_the_steps_make_both_sequences(old: list[str], new: list[str]) -> None:
    found = steps(old, new)

    assert [item for step in found for item in step.old] == old
    assert [item for step in found for item in step.new] == new
    assert all(step.old == step.new for step in found if step.equal)
    assert all(one.equal != other.equal for one, other in pairwise(found))


@given(SEQUENCES)
def test_the_same_sequence_has_no_change(items: list[str]) -> None:
    assert all(step.equal for step in steps(items, items))


def test_a_sentence_that_is_changed_inserted_or_removed_is_a_step_of_its_own() -> None:
    old, new = list("abcdefg"), list("abXdeYfg")

    assert [step for step in steps(old, new) if not step.equal] == [
        Step(False, ("c",), ("X",)),
        Step(False, (), ("Y",)),
    ]


@pytest.mark.parametrize(
    "make", [lambda n: ["a", "b"] * n, lambda n: [str(k) for k in range(2 * n)][::-1], lambda n: ["a"] * 2 * n]
)
def test_no_sequence_takes_longer_than_its_length_allows(make) -> None:  # type: ignore[no-untyped-def]
    old, new = make(20_000), ["b", "x", *make(20_000)[1:], "y"]
    started = time.process_time()

    steps(old, new)

    assert time.process_time() - started < 5.0
