"""The requests that wait, beside a plain list of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install centime[scrapy]")

from centime.scrapy.waiting import WaitingRequest, WaitingRequests

LIMIT = 2  # downloads of a slot at a time

ACTS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("abc"), st.integers(-1, 1)),
    st.tuples(st.just("weigh"), st.integers(0, 30), st.integers(0, 3)),
    st.tuples(st.just("take"), st.just(""), st.just(0)),
    st.tuples(st.just("end"), st.sampled_from("abc"), st.just(0)),
)


@given(st.lists(ACTS, max_size=60))
def test_next_request_is_the_best_of_the_least_busy_slots(acts: list[tuple[str, str | int, int]]) -> None:
    busy: Counter[str] = Counter()
    waiting = WaitingRequests(lambda slot: busy[slot], lambda slot: busy[slot] < LIMIT)
    all_of_them: list[WaitingRequest] = []
    for act, one, other in acts:
        left = [request for request in all_of_them if not request.taken]
        if act == "add":
            all_of_them.append(WaitingRequest(len(all_of_them), "", str(one), other, None))
            waiting.add(all_of_them[-1])
        elif act == "weigh" and isinstance(one, int) and one < len(all_of_them):
            waiting.weigh([(all_of_them[one], float(other))])
        elif act == "end":
            busy[str(one)] = max(0, busy[str(one)] - 1)
        elif act == "take":
            ready = [request for request in left if busy[request.slot] < LIMIT]
            best = min(ready, key=lambda request: (busy[request.slot], request.key), default=None)
            assert waiting.take() is best
            if best is not None:
                busy[best.slot] += 1
    left = [request for request in all_of_them if not request.taken]
    assert len(waiting) == len(left)
    assert sorted(request.number for request in waiting) == [request.number for request in left]


def test_heaps_stay_small_when_weights_change_often() -> None:
    waiting = WaitingRequests(lambda _: 0, lambda _: True)
    some = [WaitingRequest(number, "", "a", 0, None) for number in range(10)]
    for one in some:
        waiting.add(one)
    for turn in range(1_000):
        waiting.weigh((one, float(turn + one.number)) for one in some)
    assert len(waiting._slots["a"].entries) < 100
    assert len(waiting._idle) < 100
    assert [one.number for one in iter(waiting.take, None)] == list(range(9, -1, -1))
