"""The queue: largest first within its buckets, first in first out, never losing a page."""

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.ledger import queue as buckets
from centime.ledger.queue import BUCKETS, NOTHING, Queue, compact, make_queue

bucket_of = buckets.bucket_of
file_surely = buckets.file_surely
floor_for = buckets.floor_for
take_page = buckets.take_page


def filled(pages: int) -> Queue:
    return make_queue(np.zeros(pages, dtype=np.uint8))


def test_a_bucket_holds_keys_within_half_an_octave() -> None:
    keys = [0, 1, 2, 3, 4, 5, 6, 7, 8, 2**62 - 1]
    assert [bucket_of(np.int64(key)) for key in keys] == [0, 1, 3, 4, 5, 5, 6, 6, 7, 125]
    assert bucket_of(np.int64(-5)) == 0


@given(st.lists(st.integers(1, 2**62)))
def test_a_larger_key_is_never_in_a_lower_bucket(keys: list[int]) -> None:
    found = [bucket_of(np.int64(key)) for key in sorted(keys)]
    assert found == sorted(found)
    assert all(0 < bucket < BUCKETS for bucket in found)


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 9))))
@settings(max_examples=100)
def test_the_queue_gives_what_a_plain_list_would_give(steps: list[tuple[int, int]]) -> None:
    queue = filled(20)
    model: dict[int, int] = {}
    for page, bucket in steps:
        if bucket == 0:
            taken = int(take_page(queue))
            if model:
                assert model[taken] == max(model.values())
                del model[taken]
            else:
                assert taken == NOTHING
        elif bucket > model.get(page, 0):
            file_surely(queue, page, bucket)
            model[page] = bucket
    assert {page: int(bucket) for page, bucket in enumerate(queue.filed) if bucket} == model


def test_pages_of_one_bucket_leave_in_the_order_they_came() -> None:
    queue = filled(500)
    order = np.random.default_rng(0).permutation(500)
    for page in order:
        file_surely(queue, int(page), 7)
    assert [take_page(queue) for _ in range(500)] == order.tolist()
    assert take_page(queue) == NOTHING


def test_when_the_room_is_used_up_only_what_was_left_behind_is_thrown_out() -> None:
    queue = filled(100)
    for bucket in range(1, BUCKETS):
        for page in range(100):
            file_surely(queue, page, bucket)
    taken = [take_page(queue) for _ in range(100)]
    assert sorted(taken) == list(range(100))
    assert take_page(queue) == NOTHING
    compact(queue)
    assert take_page(queue) == NOTHING


def test_the_floor_lets_enough_pages_in() -> None:
    counts: npt.NDArray[np.int64] = np.zeros(BUCKETS, dtype=np.int64)
    assert floor_for(counts, 5) == BUCKETS
    counts[[3, 50, 60]] = [10, 4, 2]
    assert [floor_for(counts, wanted) for wanted in (0, 2, 3, 6, 7, 1000)] == [60, 60, 50, 50, 3, 3]
