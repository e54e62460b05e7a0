"""Change processes that no policy was tuned for: a world is a history of changes and the facts that only an oracle
knows.

    pareto        rates by Pareto's law, importance independent of them; no dates
    correlated    the same, and importance grows with the rate
    switching     sites that come alive and fall asleep: all rates of a host are multiplied by 1 or by 1/50
    births        pages are born and die; a dead page is a stale copy until a read finds that it is gone
    bursts        on and off: 3 days of changes, then 20 quiet ones
    hawkes        a change causes 0.6 further ones on average, within a day or so
    frozen        important pages with honest dates that change 8 times a day and then never again
    rhythms       a change every day or every week at the page's own time of day, give or take minutes; some Poisson

Times are seconds. All pages but those of `births` are first read at time 0. Rates that differ by page are drawn from
the same law in all worlds: RATE_LOW·U^(-1/RATE_EXPONENT) a day, at most RATE_HIGH.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from centime.simulate.change_history import ChangeHistory, Flags, Times

DAY = 86_400.0
PAGES_PER_HOST = 50
RATE_LOW, RATE_HIGH, RATE_EXPONENT = 0.005, 24.0, 0.8
AWAKE_DAYS, ASLEEP = 60.0, 0.02
LIFE_DAYS = 120.0
ON_DAYS, OFF_DAYS = 3.0, 20.0
OFFSPRING, DECAY_DAYS = 0.6, 0.5
FROZEN_PAGES, FROZEN_RATE, FROZEN_AFTER_DAYS = 50, 8.0, 20.0
JITTER = {DAY: 300.0, 7 * DAY: 1800.0}
CORRELATION = 0.75

Chance = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class World:
    """A history, and what an oracle knows: the rates at a time, the law of the rates given importance, and rhythms."""

    history: ChangeHistory
    rates_at: Callable[[float], Times]
    law: Callable[[Times], Times] | None = None  # by page and rate: the density of log rate, up to a factor
    period: Times | None = None  # of pages with a rhythm; 0 for others
    phase: Times | None = None


def world_named(name: str, pages: int, days: float, seed: int) -> World:
    """A world of a process, one of WORLDS."""
    return WORLDS[name](pages, days, np.random.default_rng([seed, list(WORLDS).index(name)]))


def _pareto_rates(pages: int, chance: Chance) -> Times:
    """Rates per second."""
    return np.minimum(RATE_LOW * chance.random(pages) ** (-1.0 / RATE_EXPONENT), RATE_HIGH) / DAY


def _pareto_density(rates: Times) -> Times:
    """The share of the rates around each point of a grid."""
    a_day = rates * DAY
    edges = np.sqrt(a_day[1:] * a_day[:-1])
    above = np.minimum(1.0, (np.concatenate([[0.0], edges]) / RATE_LOW).clip(1.0) ** -RATE_EXPONENT)
    below = np.concatenate([above[1:], [0.0]])
    weights: Times = above - below
    return weights


def _importance(pages: int, chance: Chance) -> Times:
    drawn = np.exp(chance.normal(0.0, 1.0, pages))
    return np.asarray(drawn / drawn.mean())


def _history(
    changes: list[Times],
    importance: Times,
    rates: Times,
    days: float,
    *,
    born: Times | None = None,
    died: Times | None = None,
    dated: Flags | None = None,
) -> ChangeHistory:
    pages = len(changes)
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum([len(one) for one in changes], out=offsets[1:])
    return ChangeHistory(
        offsets=offsets,
        times=np.concatenate([np.sort(one) for one in changes]),
        hosts=np.arange(pages, dtype=np.int64) // PAGES_PER_HOST,
        importance=importance,
        costs=np.ones(pages),
        rates=rates,
        dated=np.zeros(pages, dtype=np.bool_) if dated is None else dated,
        stood=np.full(pages, np.nan),
        born=np.zeros(pages) if born is None else born,
        died=np.full(pages, math.inf) if died is None else died,
        end=days * DAY,
    )


def _poisson(rate: float, begin: float, end: float, chance: Chance) -> Times:
    return chance.uniform(begin, end, chance.poisson(rate * (end - begin)))


def _pareto(pages: int, days: float, chance: Chance) -> World:
    rates, importance = _pareto_rates(pages, chance), _importance(pages, chance)
    changes = [_poisson(rate, 0.0, days * DAY, chance) for rate in rates]
    history = _history(changes, importance, rates, days)
    return World(
        history=history,
        rates_at=lambda now: rates,
        law=lambda grid: np.broadcast_to(_pareto_density(grid), (pages, len(grid))),
    )


def _correlated(pages: int, days: float, chance: Chance) -> World:
    rates, noise = _pareto_rates(pages, chance), np.exp(chance.normal(0.0, 0.5, pages))
    raw = (rates * DAY) ** CORRELATION * noise
    mean = raw.mean()

    def law(grid: Times) -> Times:
        expected = CORRELATION * np.log(grid * DAY)
        distance = (np.log(raw)[:, None] - expected[None, :]) / 0.5
        return np.asarray(_pareto_density(grid)[None, :] * np.exp(-0.5 * distance**2))

    changes = [_poisson(rate, 0.0, days * DAY, chance) for rate in rates]
    return World(history=_history(changes, raw / mean, rates, days), rates_at=lambda now: rates, law=law)


def _switching(pages: int, days: float, chance: Chance) -> World:
    rates, importance, end = _pareto_rates(pages, chance) * 4.0, _importance(pages, chance), days * DAY
    hosts = -(-pages // PAGES_PER_HOST)
    switches, first = [], chance.random(hosts) < 0.5
    for _ in range(hosts):
        times = np.cumsum(chance.exponential(AWAKE_DAYS * DAY, int(4 * days / AWAKE_DAYS) + 20))
        switches.append(times[times < end])
    changes = []
    for page, rate in enumerate(rates):
        host = page // PAGES_PER_HOST
        edges = np.concatenate([[0.0], switches[host], [end]])
        changes.append(
            np.concatenate(
                [
                    _poisson(
                        rate if bool(first[host]) == (n % 2 == 0) else rate * ASLEEP, edges[n], edges[n + 1], chance
                    )
                    for n in range(len(edges) - 1)
                ]
            )
        )
    host_of = np.arange(pages) // PAGES_PER_HOST

    def rates_at(now: float) -> Times:
        passed = np.array([np.searchsorted(one, now) for one in switches])
        factor = np.where(first == (passed % 2 == 0), 1.0, ASLEEP)
        return np.asarray(rates * factor[host_of])

    return World(history=_history(changes, importance, rates * (1 + ASLEEP) / 2, days), rates_at=rates_at)


def _births(pages: int, days: float, chance: Chance) -> World:
    rates, importance, end = _pareto_rates(pages, chance), _importance(pages, chance), days * DAY
    born = np.maximum(0.0, chance.uniform(-LIFE_DAYS * DAY, end, pages))
    died = born + chance.exponential(LIFE_DAYS * DAY, pages)
    changes = [_poisson(rate, b, min(d, end), chance) for rate, b, d in zip(rates, born, died, strict=True)]
    changes = [np.append(one, d) if d < end else one for one, d in zip(changes, died, strict=True)]
    known = rates + 1.0 / (LIFE_DAYS * DAY)
    return World(history=_history(changes, importance, known, days, born=born, died=died), rates_at=lambda now: known)


def _bursts(pages: int, days: float, chance: Chance) -> World:
    importance, end = _importance(pages, chance), days * DAY
    rates = _pareto_rates(pages, chance) * (ON_DAYS + OFF_DAYS) / ON_DAYS
    changes = []
    spells: list[Times] = []
    for rate in rates:
        lengths = np.empty(2 * int(days / (ON_DAYS + OFF_DAYS) * 2 + 20))
        lengths[::2] = chance.exponential(OFF_DAYS * DAY, len(lengths) // 2)
        lengths[1::2] = chance.exponential(ON_DAYS * DAY, len(lengths) // 2)
        edges = np.cumsum(lengths) - chance.uniform(0.0, OFF_DAYS * DAY)
        spells.append(edges)
        on = [
            _poisson(rate, max(edges[n], 0.0), max(min(edges[n + 1], end), 0.0), chance)
            for n in range(0, len(edges) - 1, 2)
            if edges[n] < end and edges[n + 1] > 0.0
        ]
        changes.append(np.concatenate([*on, np.zeros(0)]))
    mean = rates * ON_DAYS / (ON_DAYS + OFF_DAYS)
    return World(history=_history(changes, importance, mean, days), rates_at=lambda now: mean)


def _hawkes(pages: int, days: float, chance: Chance) -> World:
    importance, end = _importance(pages, chance), days * DAY
    rates = _pareto_rates(pages, chance)
    changes = []
    for rate in rates:
        generation = _poisson(rate * (1.0 - OFFSPRING), 0.0, end, chance)
        born = [generation]
        while len(generation):
            children = chance.poisson(OFFSPRING, len(generation))
            generation = np.repeat(generation, children) + chance.exponential(DECAY_DAYS * DAY, children.sum())
            generation = generation[generation < end]
            born.append(generation)
        changes.append(np.concatenate(born))
    return World(history=_history(changes, importance, rates, days), rates_at=lambda now: rates)


def _frozen(pages: int, days: float, chance: Chance) -> World:
    rates, importance, end = _pareto_rates(pages, chance), _importance(pages, chance), days * DAY
    frozen = np.arange(pages) < FROZEN_PAGES
    chance.shuffle(frozen)
    rates = np.where(frozen, FROZEN_RATE / DAY, rates)
    importance = np.where(frozen, 10.0, importance)
    until = np.where(frozen, min(FROZEN_AFTER_DAYS, days) * DAY, end)
    changes = [_poisson(rate, 0.0, stop, chance) for rate, stop in zip(rates, until, strict=True)]
    history = _history(changes, importance / importance.mean(), rates, days, dated=np.ones(pages, dtype=np.bool_))
    still = np.where(frozen, 1e-3 / DAY, rates)
    return World(history=history, rates_at=lambda now: still if now > FROZEN_AFTER_DAYS * DAY else rates)


def _rhythms(pages: int, days: float, chance: Chance) -> World:
    importance, end = _importance(pages, chance), days * DAY
    rates = _pareto_rates(pages, chance)
    kind = chance.choice(3, pages, p=(0.4, 0.3, 0.3))
    period = np.array([DAY, 7 * DAY, 0.0])[kind]
    phase = chance.uniform(0.0, np.maximum(period, 1.0))
    changes = []
    for page in range(pages):
        if period[page]:
            moments = np.arange(phase[page], end, period[page])
            moved = moments + chance.normal(0.0, JITTER[float(period[page])], len(moments))
            changes.append(moved[(moved > 0.0) & (moved < end)])
        else:
            changes.append(_poisson(rates[page], 0.0, end, chance))
    rates = np.where(period > 0.0, 1.0 / np.maximum(period, 1.0), rates)
    return World(
        history=_history(changes, importance, rates, days), rates_at=lambda now: rates, period=period, phase=phase
    )


WORLDS: dict[str, Callable[[int, float, Chance], World]] = {
    "pareto": _pareto,
    "correlated": _correlated,
    "switching": _switching,
    "births": _births,
    "bursts": _bursts,
    "hawkes": _hawkes,
    "frozen": _frozen,
    "rhythms": _rhythms,
}
