import numpy as np
import pytest

from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import poisson_history
from centime.simulate.stepping import DAY, HOUR, NUTCH, STORM, Stepping, Steps


def made(steps: Steps, pages: int = 4) -> Stepping:
    history = poisson_history(np.full(pages, 1e-9), np.arange(1.0, pages + 1), 1)
    policy = Stepping(history, steps)
    policy.record(np.arange(pages), 0.0, np.full(pages, Verdict.FIRST, dtype=np.uint8), np.zeros(pages))
    return policy


@pytest.mark.parametrize(("steps", "first", "changed", "quiet"), [(NUTCH, 30 * DAY, 0.8, 1.2), (STORM, DAY, 0.5, 1.5)])
def test_an_interval_shrinks_when_the_page_changed_and_grows_when_not(
    steps: Steps, first: float, changed: float, quiet: float
) -> None:
    policy = made(steps)
    verdicts = np.array([Verdict.CHANGED, Verdict.DATED, Verdict.QUIET, Verdict.FAILED], dtype=np.uint8)
    policy.record(np.arange(4), DAY, verdicts, np.zeros(4))
    assert policy.intervals.tolist() == pytest.approx([first * changed, first * changed, first * quiet, first])


@pytest.mark.parametrize(("steps", "least", "most"), [(NUTCH, 60.0, 365 * DAY), (STORM, HOUR, 14 * DAY)])
def test_an_interval_stays_within_its_bounds(steps: Steps, least: float, most: float) -> None:
    policy = made(steps)
    for _ in range(60):
        policy.record(np.arange(2), DAY, np.array([Verdict.CHANGED, Verdict.QUIET], dtype=np.uint8), np.zeros(2))
    assert policy.intervals[:2].tolist() == [least, most]


def test_due_pages_come_by_importance_for_nutch_and_by_due_time_for_storm() -> None:
    for steps, first in ((NUTCH, [2, 3]), (STORM, [0, 1])):
        policy = made(steps)
        policy.record(np.array([2, 3]), 5.0, np.full(2, Verdict.FAILED, dtype=np.uint8), np.zeros(2))
        assert sorted(policy.choose(31 * DAY, 2).tolist()) == first


def test_a_budget_that_due_pages_do_not_use_up_reads_what_is_due_next() -> None:
    policy = made(NUTCH)
    policy.record(np.array([1]), 5.0, np.array([Verdict.CHANGED], dtype=np.uint8), np.zeros(1))
    assert policy.choose(DAY, 1).tolist() == [1]
    assert sorted(policy.choose(DAY, 9).tolist()) == [0, 1, 2, 3]
