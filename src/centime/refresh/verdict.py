"""What a visit says about a page's changes: the one word that the book of change rates takes from it.

    FIRST    the page is read for the first time: there is no interval yet, only a copy
    QUIET    nothing changed since the last read (a 304, or the same signature of the content)
    CHANGED  it changed somewhere since the last read, nobody knows when
    DATED    it changed, and a date that deserves belief says how many seconds before this read it did so last
    FAILED   nothing was learned: the visit counts as a look, our copy keeps its age

The numbers are stored, so they never change; an array of verdicts is uint8.
"""

from enum import IntEnum


class Verdict(IntEnum):
    """One of the five things that a visit can say."""

    FIRST = 0
    QUIET = 1
    CHANGED = 2
    DATED = 3
    FAILED = 4
