"""How common rhythms are decides how sure the reads of a page must be."""

import math

import numpy as np

from centime.frontier.timers import Timers
from centime.model.ids import PageId
from centime.refresh.beats import EVEN_ODDS, FIRST_SEARCH, LEAST_SCORE, Beats, Commonness, update_beat
from centime.refresh.learning.rhythm import DAY, THRESHOLD
from centime.refresh.learning.verdict import Verdict


def test_at_first_a_rhythm_needs_the_whole_threshold() -> None:
    assert Commonness().learn(THRESHOLD - 0.1, first=True) < EVEN_ODDS
    assert Commonness().learn(THRESHOLD + 0.1, first=True) > EVEN_ODDS


def test_where_many_pages_have_a_rhythm_less_evidence_is_enough_and_where_none_has_one_more_is_needed() -> None:
    many, none = Commonness(), Commonness()
    for _ in range(50):
        many.learn(8.0, first=True)
        many.learn(-math.inf, first=True)
        none.learn(-math.inf, first=True)
    assert 0.3 < many.share < 0.6
    assert many.learn(1.0, first=False) > EVEN_ODDS
    assert none.learn(THRESHOLD, first=False) < EVEN_ODDS
    share = many.share
    many.take_back()
    assert many.share < share


def test_reads_that_tell_nothing_teach_nothing() -> None:
    some = Commonness(searched=100, found=40.0)
    share = some.share
    for _ in range(1_000):
        some.learn(0.0, first=True)
    assert abs(some.share - share) < 1e-9


def test_a_page_that_had_changed_at_every_read_has_no_rhythm_however_common_they_are() -> None:
    beats: Beats = {}
    commonness = Commonness(searched=1_000, found=990.0)
    times = np.linspace(0.0, 9 * DAY, FIRST_SEARCH + 1, dtype=np.float64)
    changed = times > 0.0
    update_beat(
        beats, Timers(), PageId(3), times[-1], Verdict.CHANGED, FIRST_SEARCH, lambda: (times, changed), commonness
    )
    assert commonness.share > EVEN_ODDS
    assert not beats
    assert LEAST_SCORE > 0.0
