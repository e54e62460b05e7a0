"""The time that a piece of work takes does not depend on what else the machine or the process does."""

from collections.abc import Iterator

import pytest

from centime.crawl.worker.timing import TRIES, quickest
from centime.crawl.worker.xpath import MOST_SECONDS, check_pace


def taking(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> list[int]:
    """Makes the clock show that each try takes the next of these CPU seconds; the list grows by one for each try."""

    def clock() -> Iterator[float]:
        now = 0.0
        for one in seconds:
            tries.append(1)
            yield now
            now += one
            yield now

    tries: list[int] = []
    times = clock()
    monkeypatch.setattr("centime.crawl.worker.timing.time.thread_time", lambda: next(times))
    return tries


@pytest.mark.parametrize(
    ("seconds", "took", "times"),
    [((0.1,), 0.1, 1), ((3.0, 0.1, 9.0), 0.1, 2), ((3.0, 2.0, 4.0), 2.0, TRIES)],
)
def test_work_is_tried_again_until_it_is_quick(
    monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], took: float, times: int
) -> None:
    tries = taking(monkeypatch, *seconds)
    assert quickest(lambda: None, 0.5) == pytest.approx(took)
    assert len(tries) == times


def test_a_collection_of_garbage_in_the_first_try_does_not_refuse_an_xpath(monkeypatch: pytest.MonkeyPatch) -> None:
    taking(monkeypatch, 2 * MOST_SECONDS, *[0.001] * 99)
    check_pace("//h1")
