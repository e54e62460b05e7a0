"""Pages that have a rhythm (`learning/rhythm.py`): it is found, tested at every visit, and they are due just after it.

A beat is kept in a dictionary by page, and its next moment in a heap of times, both of which belong to the caller: the
shard of a crawl, or the simulation of one.

How sure the reads of a page must be follows from how common rhythms are in this crawl. With π the share of pages that
have one, a page whose rhythm has the score s (`learning/rhythm.py`) has it with the probability

    q = π e^s / (1 - π + π e^s),    π = (FIRST_SHARE·FIRST_WEIGHT + Σ q) / (FIRST_WEIGHT + pages searched)

and q must be 1/2. So at first, and where pages change by chance, s must be 4.5; where half of the pages have a rhythm,
LEAST_SCORE. Reads at which a page had changed each time explain everything equally well: s is 0.
"""

import math
from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from centime.model.ids import PageId, page_ids
from centime.refresh.learning.rhythm import THRESHOLD, Flags, Rhythm, Vector, holds, likeliest_rhythm, next_moment
from centime.refresh.learning.verdict import Verdict

ENOUGH = 12  # changes that suffice to search a rhythm in
RHYTHM_AT = frozenset({6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32})  # changes seen when a rhythm is searched
FIRST_SEARCH = min(RHYTHM_AT)
FIRST_SHARE, FIRST_WEIGHT = 0.011, 10.0  # the assumed share of pages with a rhythm; counts as this many pages
EVEN_ODDS, COMMON = 0.5, 0.1
LEAST_SCORE = 0.5  # below it the reads cannot distinguish a rhythm from chance, however common rhythms are
NO_RHYTHM = (-math.inf, Rhythm(0.0, 0.0, 0.0))
MOST_MISSES = 2  # visits in a row that contradict a rhythm, before it is given up
SEEN = (Verdict.QUIET, Verdict.CHANGED, Verdict.DATED)

Pages = npt.NDArray[np.int64]


class Beat(msgspec.Struct, array_like=True):
    """The rhythm of a page, and how many visits in a row contradicted it."""

    rhythm: Rhythm
    read: float  # when the page was last read
    misses: int = 0

    def worth(self, importance: float, beta: float, cost: float) -> float:
        """The worth of a read just after the moment: proportional to the time that the copy would be stale."""
        return importance * beta * max(0.0, next_moment(self.rhythm, self.read) - self.read) / cost


class Commonness(msgspec.Struct, array_like=True):
    """How common rhythms are on the pages of a crawl: in how many one was searched, and how many surely had one."""

    searched: float = 0.0
    found: float = 0.0

    @property
    def share(self) -> float:
        """π: the share of pages with a rhythm."""
        return (FIRST_SHARE * FIRST_WEIGHT + self.found) / (FIRST_WEIGHT + max(self.searched, self.found))

    @property
    def are_common(self) -> bool:
        """Whether enough pages have a rhythm that others may have one which was not found."""
        return self.share >= COMMON

    def learn(self, score: float, *, first: bool) -> float:
        """The probability that a page has a rhythm of this score, which counts if the page was never searched before;
        a later search counts what it changes if it finds one.
        """
        odds = self.share / (1.0 - self.share) * math.exp(min(score, 2 * THRESHOLD))
        probability = odds / (1.0 + odds)
        if first:
            self.searched += 1
            self.found += probability
        elif probability >= EVEN_ODDS:
            self.found += probability - self.share
        return probability

    def take_back(self) -> None:
        """No longer counts a rhythm that its page has given up."""
        self.found = max(0.0, self.found - 1.0)


class Moments(Protocol):
    """The next moments of pages."""

    def add(self, page: PageId, when: float) -> None:
        """Makes a page due at `when`, instead of at the time it waited for."""
        ...

    def remove(self, page: PageId) -> None:
        """Stops waiting for a page."""
        ...


Beats = dict[PageId, Beat]


def update_beat(
    beats: Beats,
    moments: Moments,
    page: PageId,
    now: float,
    verdict: Verdict,
    changes: int,
    reads: Callable[[], tuple[Vector, Flags]],
    commonness: Commonness,
) -> None:
    """Tests the rhythm of a page, or searches one, and sets the page's next moment. `changes` have been observed, and
    `reads` returns the times of the last reads and which of them found a change.
    """
    beat = beats.get(page)
    if beat is not None and verdict in SEEN:
        beat.misses = 0 if holds(beat.rhythm, beat.read, now, verdict != Verdict.QUIET) else beat.misses + 1
        beat.read = now
        if beat.misses > MOST_MISSES:
            del beats[page]
            moments.remove(page)
            beat = None
            commonness.take_back()
    elif beat is None and verdict in (Verdict.CHANGED, Verdict.DATED) and changes in RHYTHM_AT:
        score, rhythm = likeliest_rhythm(*reads()) or NO_RHYTHM
        likely = commonness.learn(score, first=changes == FIRST_SEARCH) >= EVEN_ODDS
        if likely and score >= LEAST_SCORE:
            beat = beats[page] = Beat(rhythm, now)
    if beat is not None:
        moments.add(page, next_moment(beat.rhythm, now))


def due_beats(
    beats: Beats, moments: Moments, due: Pages, worth: Vector, threshold: float, least: Vector, now: float
) -> Flags:
    """Which of the pages whose moment has come are read now: those that are worth it and whose least interval is over.
    The others wait for another moment, after which a read is worth more.
    """
    kept = worth >= threshold
    for place, page in enumerate(page_ids(due)):
        beat = beats[page]
        # half a period early: a read is never exactly at its moment
        over = beat.read + least[place] - beat.rhythm.period / 2
        kept[place] &= now >= over
        if not kept[place]:
            moments.add(page, next_moment(beat.rhythm, max(now, over)))
    return kept


def without_beat(beats: Beats, pages: Pages) -> Flags:
    """Which of the pages have no rhythm."""
    return np.array([page not in beats for page in page_ids(pages)], dtype=np.bool_)
