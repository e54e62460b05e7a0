"""Whether a host's Last-Modified dates deserve belief, and what a visit says about changes.

Two numbers a host, in quarters of a visit, each a byte: dates that were right and dates that were wrong.

    a change of content with a date that moved forward, to between the last read and this one         right  1
    a change of content with the same date, an older one, or one from before the last read            wrong  1
    a date in the future, by more than the clocks may differ                                          wrong  1
    a date of this very moment (pages made on demand)                                                 wrong  1
    a new date without a change of content: less, for the signature leaves out what the date may count wrong  1/4
    no date, or neither content nor date moved                                                        says nothing

A host is believed if the mean of its Beta(2 + right, 1/2 + wrong) is 0.9 or more: after three right dates and none that
is wrong; after one that is wrong it takes twelve. Before either byte is full both are halved, so old behaviour fades,
and a host that begins to lie loses belief after at most seven lies.

Traps: dates have whole seconds. The server's clock counts: hand in its own Date field as `now` if it gives one (and the
time of the read if not), or a server whose clock is an hour late looks as if all its dates were old. All dates of a
host are taken together, so a host with a static and a dynamic part is believed only if nearly all of its changes are
dated rightly.
"""

import math
from typing import NamedTuple

from centime.refresh.verdict import Verdict

SKEW = 60.0  # seconds by which a date may lie in the future
MOMENT = 2.0  # a date so near to the read is the time of the read
WHOLE, QUARTER = 4, 1
FULL = 255
PRIOR_RIGHT, PRIOR_WRONG = 2.0, 0.5
BELIEF = 0.9


class DateRecord(NamedTuple):
    """What a host's dates were worth: quarters of visits, each from 0 to 255."""

    right: int = 0
    wrong: int = 0


NOTHING_KNOWN = DateRecord()


def observe(
    record: DateRecord, content_changed: bool, date_before: float, date: float, now: float, read_before: float
) -> DateRecord:
    """The record after one more visit: the dates (nan if none) of the read before and of this one, and the times of
    both reads.
    """
    right, wrong = _weights(content_changed, date_before, date, now, read_before)
    if record.right + right > FULL or record.wrong + wrong > FULL:
        record = DateRecord(record.right // 2, record.wrong // 2)
    return DateRecord(record.right + right, record.wrong + wrong)


def _weights(content_changed: bool, date_before: float, date: float, now: float, read_before: float) -> tuple[int, int]:
    if math.isnan(date):
        return 0, 0
    moved = date != date_before
    if date > now + SKEW:
        return 0, WHOLE
    if abs(now - date) <= MOMENT and moved:
        return 0, WHOLE
    if not content_changed:
        return 0, QUARTER if moved and not math.isnan(date_before) else 0
    if math.isnan(date_before):
        return 0, 0
    return (WHOLE, 0) if date > max(date_before, read_before) else (0, WHOLE)


def reliability(record: DateRecord) -> float:
    """The share of right dates that is to be expected, from 0 to 1."""
    right = PRIOR_RIGHT + record.right / WHOLE
    return right / (right + PRIOR_WRONG + record.wrong / WHOLE)


def reliable(record: DateRecord) -> bool:
    """Whether the dates of this host are to be believed."""
    return reliability(record) >= BELIEF


def stood(read: float, date: float, believed: bool) -> float:
    """For how many seconds the content had stood when it was read, by its date; nan where that does not tell."""
    return read - date if believed and read - date > MOMENT else math.nan


def verdict_of(
    *, read: bool, content_changed: bool, read_before: float, now: float, date: float, believed: bool
) -> tuple[Verdict, float]:
    """What a visit says, and for DATED how many seconds before it the last change was (otherwise 0).

    read: a document or a 304 came; read_before: when the copy was read, nan if there is none; date: Last-Modified, nan
    if none. The content decides whether there was a change; a date only tells when, and only if it lies between the two
    reads.
    """
    if not read:
        return Verdict.FAILED, 0.0
    if math.isnan(read_before):
        return Verdict.FIRST, 0.0
    if not content_changed:
        return Verdict.QUIET, 0.0
    if believed and read_before < date <= now + SKEW:
        return Verdict.DATED, max(now - date, 0.0)
    return Verdict.CHANGED, 0.0
