"""What `centime.testing` promises to other people's tests."""

import time

import pytest

from centime.testing import FaultClock, webbox

pytest_plugins = ["centime.testing.fixtures"]


def test_a_web_is_the_same_for_the_same_seed_and_logs_requests() -> None:
    with webbox(pages=30, seed=4) as one, webbox(pages=30, seed=4) as two:
        strip = [url.split("/", 3)[3] for url in one.urls]
        assert strip == [url.split("/", 3)[3] for url in two.urls]
        assert list(one.importance().values()) == pytest.approx(list(two.importance().values()))
        assert one.seed_url in one.urls
        assert one.requests() == []


def test_a_fault_clock_jumps_stops_and_runs_fast() -> None:
    now = [100.0]
    clock = FaultClock(lambda: now[0], start=5000.0)
    assert clock() == 5000.0
    now[0] += 2
    assert clock() == 5002.0
    clock.jump(-3600)
    assert clock() == 1402.0
    clock.run(0)
    now[0] += 50
    assert clock() == 1402.0
    clock.run(10)
    now[0] += 1
    assert clock() == 1412.0


def test_a_fault_clock_follows_real_time_by_default() -> None:
    clock = FaultClock()
    before = clock()
    time.sleep(0.01)
    assert clock() > before
