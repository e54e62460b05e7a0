"""Pages that have a rhythm (`learning/rhythm.py`): it is found, tested at every visit, and they are due just after it.

A beat is kept in a dictionary by page, and its next moment in a heap of times, both of which belong to the caller: the
shard of a crawl, or the simulation of one.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from centime.model.ids import PageId, page_ids
from centime.refresh.learning.rhythm import Flags, Rhythm, Vector, find_rhythm, holds, next_moment
from centime.refresh.learning.verdict import Verdict

ENOUGH = 12  # changes that suffice to search a rhythm in
RHYTHM_AT = frozenset({6, 9, 14, 21, 32})  # the numbers of observed changes at which a rhythm is searched
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
    elif beat is None and verdict in (Verdict.CHANGED, Verdict.DATED) and changes in RHYTHM_AT:
        rhythm = find_rhythm(*reads())
        if rhythm is not None:
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
