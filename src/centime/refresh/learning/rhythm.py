"""Rhythms: pages that change by the clock (every hour, every day, every Monday at nine), found from their last visits.

Two explanations of the same visits are compared. By the clock: the page changes in every period P, always at the same
phase of it, and at no other time. Then an interval shorter than P has a change exactly if the phase lies in its arc of
the circle of length P; an interval of P or longer always has one. The phases F that explain every interval are the
intersection of the arcs of changed intervals, without the arcs of quiet ones. If every phase is equally likely before,

    probability by the clock  = |F| / P,  times 1/(2·TOLERANCE·P) for each of D dates, which are uniformly distributed
                                within TOLERANCE·P of the phase
    probability by chance     = the largest under any Poisson rate (`rates.log_likelihood` at `rates.likeliest_rate`)

    score = log(|F| / P) - D·log(2·TOLERANCE·P) - log(probability by chance)

A page has a rhythm if the score is THRESHOLD or more, with 5 changes or more. Under a Poisson process, a score of s has
a probability of at most e^-s for each period (the mean of a likelihood ratio is 1, and the best rate only lowers it);
in practice it is far rarer, because F is mostly empty. Measured (20 visits, rates lognormal as in the webbox, mean
interval from half an hour to a week, each interval uniform within 0.2..1.8 of the mean or exponential): at most 0.06 %
of Poisson pages are mistaken for regular ones, 0.2 % if each has exactly the worst rate and intervals are exponential.
Of daily and weekly pages read every 0.4 to 0.5 periods (0.2..1.8), 92 % are found after 15 visits and all after 29;
with exponential intervals a third after 15 and 99 % after 29.

Traps: `find_rhythm` returns the hull of F, so that the change has surely happened just after it. A known rhythm hides
itself: reads just after each change find a change every time, which a fast Poisson page explains as well. So a rhythm
that was found is kept; `holds` tests it at every visit without any history, and it is given up when an interval
contradicts it. Daylight saving moves a daily phase by an hour: the rhythm is then given up and found again. Pages that
do not change on weekends have no daily rhythm here.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.kernel import kernel
from centime.refresh.learning.rates import likeliest_rate, log_likelihood

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

HOUR, DAY, WEEK = 3_600.0, 86_400.0, 604_800.0
PERIODS = (HOUR, DAY, WEEK)
FEWEST_CHANGES = 5
THRESHOLD = 4.5
TOLERANCE = 0.01  # of the period: the distance of dates from the phase, at most, either way


class Rhythm(NamedTuple):
    """A change in every period, at a phase between low and high, in seconds after a multiple of the period. The high
    phase may lie beyond the period's end.
    """

    period: float
    phase_low: float
    phase_high: float


@kernel
def _arcs(
    times: Vector, changed: Flags, dates: Vector, period: float, starts: Vector, lengths: Vector, inside: Flags
) -> int:
    """Writes the arcs in which the phase must lie (`inside`) or must not, and returns how many; -1 if an interval
    contradicts the period.
    """
    count, slack = 0, TOLERANCE * period
    for place in range(1, len(times)):
        start, length = times[place - 1], times[place] - times[place - 1]
        if changed[place] and not math.isnan(dates[place]):
            if times[place] - dates[place] > period + slack:
                return -1
            start, length = dates[place] - slack, 2.0 * slack
        elif length >= period:
            if not changed[place]:
                return -1
            continue
        starts[count] = start % period
        lengths[count] = length
        inside[count] = changed[place]
        count += 1
    return count


@kernel
def _phases(count: int, period: float, starts: Vector, lengths: Vector, inside: Flags) -> tuple[float, float, float]:
    """The total length of the phases that lie in every arc marked `inside` and in no other arc, and the low and high
    end of the shortest arc that covers them.
    """
    ends = np.empty(2 * count + 1)
    for arc in range(count):
        ends[2 * arc] = starts[arc]
        ends[2 * arc + 1] = (starts[arc] + lengths[arc]) % period
    ends[2 * count] = 0.0
    ends.sort()
    total, low, high = 0.0, 0.0, 0.0
    gap, first, last = 0.0, -1.0, -1.0
    for piece in range(len(ends)):
        left = ends[piece]
        right = ends[piece + 1] if piece + 1 < len(ends) else period
        if right <= left:
            continue
        middle = (left + right) / 2.0
        fits = True
        for arc in range(count):
            if ((middle - starts[arc]) % period < lengths[arc]) != inside[arc]:
                fits = False
                break
        if not fits:
            continue
        total += right - left
        if first < 0.0:
            first = left
        elif left - last > gap:
            gap, low, high = left - last, left, last + period
        last = right
    if first >= 0.0 and first + period - last >= gap:
        low, high = first, last
    return total, low, high


@kernel
def _find(times: Vector, changed: Flags, dates: Vector, periods: Vector) -> tuple[float, float, float, float]:
    """The best score of all periods, with that period and its phases; minus infinity if no period explains every
    interval.
    """
    seen, quiet, dated, count = np.empty(len(times)), 0.0, 0, 0
    for place in range(1, len(times)):
        if not changed[place]:
            quiet += times[place] - times[place - 1]
        elif math.isnan(dates[place]):
            seen[count] = times[place] - times[place - 1]
            count += 1
        else:
            quiet += max(times[place] - dates[place], 0.0)
            dated += 1
    best, best_period, best_low, best_high = -math.inf, 0.0, 0.0, 0.0
    if count + dated < FEWEST_CHANGES:
        return best, best_period, best_low, best_high
    by_chance = log_likelihood(likeliest_rate(quiet, seen[:count], dated), quiet, seen[:count], dated)
    starts, lengths, inside = np.empty(len(times)), np.empty(len(times)), np.empty(len(times), dtype=np.bool_)
    for period in periods:
        arcs = _arcs(times, changed, dates, period, starts, lengths, inside)
        if arcs < 0:
            continue
        total, low, high = _phases(arcs, period, starts, lengths, inside)
        if total <= 0.0:
            continue
        score = math.log(total / period) - dated * math.log(2.0 * TOLERANCE * period) - by_chance
        if score > best:
            best, best_period, best_low, best_high = score, period, low, high
    return best, best_period, best_low, best_high


_PERIODS = np.array(PERIODS)


def find_rhythm(times: Vector, changed: Flags, dates: Vector | None = None) -> Rhythm | None:
    """The rhythm of a page that surely has one: its score is THRESHOLD or more."""
    found = likeliest_rhythm(times, changed, dates)
    return found[1] if found is not None and found[0] >= THRESHOLD else None


def likeliest_rhythm(times: Vector, changed: Flags, dates: Vector | None = None) -> tuple[float, Rhythm] | None:
    """The likeliest rhythm of a page that was read at `times` (the first is the first copy), after its score; None if
    no rhythm explains its reads. `changed`: whether each read found a change since the last one.

    `dates`: when the page last changed before each read, NaN without a reliable date; the date of a read that found no
    change is ignored.
    """
    if len(times) <= FEWEST_CHANGES:
        return None
    given = np.full(len(times), math.nan) if dates is None else np.asarray(dates, dtype=np.float64)
    score, period, low, high = _find(
        np.asarray(times, dtype=np.float64), np.asarray(changed, dtype=np.bool_), given, _PERIODS
    )
    return (score, Rhythm(period, low, high)) if score > -math.inf else None


def next_moment(rhythm: Rhythm, after: float) -> float:
    """The first time after `after` at which the change of a period has surely happened."""
    turns = math.floor((after - rhythm.phase_high) / rhythm.period) + 1
    moment = turns * rhythm.period + rhythm.phase_high
    return moment if moment > after else moment + rhythm.period


def holds(rhythm: Rhythm, read_before: float, now: float, changed: bool) -> bool:
    """Whether the interval between two reads agrees with the rhythm, or does not contradict it because a read fell
    where the change may happen.
    """
    moment = next_moment(rhythm, read_before)
    width = rhythm.phase_high - rhythm.phase_low
    if changed:
        return now > moment - width
    return now < moment or (read_before > moment - width and now < moment + rhythm.period)
