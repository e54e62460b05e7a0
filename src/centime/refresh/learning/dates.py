"""Whether a host's Last-Modified dates are reliable, and the verdict of a visit.

Each host has two numbers, in quarters of a visit, each a byte: right dates and wrong dates.

    a change of content with a date that moved forward, to between the last read and this one    right  1
    a change of content with the same date, an older one, or one before the last read            wrong  1
    a date in the future, by more than clocks may differ                                         wrong  1
    a date equal to the time of the read (pages made on demand)                                  wrong  1
    a new date without a change of content                                                       wrong  1/4
    no date, or neither content nor date changed                                                 no evidence

(A new date without a change of content counts less because the signature ignores parts of a page that the date may
count.)

A host's dates are reliable if the mean of Beta(2 + right, 1/2 + wrong) is 0.9 or more: after three right dates and no
wrong one; after one wrong date it takes twelve. Before either byte overflows both are halved, so old behaviour fades,
and a host that begins to lie is distrusted after at most seven lies.

Traps: dates have whole seconds. The server's clock counts: pass its own Date field as `now` if it sends one (and the
time of the read if not), otherwise all dates of a server whose clock is an hour late look old. All dates of a host
count together, so a host with a static and a dynamic part is reliable only if nearly all of its changes are dated
rightly.
"""

import math
from typing import NamedTuple

from centime.refresh.learning.verdict import Verdict

SKEW = 60.0  # seconds by which a date may lie in the future
MOMENT = 2.0  # seconds: a date this close to the read is the time of the read itself
WHOLE, QUARTER = 4, 1
FULL = 255
PRIOR_RIGHT, PRIOR_WRONG = 2.0, 0.5
BELIEF = 0.9


class DateRecord(NamedTuple):
    """The right and wrong dates of a host, in quarters of a visit, each from 0 to 255."""

    right: int = 0
    wrong: int = 0


NOTHING_KNOWN = DateRecord()


def observe(
    record: DateRecord, content_changed: bool, date_before: float, date: float, now: float, read_before: float
) -> DateRecord:
    """The record after one more visit, from the dates (NaN if none) and the times of the previous read and this one."""
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
    """The expected share of right dates, from 0 to 1."""
    right = PRIOR_RIGHT + record.right / WHOLE
    return right / (right + PRIOR_WRONG + record.wrong / WHOLE)


def reliable(record: DateRecord) -> bool:
    """Whether the dates of this host are reliable."""
    return reliability(record) >= BELIEF


def stood(read: float, date: float, believed: bool) -> float:
    """The age of the content in seconds when it was read, by its date; NaN if the date is not reliable or is the time
    of the read itself.
    """
    return read - date if believed and read - date > MOMENT else math.nan


def verdict_of(
    *, read: bool, content_changed: bool, read_before: float, now: float, date: float, believed: bool
) -> tuple[Verdict, float]:
    """The verdict of a visit, and for DATED the seconds from the last change to the visit (otherwise 0).

    `read`: a document or a 304 came; `read_before`: when the copy was read, NaN if there is none; `date`:
    Last-Modified, NaN if none; `believed`: the host's dates are reliable. The content decides whether there was a
    change. The date only shows when, and only if it lies between the two reads.
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
