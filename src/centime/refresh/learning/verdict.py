"""The verdict of a visit: the evidence about a page's changes for the refresh book.

    FIRST    the first read of the page: there is a copy, but no interval yet
    QUIET    no change since the last read (a 304, or the same signature of the content)
    CHANGED  a change since the last read, at an unknown time
    DATED    a change, and a reliable date shows how many seconds before this read the last one was
    FAILED   no evidence: the visit counts, and the copy keeps its age

The numbers are stored, so they never change; an array of verdicts is uint8.
"""

from enum import IntEnum


class Verdict(IntEnum):
    """The evidence of a visit about the changes of a page."""

    FIRST = 0
    QUIET = 1
    CHANGED = 2
    DATED = 3
    FAILED = 4
