from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.gate import Gate


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 5), st.floats(0, 3), st.floats(0, 2)), max_size=60))
def test_two_requests_of_a_key_are_never_closer_than_the_delay(moves: list[tuple[str, float, float, float]]) -> None:
    gate = Gate()
    now = 0.0
    earliest: dict[str, float] = {}
    for key, passed, delay, latency in moves:
        now += passed
        start = max(now, gate.free_at(key))
        assert start >= earliest.get(key, 0.0)
        gate.hold(key, start + delay, now)
        gate.hold(key, start + latency + delay, now)
        earliest[key] = start + latency + delay


def test_a_key_nobody_asked_is_free() -> None:
    assert Gate().free_at("a") == float("-inf")


def test_an_earlier_word_never_shortens_a_later_one() -> None:
    gate = Gate()
    gate.hold("a", 10.0, 0.0)
    gate.hold("a", 5.0, 0.0)
    assert gate.free_at("a") == 10.0


def test_keys_whose_time_has_passed_are_forgotten() -> None:
    gate = Gate()
    for number in range(100_000):
        gate.hold(str(number), number + 1.0, float(number))
    assert len(gate) < 10_000
    assert gate.free_at("99999") == 100_000.0
