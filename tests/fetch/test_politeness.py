from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.politeness import HostState, PolitenessSettings, address_delay, after
from centime.fetch.settings import FetchSettings
from centime.model.errors import BadSetting
from centime.model.outcome import Outcome
from centime.model.response import Response

SECONDS = st.floats(0, 300)
FAILURES = [
    Outcome.BUSY,
    Outcome.SERVER_ERROR,
    Outcome.BAD_RESPONSE,
    Outcome.NO_ROBOTS,
    Outcome.NO_ADDRESS,
    Outcome.REFUSED_ADDRESS,
    Outcome.NO_CONNECTION,
    Outcome.BAD_TLS,
    Outcome.TIMED_OUT,
]
SUCCESSES = [
    Outcome.READ,
    Outcome.UNCHANGED,
    Outcome.MOVED,
    Outcome.MOVED_TEMPORARILY,
    Outcome.GONE,
    Outcome.CLIENT_ERROR,
]


def _seen(
    outcome: Outcome = Outcome.READ,
    asked_at: float = 1000.0,
    seconds: float = 0.0,
    retry: float = 0.0,
    delay: float = 0.0,
) -> Response:
    return Response(
        url="http://a/", outcome=outcome, asked_at=asked_at, seconds=seconds, retry_after=retry, crawl_delay=delay
    )


states = st.builds(
    HostState,
    latency=SECONDS,
    failures=st.integers(0, 50),
    blocked_until=st.floats(0, 1e6),
    crawl_delay=st.floats(0, 60),
)
responses = st.builds(
    _seen, st.sampled_from(Outcome), st.floats(0, 2e9), SECONDS, st.floats(0, 86_400), st.floats(0, 60)
)
politeness = st.builds(PolitenessSettings, delay_seconds=st.floats(0, 30), latency_factor=st.floats(0, 10))


@given(states, responses, politeness)
def test_the_next_time_is_never_earlier_than_the_delay(
    state: HostState, seen: Response, settings: PolitenessSettings
) -> None:
    new, next_time = after(state, seen, settings)
    assert next_time >= seen.asked_at + max(settings.delay_seconds, new.crawl_delay)
    if seen.outcome in SUCCESSES or seen.outcome is Outcome.BUSY:
        assert new.crawl_delay == seen.crawl_delay
    if seen.outcome in FAILURES:
        assert next_time >= seen.asked_at + seen.retry_after


@given(states, states, responses, politeness)
def test_more_failures_never_shorten_the_wait(
    one: HostState, two: HostState, seen: Response, settings: PolitenessSettings
) -> None:
    few, many = sorted((one.failures, two.failures))
    _, sooner = after(HostState(failures=few, latency=one.latency), seen, settings)
    _, later = after(HostState(failures=many, latency=one.latency), seen, settings)
    assert sooner <= later


@given(states, st.sampled_from(SUCCESSES), politeness)
def test_one_answer_ends_the_back_off(state: HostState, outcome: Outcome, settings: PolitenessSettings) -> None:
    new, next_time = after(state, _seen(outcome), settings)
    assert (new.failures, new.blocked_until) == (0, 0.0)
    assert next_time <= 1000 + max(settings.delay_seconds, settings.most_delay_seconds)


@given(st.lists(st.sampled_from(Outcome), max_size=30), politeness)
def test_the_wait_is_never_longer_than_a_block(outcomes: list[Outcome], settings: PolitenessSettings) -> None:
    state = HostState()
    for outcome in outcomes:
        state, next_time = after(state, _seen(outcome, seconds=1.0), settings)
        assert next_time <= 1000 + settings.block_seconds
        assert state.failures <= len(outcomes)


def test_a_slow_host_is_asked_less_often() -> None:
    settings = PolitenessSettings(delay_seconds=1.0, latency_factor=2.0)
    assert after(HostState(), _seen(seconds=0.1), settings)[1] == 1001
    assert after(HostState(), _seen(seconds=5.0), settings)[1] == 1010
    assert after(HostState(), _seen(seconds=500.0), settings)[1] == 1060
    state, _ = after(HostState(latency=5.0), _seen(seconds=0.0), settings)
    assert 0 < state.latency < 5


def test_without_a_delay_nothing_waits_unless_the_host_is_busy_or_fails() -> None:
    settings = PolitenessSettings(delay_seconds=0.0)
    assert after(HostState(), _seen(seconds=5.0), settings)[1] == 1000
    assert after(HostState(), _seen(Outcome.BUSY), settings)[1] == 1002
    assert after(HostState(), _seen(Outcome.NO_CONNECTION), settings)[1] == 1002
    assert after(HostState(), _seen(delay=7.0), settings)[1] == 1007


def test_a_busy_host_is_left_alone_as_long_as_it_asks_or_twice_as_long_each_time() -> None:
    settings = PolitenessSettings()
    assert after(HostState(), _seen(Outcome.BUSY, retry=120), settings)[1] == 1120
    state = HostState()
    waits = []
    for _ in range(15):
        state, next_time = after(state, _seen(Outcome.BUSY), settings)
        waits.append(next_time - 1000)
    assert waits[:4] == [2, 4, 8, 16]
    assert waits[-1] == 3600


def test_a_host_that_fails_ten_times_is_blocked_for_a_day_and_tried_once() -> None:
    settings = PolitenessSettings()
    state = HostState()
    for _ in range(9):
        state, next_time = after(state, _seen(Outcome.TIMED_OUT), settings)
        assert next_time - 1000 <= 3600
    for _ in range(2):
        state, next_time = after(state, _seen(Outcome.TIMED_OUT), settings)
        assert next_time == state.blocked_until == 1000 + 86_400
    state, next_time = after(state, _seen(), settings)
    assert next_time == 1001


def test_what_was_not_asked_says_nothing_about_the_host() -> None:
    state = HostState(latency=1.0, failures=3, blocked_until=5000.0, crawl_delay=2.0)
    for outcome in (Outcome.DISALLOWED, Outcome.LOST):
        new, next_time = after(state, _seen(outcome, delay=2.0), PolitenessSettings())
        assert new == state
        assert next_time == 5000


def test_a_page_that_robots_txt_was_known_to_forbid_costs_its_host_no_pause() -> None:
    state = HostState(latency=1.0, failures=3, blocked_until=500.0, crawl_delay=2.0)
    assert after(state, Response(url="", outcome=Outcome.DISALLOWED, asked_at=0.0), PolitenessSettings()) == (
        state,
        500.0,
    )


def test_a_host_that_could_not_be_asked_keeps_its_crawl_delay() -> None:
    new, _ = after(HostState(crawl_delay=9.0), _seen(Outcome.NO_CONNECTION), PolitenessSettings())
    assert new.crawl_delay == 9.0


def test_this_machine_needs_no_delay_per_address_unless_one_is_given() -> None:
    for address, usual in (("127.0.0.1", 0.0), ("::1", 0.0), ("8.8.8.8", 0.1)):
        assert address_delay(address, FetchSettings()) == usual
        assert address_delay(address, FetchSettings(address_delay_seconds=0.5)) == 0.5
        assert address_delay(address, FetchSettings(address_delay_seconds=0.0)) == 0.0


@pytest.mark.parametrize(
    "bad",
    [
        {"delay_seconds": -1.0},
        {"delay_seconds": float("nan")},
        {"latency_factor": -1.0},
        {"most_failures": 0},
        {"block_seconds": 1.0},
        {"most_back_off_seconds": 1.0},
    ],
)
def test_settings_that_break_the_law_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        PolitenessSettings(**bad)
